"""Stop rules: a run may end before its budget, and only for a good reason."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from study.conftest import TRUTH, apart, noise, pairs, problem, started

from argbest import ExpectedPCS, InputError, OpportunityCost, Study, WorstPCS
from argbest.answers.doubts import granted

pytestmark = pytest.mark.usefixtures("few_draws")

BUDGET = 300


def tied(alternative: str, context: int, seed: int) -> float:
    """Alternatives a and c are the same to within 0.01, b is worse."""
    return float(TRUTH[0, context]) + {"a": 0.0, "b": -3.0, "c": 0.01}[alternative] + noise(seed)


def reached(rule: Any, study: Study) -> bool:
    """The rule, from the certificate."""
    if isinstance(rule, OpportunityCost):
        return bool(float(study.certificate().eoc) <= rule.target)
    certificate = study.certificate(rule.delta)
    value = certificate.pcs_e if isinstance(rule, ExpectedPCS) else certificate.pcs_m
    return bool(float(value) >= rule.target)


@pytest.mark.parametrize(
    "rule",
    [
        ExpectedPCS(0.95),
        ExpectedPCS(0.99, delta=0.5),
        WorstPCS(0.9),
        WorstPCS(0.95, delta=0.4),
        OpportunityCost(0.01),
    ],
    ids=str,
)
def test_a_run_ends_when_the_rule_is_met(rule: Any) -> None:
    study = apart(problem(), initial=2, seed=6).run(BUDGET, stop=rule)
    assert 24 < study.n_replications < BUDGET
    assert reached(rule, study)
    earlier = apart(problem(), initial=2, seed=6).run(study.n_replications - 10)
    assert not reached(rule, earlier)


def test_a_run_with_a_rule_takes_the_decisions_of_one_without() -> None:
    stopped = apart(problem(), initial=2, seed=6).run(BUDGET, stop=WorstPCS(0.9))
    free = apart(problem(), initial=2, seed=6).run(stopped.n_replications)
    assert free.trials().equals(stopped.trials())
    never = apart(problem(), seed=6).run(80, stop=OpportunityCost(1e-12))
    assert never.n_replications == 80
    assert never.trials().equals(apart(problem(), seed=6).run(80).trials())


def test_the_worst_context_takes_longer_than_the_average() -> None:
    average, worst = (
        apart(problem(), seed=6).run(BUDGET, stop=rule(0.97)) for rule in (ExpectedPCS, WorstPCS)
    )
    assert average.n_replications < worst.n_replications < BUDGET


@pytest.mark.parametrize("rule", [ExpectedPCS, WorstPCS])
def test_an_indifference_zone_makes_tied_problems_stop(rule: Any) -> None:
    within = apart(problem(tied), seed=1).run(BUDGET, stop=rule(0.95, delta=0.6))
    assert within.n_replications < BUDGET
    without = apart(problem(tied), seed=1).run(within.n_replications + 20, stop=rule(0.95))
    assert without.n_replications == within.n_replications + 20
    assert float(within.certificate(0.6).pcs_e) >= 0.95
    assert float(within.certificate().pcs_e) < 0.95


def test_expected_pcs_follows_the_weights_of_the_contexts() -> None:
    def hard(alternative: str, context: int, seed: int) -> float:
        return 5.0 * "abc".index(alternative) * (context != 0) + noise(seed)

    easy = apart(problem(hard, weights=[0, 1, 1, 1])).run(BUDGET, stop=ExpectedPCS(0.99))
    more = easy.n_replications + 20
    assert more < BUDGET
    all_of_it = apart(problem(hard, weights=[1, 1, 1, 1])).run(more, stop=ExpectedPCS(0.99))
    assert all_of_it.n_replications == more


@pytest.mark.parametrize("delta", [Fraction(1, 3), np.longdouble(1) / 3, np.float64(1e300), 10**200])
def test_any_number_can_be_an_indifference_zone(delta: Any) -> None:
    study = started(initial=3, model="independent").run(40)
    rule = WorstPCS(Fraction(1, 10), delta)  # type: ignore[arg-type]
    assert (type(rule.target), type(rule.delta)) == (float, float)
    assert rule(study) == (granted(study.view(), float(delta)).min() >= 0.1)


def test_a_function_of_the_study_is_a_rule() -> None:
    seen: list[int] = []

    def enough(study: Study) -> bool:
        seen.append(study.n_replications)
        return study.n_replications >= 50

    study = apart(problem())
    study.run(BUDGET, stop=enough)
    assert study.n_replications == 54
    assert seen == [24, 34, 44, 54]


def test_the_rule_is_asked_at_the_pace_of_the_refits() -> None:
    seen: list[int] = []
    study = apart(problem(), initial=1, refit_every=4)

    def count(study: Study) -> bool:
        seen.append(study.n_replications)
        return False

    study.run(30, stop=count)
    assert seen == [12, 16, 20, 24, 28]


def test_a_rule_met_already_simulates_nothing_and_a_sharper_one_goes_on() -> None:
    study = apart(problem(), seed=6).run(BUDGET, stop=ExpectedPCS(0.9))
    spent = study.n_replications
    assert study.run(BUDGET, stop=ExpectedPCS(0.9)).n_replications == spent
    assert study.run(BUDGET, stop=ExpectedPCS(0.99)).n_replications > spent


def test_the_initial_design_is_completed_whatever_the_rule() -> None:
    study = apart(problem()).run(BUDGET, stop=lambda _: True)
    assert study.n_replications == 24


@dataclass(frozen=True)
class Certain:
    """A rule of the user's own that looks at the belief."""

    target: float

    def __call__(self, study: Study) -> bool:
        return bool(np.sqrt(study.certificate().belief.var).max() <= self.target)


