"""Sure, equal or open: one rule, by hand."""

import numpy as np
import pytest

from argbest import registry
from argbest.core.belief import CellBelief
from argbest.core.certificate import Certificate
from argbest.core.states import counts, in_words, states, usual_delta


def test_a_state_follows_from_two_probabilities() -> None:
    best = np.array([0.95, 0.94, 0.94, np.nan])
    within = np.array([0.2, 0.95, 0.949, np.nan])
    assert states(best, within).tolist() == ["sure", "equal", "open", None]
    assert states(best, within, level=0.99).tolist() == ["open", "open", "open", None]


def test_states_are_counted_and_their_delta_is_named() -> None:
    number = counts(states(np.array([1.0, 0.5, 0.5]), np.array([1.0, 1.0, 0.5])))
    assert number == {"sure": 1, "equal": 1, "open": 1}
    said = in_words(number, 0.1234)
    assert said.startswith("1 sure (P(best) at least 0.95), 1 equal (")
    assert "within 0.123 of the best" in said
    assert said.endswith("1 open")


def test_the_usual_delta_is_a_hundredth_of_what_three_in_four_wrong_choices_exceed() -> None:
    mean = np.array([[1.0, 5.0], [-3.0, 2.0], [0.0, 4.0]])  # wrong choices lose 4, 1, 3 and 1
    assert usual_delta(mean) == pytest.approx(0.01)
    assert usual_delta(mean + np.array([0.0, 1e3])) == pytest.approx(0.01)  # all of a context alike
    out = np.array([[False, False], [False, False], [True, True]])
    assert usual_delta(mean, out) == pytest.approx(0.0325)  # 4 and 3
    assert usual_delta(mean, out | [[True], [False], [False]]) == 0.0
    assert usual_delta(mean[:1]) == 0.0
    out[:, 1] = True  # no answer in the second context: what is left are a loss of 4 in the first
    assert usual_delta(mean, out) == pytest.approx(0.04)


@pytest.mark.parametrize("worst", [50.0, 5000.0])
def test_overloaded_pairs_do_not_make_the_usual_delta_large(worst: float) -> None:
    """Servers 1 to 8 at ten rates, more than a third of the pairs overloaded: real gaps are 0.3 to 0.9."""
    servers, rate = np.arange(1, 9)[:, None], np.linspace(0.5, 7.0, 10)
    load = rate / servers
    wait = np.where(load < 1, 0.4 * load / (1.0001 - np.minimum(load, 1.0)), worst * load)
    cost = np.asarray(0.5 * servers + wait, np.float64)
    assert np.mean(load >= 1) > 1 / 3
    gap = np.diff(np.sort(cost, axis=0)[:2], axis=0)
    assert usual_delta(-cost) < 0.1 * np.median(gap)
    assert usual_delta(-cost) > 0.005 * np.median(gap)


@pytest.mark.parametrize("name", ["queue-staffing", "newsvendor", "branin", "covid"])
def test_the_usual_delta_is_less_than_the_gaps_of_shipped_problems(name: str) -> None:
    """The second best is not called equal to the best in most contexts of problems that tell them apart."""
    problem = registry.problem(name)
    assert problem.truth is not None
    truth = problem.sign * np.asarray(problem.truth)
    gap = -np.diff(np.sort(truth, axis=0)[::-1][:2], axis=0)
    assert 0.0 < usual_delta(truth) < 0.1 * np.median(gap)


def test_a_certificate_tells_two_alternatives_that_are_alike_from_two_that_are_not_known() -> None:
    mean = np.array([[5.0, 1.0, 1.0], [0.0, 0.999, 0.5], [-9.0, -9.0, -9.0]])
    var = np.array([[0.01, 1e-6, 0.5], [0.01, 1e-6, 0.5], [0.01, 0.01, 0.01]])
    certificate = Certificate(CellBelief(mean, var, var), np.full(3, 1 / 3), np.empty((0, 3, 3)))
    assert certificate.states(0.14).tolist() == ["sure", "equal", "open"]
    assert certificate.states(0.0).tolist() == ["sure", "open", "open"]
