"""When a study learns: never while being told, every tenth observation, and exactly in between."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config
from study.conftest import Spy, answer, assert_same_belief, problem, started

from argbest import Study, compilation
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import SlowNotice
from argbest.policies.base import Draws
from argbest.study import learning


@dataclass(frozen=True)
class Only:
    """A policy that samples one alternative, its contexts in turn."""

    alternative: int

    def propose(
        self,
        belief: Belief,
        tally: Tally,
        pending: IntArray,
        setting: Setting,
        draws: Draws,
        n: int = 1,
    ) -> Decision:
        row = (tally.count + pending)[self.alternative]
        context = (int(row.sum()) + np.arange(n)) % len(row)
        return Decision(np.full(n, self.alternative), context)


def test_telling_fits_nothing() -> None:
    spy = Spy()
    study = Study(problem(), model=spy)
    told: list[dict[str, Any]] = [
        {"value": 1.0},
        {"value": [1.0, 2.0]},
        {"mean": 1, "variance": 0.5, "n": 30},
    ]
    for given in told:
        study.tell(study.ask()[0], **given)
    answer(study, study.ask(21))
    assert spy.fits == []
    assert spy.n_posteriors == 0
    study.ask()
    assert spy.at == [54]


def test_the_initial_design_needs_no_fit() -> None:
    spy = Spy()
    Study(problem(), model=spy).run(24)
    assert spy.fits == []


@pytest.mark.parametrize("policy", ["gp-c-ocba", "equal"])
def test_refits_come_at_every_tenth_observation_after_initialisation(policy: str) -> None:
    spy = Spy()
    Study(problem(), model=spy, policy=policy, initial=1).run(50)
    assert spy.at == [12, 22, 32, 42]


def test_the_schedule_does_not_move_when_somebody_looks() -> None:
    spy = Spy()
    study = Study(problem(), model=spy, initial=1)
    while study.n_replications < 50:
        answer(study, study.ask())
        study.selection()
    warm = [fit for fit in spy.fits if fit.stale is not None]
    assert sorted({fit.n for fit in warm}) == [22, 32, 42]


@pytest.mark.parametrize("every", [1, 3, 25])
def test_refit_every_sets_the_schedule(every: int) -> None:
    spy = Spy()
    Study(problem(), model=spy, refit_every=every, initial=1).run(40)
    assert spy.at == list(range(12, 40, every))


def test_batches_refit_at_the_first_ask_with_ten_new_observations() -> None:
    spy = Spy()
    study = Study(problem(), model=spy, initial=1)
    answer(study, study.ask(12))
    for _ in range(6):
        answer(study, study.ask(4))
    assert spy.at == [12, 24]


def test_replications_told_at_once_all_count_towards_the_next_refit() -> None:
    spy = Spy()
    study = Study(problem(), model=spy, initial=1)
    answer(study, study.ask(12))
    study.tell(study.ask()[0], [1.0] * 9)
    study.tell(study.ask()[0], 2.0)
    study.tell(study.ask()[0], mean=1.0, variance=2.0, n=40)
    study.tell(study.ask()[0], 1.0)
    study.ask()
    assert spy.at == [12, 22, 62]


def test_only_alternatives_with_new_data_are_refitted() -> None:
    spy = Spy()
    Study(problem(), model=spy).run(124)
    assert len(spy.fits) == 10
    assert spy.fits[0].stale is None
    for before, fit in zip(spy.fits, spy.fits[1:], strict=False):
        changed = fit.count != before.count
        assert fit.stale.tolist() == changed.tolist()
        for name in ("lengthscale", "scale", "noise", "constant", "theta"):
            old, new = getattr(before.params, name), getattr(fit.params, name)
            np.testing.assert_array_equal(new[~changed], old[~changed])


def test_the_parameters_of_unsampled_alternatives_stay_as_they_are() -> None:
    spy = Spy()
    Study(problem(), model=spy, policy=Only(1)).run(55)
    first, *later = spy.fits
    assert len(later) == 3
    for fit in later:
        assert fit.stale.tolist() == [False, True, False]
        np.testing.assert_array_equal(fit.params.theta[[0, 2]], first.params.theta[[0, 2]])
        np.testing.assert_array_equal(fit.params.constant[[0, 2]], first.params.constant[[0, 2]])
        assert not np.array_equal(fit.params.theta[1], first.params.theta[1])


def test_between_refits_the_belief_is_the_exact_posterior_of_the_tally() -> None:
    spy = Spy()
    study = Study(problem(), model=spy, refit_every=40, initial=1)
    answer(study, study.ask(12))
    for n in (1, 1, 5, 1, 9, 1, 1, 1):
        trials = study.ask(n)
        answer(study, reversed(trials))
        last = spy.fits[-1]
        exact = spy.inner.posterior(study.tally, last.setting, last.params)
        assert_same_belief(study._belief(), exact, 1e-8)
    assert spy.at == [12]


def test_summaries_enter_the_belief_exactly_too() -> None:
    spy = Spy()
    study = Study(problem(), model=spy, refit_every=1000, initial=1)
    answer(study, study.ask(12))
    summaries: list[dict[str, Any]] = [
        {"mean": 3.0, "variance": 1.5, "n": 200},
        {"mean": 1.0, "variance": 0.0, "n": 1},
    ]
    for given in [{"value": [1.0, 2.5, 0.5]}, *summaries, {"value": 2.0}, {"value": [2.0]}]:
        study.tell(study.ask()[0], **given)
        last = spy.fits[-1]
        assert_same_belief(study._belief(), spy.inner.posterior(study.tally, last.setting, last.params), 1e-8)
    assert study.n_replications == 12 + 3 + 200 + 3


def test_refits_replace_the_parameters() -> None:
    spy = Spy()
    study = started(model=spy, seed=1)
    study.run(40)
    last = spy.fits[-1]
    assert last.n == 32
    assert_same_belief(study._belief(), spy.inner.posterior(study.tally, last.setting, last.params), 1e-8)
    stale = spy.inner.posterior(study.tally, last.setting, spy.fits[0].params)
    assert np.abs(study._belief().mean - stale.mean).max() > 1e-6


def test_the_context_restriction_of_one_ask_does_not_reach_the_model() -> None:
    spy = Spy()
    study = Study(problem(), model=spy, initial=1)
    answer(study, study.ask(12))
    study.ask(context=2)
    assert spy.fits[-1].setting.allowed.all()


def test_a_study_with_a_model_object_equals_one_with_its_name() -> None:
    named, given = (Study(problem(), model=model).run(60) for model in ("gp", Spy()))
    assert named.trials().equals(given.trials())


class Sleepy(Spy):
    """A model whose fits take a while."""

    def fit(self, tally: Tally, setting: Setting, params: Any = None) -> Any:
        time.sleep(0.3)
        return super().fit(tally, setting, params)


def test_learning_that_takes_long_says_so_once_and_what_is_quick_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = Study(problem(), model=Sleepy())
    answer(study, study.ask(24))
    monkeypatch.setattr(learning, "SLOW", 60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.selection()
    monkeypatch.setattr(learning, "SLOW", 0.05)
    answer(study, study.ask(12))
    with pytest.warns(SlowNotice, match="learning from 36 replications of .* pairs takes more than 0.05 s"):
        study.selection()


def test_where_warnings_are_errors_slow_learning_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "SLOW", 0.05)
    study = Study(problem(), model=Sleepy())
    answer(study, study.ask(24))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(study.selection()) == study.problem.n_contexts


class Compiling(Spy):
    """A model that compiles code before it fits, and then takes a while."""

    def __init__(self, compiling: float, fitting: float) -> None:
        super().__init__()
        self.compiling, self.fitting = compiling, fitting

    def fit(self, tally: Tally, setting: Setting, params: Any = None) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compilation, "guvectorize", self._compiler)
            compilation.compile_ufunc(lambda x, y: None, "void(float64, float64[:])", "()->()")
        time.sleep(self.fitting)
        return super().fit(tally, setting, params)

    def _compiler(self, *signature: object, **options: object) -> Callable[[Any], Any]:
        time.sleep(self.compiling)
        return lambda body: body


@pytest.mark.parametrize(("compiling", "fitting", "rings"), [(1.2, 0.0, 0), (0.6, 0.6, 1)])
def test_time_in_which_code_is_compiled_does_not_count_as_slow_learning(
    compiling: float, fitting: float, rings: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(learning, "SLOW", 0.4)
    study = Study(problem(), model=Compiling(compiling, fitting))
    answer(study, study.ask(24))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study.selection()
    assert [each.category for each in caught].count(SlowNotice) == rings
