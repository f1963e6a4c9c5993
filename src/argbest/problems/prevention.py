"""Preventing cancer in Barrett's oesophagus: no drug, aspirin or a statin, by person; exact truth.

A decision model of the kind that health economists publish, stated here in full; its numbers are round ones
of our own. A person has an age, a yearly `risk` that Barrett's oesophagus becomes cancer, and two shares of
that risk that `aspirin` and a `statin` take away. Every year, in this order: death of other causes by
Gompertz's law; cancer; a complication of the drug, which is fatal or ends the treatment. A cancer is operable
or not, an operation may kill, and both kinds of cancer add a yearly risk of death. What counts is
quality-adjusted years of life until the age of 100: a year that is begun counts by the quality of its state.

Value and square of value follow from backward recursion over the years. Covariates and their ranges are those
of the esophageal cancer example of Shen, Hong and Zhang ("Ranking and selection with covariates for
personalized decision making", INFORMS Journal on Computing, 2021).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import ByPosition, uniform
from argbest.problems.population import Population

TREATMENTS = ("none", "aspirin", "statin")
PATIENTS = 50  # in one replication, all with the same covariates
_LAST_AGE = 100
# Worst first, so that a small random number is bad luck whatever the treatment: shared seeds then share luck.
_DEAD, _INOPERABLE, _OPERATED, _HARMED, _UNTREATED, _TREATED = range(6)
_QUALITY = np.array([0.0, 0.5, 0.8, 0.93, 1.0, 1.0])  # of a year; on a drug less its burden
_BURDEN = np.array([0.0, 0.002, 0.004])  # by treatment
_DEATHS, _AGEING = 0.011, 0.085  # yearly hazard of other deaths at 60, and its growth per year
_OPERABLE, _FATAL_OPERATION = 0.7, 0.05
_DEATH_OPERATED, _DEATH_INOPERABLE = 0.12, 0.65  # yearly, beside other causes
_COMPLICATION = np.array([0.0, 0.006, 0.003])  # yearly at 60, by treatment
_COMPLICATION_AGEING = np.array([0.0, 0.06, 0.0])
_FATAL = np.array([0.0, 0.12, 0.01])  # share of the complications


def sampler(generator: np.random.Generator) -> dict[str, Any]:
    """Return one person: age 55 to 79, risk up to 0.1, effects of the drugs with modes 0.59 and 0.62."""
    return {
        "age": int(generator.integers(55, 80)),
        "risk": float(generator.uniform(0.0, 0.1)),
        "aspirin": float(generator.triangular(0.0, 0.59, 1.0)),
        "statin": float(generator.triangular(0.0, 0.62, 1.0)),
    }


def chances(treatment: IntArray, people: Mapping[str, Array], year: int) -> Array:
    """Return P(state next year | state) [..., state, state′], for treatments and people broadcast."""
    k, age = np.asarray(treatment), people["age"] + year
    prevented = np.select([k == 1, k == 2], [people["aspirin"], people["statin"]], 0.0)
    death = -np.expm1(-_DEATHS * np.exp(_AGEING * (age - 60.0)))
    harm = np.minimum(_COMPLICATION[k] * np.exp(_COMPLICATION_AGEING[k] * (age - 60.0)), 1.0)
    found = np.zeros((*np.broadcast_shapes(k.shape, age.shape), 6, 6))
    found[..., _DEAD, _DEAD] = 1.0
    for state, more in ((_INOPERABLE, _DEATH_INOPERABLE), (_OPERATED, _DEATH_OPERATED)):
        found[..., state, state] = (1.0 - death) * (1.0 - more)
        found[..., state, _DEAD] = 1.0 - found[..., state, state]
    for state in (_HARMED, _UNTREATED, _TREATED):
        treated = state == _TREATED
        cancer = people["risk"] * (1.0 - prevented if treated else 1.0)
        ill, well = (1.0 - death) * cancer, (1.0 - death) * (1.0 - cancer)
        hurt = well * harm if treated else 0.0
        found[..., state, _DEAD] = death + ill * _OPERABLE * _FATAL_OPERATION + hurt * _FATAL[k]
        found[..., state, _INOPERABLE] = ill * (1.0 - _OPERABLE)
        found[..., state, _OPERATED] = ill * _OPERABLE * (1.0 - _FATAL_OPERATION)
        found[..., state, _HARMED] += hurt * (1.0 - _FATAL[k])
        found[..., state, state] += well - hurt
    return found


def value(people: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return mean and standard deviation of the quality-adjusted years of one patient, [treatment, person].

    With q the quality of a state and N what is still to come: E = q + E[N] and E² = q² + 2 q E[N] + E[N²].
    """
    k = np.arange(len(TREATMENTS))[:, None]
    shape = (len(TREATMENTS), len(people["age"]), 6)
    quality = _quality(k)
    mean, square = np.zeros(shape), np.zeros(shape)
    for year in reversed(range(_LAST_AGE - int(np.min(people["age"])))):
        step = chances(k, people, year)
        coming, squared = (step @ each[..., None] for each in (mean, square))
        now = (people["age"] + year < _LAST_AGE)[:, None]
        square = np.where(now, quality**2 + 2.0 * quality * coming[..., 0] + squared[..., 0], 0.0)
        mean = np.where(now, quality + coming[..., 0], 0.0)
    first = np.broadcast_to(_first(k)[..., None], (*shape[:2], 1))
    mean, square = (np.take_along_axis(each, first, axis=-1)[..., 0] for each in (mean, square))
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _quality(treatment: IntArray) -> Array:
    """Return the quality of a year in each state, [..., state]."""
    found = np.broadcast_to(_QUALITY, (*np.shape(treatment), 6)).copy()
    found[..., _TREATED] -= _BURDEN[treatment]
    return found


