from itertools import pairwise

import numpy as np
import pytest
from oracles import dense, random_belief
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm

from argbest.core import knowledge_gradient as kg
from argbest.core.arrays import Array
from argbest.core.belief import CellBelief
from argbest.core.decision import Decision
from argbest.policies.ikg import log_ikg


def by_quadrature(a: Array, s: Array) -> float:
    """E[max_j (a_j + s_j Z)] − max_j a_j, integrated between all crossings of two lines."""
    top = float(a.max())
    crossings = {-12.0, 12.0}
    for i in range(len(a)):
        for j in range(i):
            if s[i] != s[j] and abs(z := (a[j] - a[i]) / (s[i] - s[j])) < 12:
                crossings.add(float(z))
    points = sorted(crossings)
    return sum(
        quad(lambda z: (np.max(a + s * z) - top) * norm.pdf(z), lo, hi, epsabs=1e-14)[0]
        for lo, hi in pairwise(points)
    )


def test_the_bound_of_a_weighted_sum_lies_closely_above_it() -> None:
    rng = np.random.default_rng(6)
    cov, root = rng.standard_normal((200, 3, 5)), np.exp(rng.normal(0, 1, (200, 3)))
    cov[:20, 0], cov[20:40, :, 2] = 0.0, 0.0
    gap = np.abs(rng.standard_normal((200, 5))) * np.geomspace(1e-3, 1e9, 200)[:, None]
    gap[::7, 1], gap[::5, 2] = 0.0, np.inf
    gap[-1] = np.inf
    weights = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    with np.errstate(divide="ignore"):
        terms = kg.log_kg(gap[:, None], cov * root[..., None]) + np.log(weights)
    bound, value = kg.log_kg_bound(cov, root, gap, weights), logsumexp(terms, axis=-1)
    assert np.all(bound[:20, 0] == -np.inf)
    finite = value > -1e299
    np.testing.assert_array_less(value[finite], bound[finite] + 1e-12 * (1 + abs(value[finite])))
    np.testing.assert_array_less(bound[finite], value[finite] + 0.11 + 1e-12 * abs(value[finite]))


@pytest.mark.parametrize("slope", [0.3, -1.0, 2.5])
@pytest.mark.parametrize("gap", [0.0, 0.4, 2.0])
def test_the_closed_form_is_the_expected_gain_of_one_moving_line(gap: float, slope: float) -> None:
    value = float(np.exp(kg.log_kg(np.array(gap), np.array(slope))))
    for level in (gap, -gap):  # the moving line may be the best or not
        expected = by_quadrature(np.array([level, 0.0]), np.array([slope, 0.0]))
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-11)


def test_the_envelope_is_the_expected_gain_of_many_lines() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(1, 7))
        a, s = rng.standard_normal(n), rng.standard_normal(n)
        if rng.random() < 0.3:
            a, s = np.round(a), np.round(s)  # parallel, equal and concurrent lines
        assert float(np.exp(kg.envelope_kg(a, s))) == pytest.approx(by_quadrature(a, s), rel=1e-7, abs=1e-11)


def test_small_envelopes_by_hand() -> None:
    h0 = 1 / np.sqrt(2 * np.pi)
    # max(−z, 0, z) = |z|: the line in the middle is touched in one point only.
    for a in ([0.0, 0.0], [0.0, 0.0, 0.0]):
        s = np.linspace(-1.0, 1.0, len(a))
        assert float(np.exp(kg.envelope_kg(np.array(a), s))) == pytest.approx(2 * h0, rel=1e-14)
    # A line that is nowhere on top, and a lower one in parallel to the best, change nothing.
    lines = np.array([0.0, 0.0, -5.0, -1.0]), np.array([-1.0, 1.0, 0.1, 1.0])
    assert float(np.exp(kg.envelope_kg(*lines))) == pytest.approx(2 * h0, rel=1e-14)


def test_nothing_moves_nothing_gained() -> None:
    assert kg.envelope_kg(np.array([1.0, 2.0, 2.0]), np.zeros(3)) == -np.inf
    assert kg.envelope_kg(np.array([1.0, 2.0, 2.0]), np.full(3, 0.7)) == -np.inf  # all move together
    assert kg.envelope_kg(np.array([3.0]), np.array([2.0])) == -np.inf
    assert kg.log_kg(np.array(0.0), np.array(0.0)) == -np.inf
    assert kg.log_kg(np.array(1.0), np.array(0.0)) == -np.inf


def test_envelope_and_closed_form_agree_for_independent_alternatives() -> None:
    rng = np.random.default_rng(1)
    belief = random_belief(rng, (7,), (5, 4))
    slope = belief.cov * kg.precision_root(belief)[..., None]
    slope[rng.random(slope.shape) < 0.1] = 0.0
    closed = kg.log_kg(kg.gap_to_rival(belief.mean)[..., None, :], slope)
    for k in range(5):
        moved = np.zeros((7, 4, 4, 5))  # [run, context, context′, alternative]
        moved[..., k] = slope[:, k]
        lines = np.swapaxes(belief.mean, -1, -2)[:, None]
        np.testing.assert_allclose(kg.envelope_kg(lines, moved), closed[:, k], rtol=1e-12)


def test_many_envelopes_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(2)
    a, s = rng.standard_normal((3, 1, 4, 6)), rng.standard_normal((3, 5, 4, 6))
    many = kg.envelope_kg(a, s)
    assert many.shape == (3, 5, 4)
    for i, j, k in np.ndindex(3, 5, 4):
        assert many[i, j, k] == kg.envelope_kg(a[i, 0, k], s[i, j, k])


