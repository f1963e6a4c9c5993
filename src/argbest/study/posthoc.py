"""Post-hoc mode: a study of runs made elsewhere, and what their data leave open."""

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from argbest import defaults
from argbest.models.base import Model
from argbest.options import Given
from argbest.policies.base import Policy
from argbest.problems.base import Problem, Simulate
from argbest.storage.base import Storage
from argbest.study import normality
from argbest.study.columns import Bins
from argbest.study.observed import observe
from argbest.study.study import Study

_SPARSE = 0.5  # of the contexts: an alternative that was run in fewer is named
_NAMED = 3  # of them


def observed_problem(frame: pd.DataFrame, **options: Any) -> Problem:
    """Return the problem that runs made elsewhere tell of; options are those of `observe`."""
    return observe(frame, **options).problem


def from_observations(
    frame: pd.DataFrame,
    *,
    alternative: str | Sequence[str] = "alternative",
    context: str | Sequence[str] = "context",
    value: str = "value",
    replication: str | None = None,
    goal: str = "max",
    weights: object = None,
    bounds: object = None,
    categorical: object = (),
    bins: Bins = None,
    reward_range: object = None,
    dropna: bool = False,
    simulate: Simulate | None = None,
    title: str = "runs",
    policy: Given | Policy = defaults.POLICY,
    model: Given | Model[Any] | None = None,
    seed: int = 0,
    refit_every: int | str = "auto",
    common_random_numbers: bool | None = None,
    cost: object = None,
    storage: str | PathLike[str] | Storage | None = None,
    name: str = "study",
) -> Study:
    """Return a study that has been told runs made elsewhere; `ask` gives where the next ones should go.

    How the frame is read, see `observe` (``title`` is the name of the problem); the rest are the options of
    `Study`. Random numbers are taken as common where a column numbers the replications, if nothing is said.
    See `notes` for what the data leave open.
    """
    observed = observe(
        frame,
        alternative=alternative,
        context=context,
        value=value,
        replication=replication,
        goal=goal,
        weights=weights,
        bounds=bounds,
        categorical=categorical,
        bins=bins,
        reward_range=reward_range,
        dropna=dropna,
        simulate=simulate,
        name=title,
    )
    return observed.study(
        policy=policy,
        model=model,
        seed=seed,
        refit_every=refit_every,
        common_random_numbers=common_random_numbers,
        cost=cost,
        storage=storage,
        name=name,
    )


def notes(study: Study) -> list[str]:
    """Return sentences on what the data of a study leave open: pairs hardly run, rewards far from normal."""
    count = study.tally.count
    found = []
    never, once = int(np.sum(count == 0)), int(np.sum(count == 1))
    if never:
        found.append(
            f"{never} of {count.size} pairs were never run: what is said of them rests on the model alone."
        )
    if once:
        found.append(f"{once} of {count.size} pairs have a single run, which tells nothing of its noise.")
    met = np.sum(count > 0, axis=1)
    rare = [k for k in range(len(count)) if met[k] < _SPARSE * count.shape[1]]
    if rare:
        labels = ", ".join(repr(study.problem.alternatives.labels[k]) for k in rare[:_NAMED])
        more = f" and {len(rare) - _NAMED} more" if len(rare) > _NAMED else ""
        fewest = f"{met[rare].min()} to {met[rare].max()}" if len(set(met[rare])) > 1 else f"{met[rare[0]]}"
        found.append(f"run in {fewest} of {count.shape[1]} contexts only: alternative {labels}{more}.")
    far = normality.of_study(study)
    return found if far is None else [*found, far]
