"""A small problem whose noise is a function of the seed alone, and what the tests of a study share."""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import GP, Problem, Study, Trial
from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.gp import GPParams

ALTERNATIVES = ["a", "b", "c"]
CONTEXTS = [0, 1, 2, 3]
TRUTH = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 2.5, 2.5, 3.0], [4.0, 3.0, 2.0, 1.0]])
SHAPE = TRUTH.shape


def noise(seed: int) -> float:
    """Uniform noise of mean 0 and variance 1."""
    return math.sqrt(12.0) * ((seed * 0x9E3779B1 % 2**31 + 0.5) / 2**31 - 0.5)


def simulate(alternative: str, context: int, seed: int) -> float:
    return float(TRUTH[ALTERNATIVES.index(alternative), context]) + noise(seed)


def succeeds(alternative: str, context: int, seed: int) -> np.bool_:
    """Return whether a run succeeds, as NumPy says it: 3 in 10 runs of a, 9 in 10 of b."""
    return np.bool_(np.random.default_rng(seed).random() < {"a": 0.3, "b": 0.9}[alternative])


def problem(simulator: Callable[[Any, Any, int], Any] | None = simulate, **options: Any) -> Problem:
    return Problem(ALTERNATIVES, CONTEXTS, simulator, **options)


def answer(study: Study, trials: Iterable[Trial]) -> None:
    """Simulate the trials and tell their values."""
    for trial in trials:
        assert study.problem.simulate is not None
        study.tell(trial, study.problem.simulate(trial.alternative, trial.context, trial.seed))


def apart(given: Problem, **options: Any) -> Study:
    """A study whose alternatives share no seeds: all noise here is the seed's, and would be common."""
    return Study(given, common_random_numbers=False, **options)


def started(policy: Any = "gp-c-ocba", **options: Any) -> Study:
    """A study that has been told its initial design, one replication of every pair unless said otherwise."""
    options = {"initial": 1} | options
    study = Study(problem(), policy=policy, **options)
    answer(study, study.ask(study.n_queued))
    return study


def where(trials: Iterable[Trial]) -> list[tuple[int, int]]:
    return [trial.pair for trial in trials]


def pairs(study: Study) -> list[tuple[object, object]]:
    """All pairs asked so far, in order."""
    frame = study.trials()
    return list(zip(frame["alternative"], frame["context"], strict=True))


def assert_same_frames(one: Study, two: Study) -> None:
    for name in ("observations", "allocation", "trials"):
        pd.testing.assert_frame_equal(getattr(one, name)(), getattr(two, name)())


def assert_close(actual: object, expected: object, tolerance: float) -> None:
    """Equal relative to the largest expected number."""
    scale = float(np.max(np.abs(np.asarray(expected, float))))
    np.testing.assert_allclose(
        np.asarray(actual, float), np.asarray(expected, float), rtol=0, atol=tolerance * scale
    )


def assert_same_belief(one: Belief, two: Belief, tolerance: float) -> None:
    assert (one.own_cov is None) == (two.own_cov is None)  # whether alternatives covary
    assert_close(one.mean, two.mean, tolerance)
    assert_close(one.noise, two.noise, tolerance)
    for k, c in np.ndindex(one.mean.shape):
        cell = Decision(np.array(k), np.array(c))
        assert_close(one.cov_with(cell), two.cov_with(cell), tolerance)


@contextmanager
def refused(study: Study, error: type[Exception], match: str) -> Iterator[None]:
    """Check that what is done inside is refused with this message, and leaves the study as it was."""
    twin = copy.deepcopy(study)
    with pytest.raises(error, match=match):
        yield
    assert_same_frames(study, twin)
    assert future(study) == future(twin)


def future(study: Study) -> list[tuple[int, tuple[int, int], int]]:
    """Go on for some trials and return them."""
    asked: list[Trial] = []
    for n in (1, 3, 12, 1):
        trials = study.ask(n)
        for trial in trials:
            study.tell(trial, float(TRUTH[trial.pair]) + noise(trial.seed))
        asked += trials
    return [(trial.id, trial.pair, trial.seed) for trial in asked]


@dataclass
class Fitted:
    """One call of `fit`: what came, and what went out."""

    n: int
    count: Any
    stale: Any
    setting: Setting
    params: GPParams


@dataclass
class Spy:
    """The GP model, keeping a book of its fits."""

    inner: GP = field(default_factory=GP)
    fits: list[Fitted] = field(default_factory=list)
    n_posteriors: int = 0

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        self.inner.check(shape, setting)

    def fit(self, tally: Tally, setting: Setting, params: GPParams | None = None) -> GPParams:
        found = self.inner.fit(tally, setting, params)
        stale = None if params is None else found.changed
        self.fits.append(Fitted(int(tally.count.sum()), tally.count.sum(axis=-1), stale, setting, found))
        return found

    def posterior(self, tally: Tally, setting: Setting, params: GPParams, known: Any = None) -> Any:
        self.n_posteriors += 1
        return self.inner.posterior(tally, setting, params, known)

    def predict(self, tally: Tally, setting: Setting, params: GPParams, separation: Array) -> Any:
        return self.inner.predict(tally, setting, params, separation)

    @property
    def at(self) -> Sequence[int]:
        """The numbers of observations at the fits."""
        return [fit.n for fit in self.fits]