@pytest.mark.parametrize("unit", [1e-120, 1e-9, 1.0, 1e9, 1e120])
def test_the_envelope_knows_neither_order_nor_level_nor_common_motion(unit: float) -> None:
    rng = np.random.default_rng(3)
    a, s = rng.standard_normal((50, 6)), rng.standard_normal((50, 6))
    plain = kg.envelope_kg(a, s)
    mixed = rng.permutation(6)
    np.testing.assert_allclose(kg.envelope_kg(a[:, mixed], s[:, mixed]), plain, rtol=1e-11)
    np.testing.assert_allclose(kg.envelope_kg(a, -s), plain, rtol=1e-11)
    moved = kg.envelope_kg((a + 3.0) * unit, (s + 0.5) * unit) - np.log(unit)
    np.testing.assert_allclose(moved, plain, rtol=1e-9, atol=1e-10)


def test_tiny_values_keep_their_order() -> None:
    gap = np.geomspace(10.0, 1e7, 400)
    closed = kg.log_kg(gap, np.ones(400))
    assert np.all(np.diff(closed) < 0)
    lines = np.stack([np.zeros(400), -gap, -gap - 1.0], axis=-1)
    np.testing.assert_allclose(kg.envelope_kg(lines, np.array([0.0, 1.0, 0.5])), closed, rtol=1e-12)
    # Two rivals on either side, 50 deviations away: twice the value of one.
    both = kg.envelope_kg(np.array([0.0, -50.0, -50.0]), np.array([0.0, 1.0, -1.0]))
    one = kg.envelope_kg(np.array([0.0, -50.0]), np.array([0.0, 1.0]))
    assert one < -1250
    assert both - one == pytest.approx(np.log(2.0), rel=1e-9)


def test_absurd_ratios_neither_overflow_nor_warn() -> None:
    for slope in (1e-300, 5e-324):
        assert float(kg.log_kg(np.array(1e200), np.array(slope))) < -1e290
        assert float(kg.envelope_kg(np.array([1e200, 0.0]), np.array([0.0, slope]))) < -1e290


def test_the_rival_is_the_best_of_the_others() -> None:
    mean = np.random.default_rng(4).integers(0, 4, (6, 4, 3)).astype(float)
    gap = kg.gap_to_rival(mean)
    for i, k, c in np.ndindex(6, 4, 3):
        assert gap[i, k, c] == abs(mean[i, k, c] - max(mean[i, j, c] for j in range(4) if j != k))
    assert np.all(kg.gap_to_rival(np.zeros((1, 3))) == np.inf)


def test_log_sum_is_the_logarithm_of_the_sum() -> None:
    terms = np.random.default_rng(5).normal(0, 500, (4, 5, 6))
    terms[0, 0], terms[1, 1, :3] = -np.inf, -np.inf
    np.testing.assert_allclose(kg.log_sum(terms), logsumexp(terms, axis=-1), rtol=1e-13)
    np.testing.assert_allclose(kg.log_sum(terms, (-2, -1)), logsumexp(terms, axis=(-2, -1)), rtol=1e-13)


def test_blocks_cover_all_rows_once() -> None:
    for n, size in ((0, 5), (1, 10**9), (1000, 100), (7, 3)):
        covered = [i for some in kg.blocks(n, size) for i in range(n)[some]]
        assert covered == list(range(n))


def test_columns_are_the_covariances_with_some_alternatives() -> None:
    block = random_belief(np.random.default_rng(6))
    full = dense(block)
    assert full.own_cov is None
    for some in (slice(0, 1), slice(1, 3), slice(0, 3)):
        found = kg.columns(full, some)
        np.testing.assert_array_equal(found, kg.columns(block, some))
        for i, k in enumerate(range(3)[some]):
            for c in range(4):
                pair = Decision(np.array(k), np.array(c))
                np.testing.assert_array_equal(found[i, c], full.cov_with(pair))


def test_values_do_not_depend_on_how_many_alternatives_are_looked_at_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full, weights = dense(random_belief(np.random.default_rng(8))), np.full(4, 0.25)
    every = np.ones(full.mean.shape, bool)
    together = kg.log_kg_in_own_context(full), log_ikg(full, weights, every)
    monkeypatch.setattr(kg, "_COLUMNS", 1)
    assert len(list(kg.alternatives_at_once(full))) == 3
    for one, other in zip(
        together, (kg.log_kg_in_own_context(full), log_ikg(full, weights, every)), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_the_value_here_is_the_same_however_the_belief_is_held() -> None:
    block = random_belief(np.random.default_rng(7))
    cells = CellBelief(block.mean, block.var, block.noise)
    np.testing.assert_allclose(
        kg.log_kg_in_own_context(dense(block)), kg.log_kg_in_own_context(block), rtol=1e-12
    )
    np.testing.assert_allclose(kg.log_kg_in_own_context(cells), kg.log_kg_in_own_context(block), rtol=1e-12)


def test_a_sample_that_teaches_nothing_has_slope_zero() -> None:
    known = CellBelief(np.zeros((2, 1)), np.array([[0.0], [4.0]]), np.array([[0.0], [5.0]]))
    np.testing.assert_array_equal(kg.precision_root(known), [[0.0], [1 / 3]])
    np.testing.assert_array_equal(kg.precision_root(known, np.inf), [[0.0], [0.5]])
