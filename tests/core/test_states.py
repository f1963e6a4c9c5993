"""Sure, equal or open: one rule, by hand."""

import numpy as np

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


def test_the_usual_delta_is_a_hundredth_of_the_range_of_the_means() -> None:
    assert usual_delta(np.array([[1.0, 5.0], [-3.0, 2.0]])) == 0.08


def test_a_certificate_tells_two_alternatives_that_are_alike_from_two_that_are_not_known() -> None:
    mean = np.array([[5.0, 1.0, 1.0], [0.0, 0.999, 0.5], [-9.0, -9.0, -9.0]])
    var = np.array([[0.01, 1e-6, 0.5], [0.01, 1e-6, 0.5], [0.01, 0.01, 0.01]])
    certificate = Certificate(CellBelief(mean, var, var), np.full(3, 1 / 3), np.empty((0, 3, 3)))
    assert certificate.states(0.14).tolist() == ["sure", "equal", "open"]
    assert certificate.states(0.0).tolist() == ["sure", "open", "open"]
