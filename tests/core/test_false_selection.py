import numpy as np
import pytest

from argbest.core import false_selection
from argbest.core.belief import BlockBelief, best


def make(mean: list[list[float]], var: list[list[float]]) -> BlockBelief:
    cov = np.einsum("kc,cd->kcd", np.array(var), np.eye(len(var[0])))
    return BlockBelief(np.array(mean), cov, np.ones_like(cov[..., 0]))


def test_zeta_and_psi_by_hand() -> None:
    belief = make([[3.0, 0.0], [1.0, 4.0], [0.0, 3.0]], [[1.0, 2.0], [3.0, 1.0], [2.0, 1.0]])
    selected = best(belief)
    assert selected.tolist() == [0, 1]
    zeta = false_selection.zeta(belief, selected)
    expected = [[np.inf, 16 / 3], [4 / 4, np.inf], [9 / 3, 1 / 2]]
    np.testing.assert_allclose(zeta, expected)
    psi1, psi2 = false_selection.psi(np.array([[2, 6, 8], [4, 3, 5]]), belief.var.T, selected)
    np.testing.assert_allclose(psi1, [2 / 1, 3 / 1])
    np.testing.assert_allclose(psi2, [6 / 3 + 8 / 2, 4 / 2 + 5 / 1])


def test_a_difference_known_exactly_has_nothing_to_learn() -> None:
    belief = make([[1.0], [1.0], [0.0]], [[0.0], [0.0], [0.0]])
    assert np.all(np.isinf(false_selection.zeta(belief, best(belief))))
    psi1, psi2 = false_selection.psi(np.array([[0, 3, 0]]), belief.var.T, best(belief))
    assert psi1[0] == 0.0
    assert psi2[0] == np.inf


def test_counts_and_fractions_give_the_same_comparison() -> None:
    rng = np.random.default_rng(27)
    count, var = rng.integers(0, 20, (4, 5)), rng.random((4, 5)) + 0.1
    selected = rng.integers(0, 4, 5)
    for share in (count / count.sum(), count / count.sum(axis=0)):
        psi1, psi2 = false_selection.psi(count.T, var.T, selected)
        p1, p2 = false_selection.psi(share.T, var.T, selected)
        np.testing.assert_array_equal(psi1 < psi2, p1 < p2)


def test_zeta_uses_the_variance_of_differences() -> None:
    import oracles

    cov = np.array([[1.0, 0.9], [0.9, 1.0]])  # two alternatives, one context, strongly correlated
    belief = oracles.DenseBelief(np.array([[2.0], [1.0]]), cov, np.ones((2, 1)))
    assert false_selection.zeta(belief, np.array([0]))[1, 0] == pytest.approx(1 / 0.2)
