"""Experiments: many macro-replications of several policies on a problem whose truth is known."""

from argbest.experiment.results import Results
from argbest.experiment.runner import run
from argbest.experiment.spec import Contender, Experiment

__all__ = ["Contender", "Experiment", "Results", "run"]