def test_an_object_that_can_be_called_is_a_rule() -> None:
    study = apart(problem(), policy="equal", model="gp").run(BUDGET, stop=Certain(0.35))
    assert 24 < study.n_replications < BUDGET
    assert float(np.sqrt(study._belief().var).max()) <= 0.35


@pytest.mark.filterwarnings("ignore:OpportunityCost.* no pair has two replications:argbest.errors.DataNotice")
@pytest.mark.parametrize("rule", [ExpectedPCS(0.8), OpportunityCost(0.1)], ids=str)
def test_a_rule_can_be_used_without_an_initial_design(rule: Any) -> None:
    study = apart(problem(), initial=0, seed=2).run(BUDGET, stop=rule)
    assert 0 < study.n_replications < BUDGET


@pytest.mark.parametrize("target", [0, 1, -0.1, 1.5, 95, float("nan"), float("inf"), True, "0.9", None])
@pytest.mark.parametrize("rule", [ExpectedPCS, WorstPCS])
def test_a_target_probability_lies_between_zero_and_one(rule: Any, target: Any) -> None:
    with pytest.raises(InputError, match="the target probability must be a number between 0 and 1, got "):
        rule(target)


@pytest.mark.parametrize("delta", [-1e-9, float("nan"), float("inf"), "0.1", None])
@pytest.mark.parametrize("rule", [ExpectedPCS, WorstPCS])
def test_an_indifference_zone_is_a_finite_number_from_zero(rule: Any, delta: Any) -> None:
    with pytest.raises(
        InputError, match="the indifference zone delta must be a finite number, zero or positive"
    ):
        rule(0.9, delta)


@pytest.mark.parametrize("target", [0, -1.0, float("nan"), float("inf"), "1", None])
def test_a_target_opportunity_cost_is_a_positive_finite_number(target: Any) -> None:
    with pytest.raises(InputError, match="the target opportunity cost must be a number finite and above 0"):
        OpportunityCost(target)


@pytest.mark.parametrize("stop", [0.95, "pcs", ExpectedPCS, True], ids=str)
def test_what_is_no_stop_rule_is_refused_before_anything_is_spent(stop: Any) -> None:
    study = apart(problem())
    with pytest.raises(InputError, match="stop"):
        study.run(BUDGET, stop=stop)
    assert study.n_replications == 0


@pytest.mark.parametrize("delta", [-1.0, float("nan"), float("inf"), "1", None])
def test_the_certificate_refuses_an_indifference_zone_that_is_none(delta: Any) -> None:
    with pytest.raises(
        InputError, match="the indifference zone delta must be a finite number, zero or positive.*got"
    ):
        started().certificate(delta)


def test_rules_are_values() -> None:
    assert ExpectedPCS(0.9) == ExpectedPCS(0.9, delta=0.0)
    assert repr(WorstPCS(0.9, 0.1)) == "WorstPCS(target=0.9, delta=0.1)"


def test_a_rule_is_met_in_the_units_of_the_rewards() -> None:
    def large(alternative: str, context: int, seed: int) -> float:
        return 1024.0 * (float(TRUTH["abc".index(alternative), context]) + noise(seed))

    small = apart(problem(), seed=3).run(BUDGET, stop=OpportunityCost(0.02))
    big = apart(problem(large), seed=3)
    big.run(BUDGET, stop=OpportunityCost(0.02 * 1024))
    assert big.n_replications == small.n_replications < BUDGET
    assert pairs(big) == pairs(small)


class Twice:
    """Stops when the first alternative has two replications in every context, and says where it has not."""

    checked = False

    def __call__(self, study: Study) -> bool:
        return not self.missing(study).any()

    def check(self, study: Study) -> None:
        self.checked = True

    def missing(self, study: Study) -> Any:
        count = study.tally.count
        return (count < 2) & (np.arange(len(count)) == 0)[:, None]


def test_a_rule_that_says_what_is_missing_is_asked_after_every_result_and_gets_just_that() -> None:
    rule = Twice()
    study = Study(problem(), initial=1, seed=3).run(BUDGET, stop=rule)
    count = study.tally.count
    assert rule.checked
    assert np.all(count[0] == 2)
    assert np.all(count[1:] == 1)