def _first(treatment: IntArray) -> IntArray:
    return np.where(treatment == 0, _UNTREATED, _TREATED)


@dataclass(frozen=True, eq=False)
class Patients(ByPosition):
    """A simulator of some patients with the covariates of a person: the mean of their years."""

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the rewards of positions and seeds, broadcast: what single calls give one by one."""
        arrays = np.broadcast_arrays(alternatives, contexts, seeds)
        k, c, keys = (np.ravel(each) for each in arrays)
        if not keys.size:
            return np.zeros(arrays[0].shape)
        people = {name: each[c] for name, each in columns(self.contexts).items()}
        years = _LAST_AGE - int(np.min(people["age"]))
        luck = uniform(keys, years * PATIENTS).reshape(-1, years, PATIENTS)
        quality = _quality(k)
        state = np.broadcast_to(_first(k)[:, None], (len(k), PATIENTS))
        total = np.zeros(len(k))
        for year in range(years):
            now = people["age"] + year < _LAST_AGE
            total += np.where(now, np.take_along_axis(quality, state, axis=1).mean(axis=1), 0.0)
            reached = np.take_along_axis(chances(k, people, year).cumsum(axis=-1), state[..., None], axis=1)
            state = np.minimum((luck[:, year, :, None] >= reached).sum(axis=-1), 5)
        return total.reshape(arrays[0].shape)


def columns(people: Axis) -> dict[str, Array]:
    """Return the covariates of all people as arrays."""
    return {name: np.array(values, float) for name, values in people.columns.items()}


def barrett_prevention(n: int = 200, seed: int = 0) -> Problem:
    """Return the problem: three treatments for n people that `sampler` draws, in quality-adjusted years."""
    population = Population(sampler, n, seed=seed)
    drawn = Problem(TREATMENTS, population)
    mean, sd = value(columns(drawn.contexts))
    return Problem(
        TREATMENTS,
        population,
        Patients(drawn.alternatives, drawn.contexts),
        truth=mean,
        noise_sd=sd / np.sqrt(PATIENTS),
        name="barrett-prevention",
        reward="quality-adjusted life",
        unit="years",
        description="Drugs against cancer of the oesophagus: none, aspirin or a statin, by age, risk and "
        "the drugs' effects; a Markov model with exact truth, people drawn by a sampler.",
    )
