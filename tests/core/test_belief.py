import numpy as np
import oracles
import pytest
from oracles import dense, random_belief

from argbest.core import belief as beliefs
from argbest.core import conditioning
from argbest.core import tally as tallies
from argbest.core.belief import Belief, BlockBelief, ByBlocks, CellBelief
from argbest.core.decision import Decision


def pair(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


def test_the_dense_oracle_satisfies_the_protocol_too() -> None:
    belief: Belief = dense(random_belief(np.random.default_rng(0)))
    assert belief.mean.shape == (3, 4)


def test_block_and_dense_beliefs_tell_the_same() -> None:
    rng = np.random.default_rng(19)
    block = random_belief(rng)
    full = dense(block)
    reference = np.array([0, 2, 1, 0])
    np.testing.assert_allclose(block.var, full.var)
    np.testing.assert_allclose(block.difference_var(reference), full.difference_var(reference), atol=1e-14)
    for k, c in np.ndindex(3, 4):
        np.testing.assert_array_equal(block.cov_with(pair(k, c)), full.cov_with(pair(k, c)))
        after, expected = (
            block.update(pair(k, c), np.array(0.7), 3),
            full.update(pair(k, c), np.array(0.7), 3),
        )
        np.testing.assert_allclose(after.mean, expected.mean, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(dense(after).cov, expected.cov, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("unit", [1e-120, 1e-9, 1.0, 1e9, 1e120])
def test_one_update_by_hand_in_any_unit(unit: float) -> None:
    # Prior N(1, 2) and N(0, 2) with covariance 1; noise 2; observe 5 in the first context.
    cov = np.array([[[2.0, 1.0], [1.0, 2.0]]]) * unit**2
    before = BlockBelief(np.array([[1.0, 0.0]]) * unit, cov, np.array([[2.0, 9.0]]) * unit**2)
    after = before.update(pair(0, 0), np.array(5.0 * unit))
    np.testing.assert_allclose(after.mean / unit, [[3.0, 1.0]])
    np.testing.assert_allclose(after.cov / unit**2, [[[1.0, 0.5], [0.5, 1.75]]])


def test_a_thousand_rank_one_updates_equal_one_recomputation() -> None:
    rng = np.random.default_rng(20)
    x = rng.random((12, 1))
    prior = np.stack(
        [oracles.kernel("matern52", x, x, np.array([length]), 3.0) for length in (0.2, 0.5, 2.0)]
    )
    constant, noise = np.array([0.1, -0.3, 0.0]), rng.random((3, 12)) + 0.2
    tally = tallies.empty((3, 12))
    mean, cov = conditioning.posterior(prior, constant, noise, tally)
    belief: ByBlocks = BlockBelief(mean, cov, noise)
    for _ in range(1000):
        where, value = pair(int(rng.integers(3)), int(rng.integers(12))), np.array(rng.normal(0, 2))
        tally = tallies.add(tally, where, value)
        belief = belief.update(where, value)
    mean, cov = conditioning.posterior(prior, constant, noise, tally)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(belief.cov, cov, rtol=1e-10, atol=1e-10)


def test_q_replicates_at_once_equal_q_updates() -> None:
    rng = np.random.default_rng(21)
    belief = random_belief(rng)
    values = rng.standard_normal(5)
    one_by_one: ByBlocks = belief
    for v in values:
        one_by_one = one_by_one.update(pair(1, 2), np.array(v))
    block = belief.update(pair(1, 2), np.array(values.mean()), 5)
    np.testing.assert_allclose(block.mean, one_by_one.mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(block.cov, one_by_one.cov, rtol=1e-12, atol=1e-13)


def test_no_replicate_and_no_uncertainty_teach_nothing() -> None:
    belief = random_belief(np.random.default_rng(22))
    np.testing.assert_array_equal(belief.update(pair(0, 0), np.array(9.0), 0).mean, belief.mean)
    known = BlockBelief(np.zeros((2, 1)), np.zeros((2, 1, 1)), np.zeros((2, 1)))
    after = known.update(pair(1, 0), np.array(3.0))
    np.testing.assert_array_equal(after.mean, known.mean)


def test_anticipating_shrinks_variance_exactly_and_keeps_the_mean() -> None:
    belief = random_belief(np.random.default_rng(23))
    ahead = beliefs.anticipate(belief, pair(2, 1), 4)
    np.testing.assert_array_equal(ahead.mean, belief.mean)
    after = belief.update(pair(2, 1), np.array(123.0), 4)
    np.testing.assert_array_equal(ahead.var, after.var)
    assert np.all(ahead.var <= belief.var)


def test_the_best_is_the_lowest_index_among_ties() -> None:
    mean = np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 2.0]])
    belief = BlockBelief(mean, np.zeros((3, 2, 2)), np.ones((3, 2)))
    assert beliefs.best(belief).tolist() == [0, 1]
    np.testing.assert_array_equal(beliefs.gaps(belief, np.array([0, 1])), [[0, 2], [0, 0], [1, 0]])


def test_many_studies_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(24)
    many = random_belief(rng, (2, 3))
    decision = Decision(rng.integers(0, 3, (2, 3)), rng.integers(0, 4, (2, 3)))
    value, n = rng.standard_normal((2, 3)), rng.integers(1, 4, (2, 3))
    after, chosen = many.update(decision, value, n), beliefs.best(many)
    normals = rng.standard_normal((10, 2, 3, 3, 4))
    for i in np.ndindex(2, 3):
        one = BlockBelief(many.mean[i], many.cov[i], many.noise[i])
        here = Decision(decision.alternative[i], decision.context[i])
        np.testing.assert_array_equal(after.cov[i], one.update(here, value[i], n[i]).cov)
        np.testing.assert_array_equal(after.mean[i], one.update(here, value[i], n[i]).mean)
        np.testing.assert_array_equal(many.cov_with(decision)[i], one.cov_with(here))
        np.testing.assert_array_equal(many.difference_var(chosen)[i], one.difference_var(chosen[i]))
        np.testing.assert_allclose(
            many.draw(normals)[:, *i], one.draw(normals[:, *i]), rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(many.best_probability()[i], one.best_probability(), atol=1e-10)


def test_draws_have_the_moments_of_the_belief() -> None:
    rng = np.random.default_rng(25)
    belief = random_belief(rng)
    draws = belief.draw(rng.standard_normal((40_000, 3, 4)))
    # Five standard errors per entry: false alarm below 1e-4 in all.
    assert np.all(np.abs(draws.mean(axis=0) - belief.mean) < 5 * np.sqrt(belief.var / 40_000))
    for k in range(3):
        sample = np.cov(draws[:, k].T)
        bound = 5 * np.sqrt(2.0 / 40_000) * np.sqrt(np.outer(belief.var[k], belief.var[k]))
        assert np.all(np.abs(sample - belief.cov[k]) < bound)


def test_a_singular_covariance_can_be_drawn_from() -> None:
    belief = BlockBelief(np.zeros((1, 2)), np.ones((1, 2, 2)), np.ones((1, 2)))
    draws = belief.draw(np.random.default_rng(26).standard_normal((100, 1, 2)))
    assert draws[:, 0, 0] == pytest.approx(draws[:, 0, 1], abs=1e-7)


def test_draws_after_updates_are_those_of_the_same_belief_made_anew() -> None:
    """Roots are kept while blocks stay the same: none may outlive its block."""
    rng = np.random.default_rng(27)
    belief: ByBlocks = random_belief(rng)
    normals = rng.standard_normal((5, 3, 4))
    for _ in range(4):
        fresh = BlockBelief(belief.mean, belief.cov, belief.noise)
        np.testing.assert_array_equal(belief.draw(normals), fresh.draw(normals))
        where = Decision(np.array(rng.integers(3)), np.array(rng.integers(4)))
        belief = belief.update(where, np.array(rng.normal()))


def test_independent_cells_are_a_block_belief_without_covariance() -> None:
    rng = np.random.default_rng(27)
    mean, var, noise = (
        rng.standard_normal((2, 3, 4)),
        rng.random((2, 3, 4)) + 0.1,
        rng.random((2, 3, 4)) + 0.1,
    )
    cells = CellBelief(mean, var, noise)
    block = BlockBelief(mean, var[..., None] * np.eye(4), noise)
    decision = Decision(np.array([0, 2]), np.array([3, 1]))
    chosen = beliefs.best(cells)
    normals = rng.standard_normal((5, 2, 3, 4))
    np.testing.assert_array_equal(cells.cov_with(decision), block.cov_with(decision))
    np.testing.assert_array_equal(cells.difference_var(chosen), block.difference_var(chosen))
    np.testing.assert_allclose(cells.draw(normals), block.draw(normals), rtol=1e-12)
    for n in (0, 1, np.array([2, 5])):
        after, expected = (
            cells.update(decision, np.array([0.3, -0.9]), n),
            block.update(decision, np.array([0.3, -0.9]), n),
        )
        np.testing.assert_allclose(after.mean, expected.mean, rtol=1e-12)
        np.testing.assert_allclose(after.var, expected.var, rtol=1e-12)


def test_trials_under_way_count_as_if_told_one_by_one() -> None:
    rng = np.random.default_rng(7)
    belief, pending = blocks(rng, 4, 5), rng.poisson(0.7, (4, 5))
    expected: ByBlocks = belief
    for k, c in np.argwhere(pending):
        where = Decision(np.array(k), np.array(c))
        expected = expected.update(where, expected.mean[k, c], pending[k, c])
    found = belief.expecting(pending)
    for name in ("mean", "var", "cov"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("kind", ["full", "singular", "without noise"])
def test_draws_under_pending_trials_have_the_covariance_given_these(kind: str) -> None:
    """Draws are linear in the normal numbers: those of unit vectors are a root of the covariance."""
    rng = np.random.default_rng(8)
    belief, pending = blocks(rng, 4, 5), rng.poisson(0.7, (4, 5))
    if kind == "singular":
        part = rng.normal(size=(4, 5, 2))
        belief = BlockBelief(belief.mean, part @ np.swapaxes(part, 1, 2), belief.noise)
    if kind == "without noise":
        belief = BlockBelief(belief.mean, belief.cov, np.zeros((4, 5)))
        pending = np.minimum(pending, 1)
    more = Decision(np.array(int(pending.sum(axis=1).argmax())), np.array(0))
    units = np.broadcast_to(np.eye(5)[:, None, :], (5, 4, 5))
    many = BlockBelief(belief.mean[None], belief.cov[None], belief.noise[None])
    later = beliefs.anticipate(beliefs.expecting(belief, pending), more, 2)
    beside = beliefs.expecting(many, pending[None])
    beside = beliefs.anticipate(beside, Decision(*(part[None] for part in more)), np.array([2]))
    assert belief.draw(units).shape == units.shape  # leaves roots behind, of the blocks before
    root = later.draw(units) - belief.mean
    np.testing.assert_allclose(beside.draw(units[:, None])[:, 0] - belief.mean, root, atol=1e-12)
    pending[more] += 2
    for k in range(4):
        at = np.flatnonzero(pending[k])
        seen = belief.cov[k][np.ix_(at, at)] + np.diag(belief.noise[k, at] / pending[k, at])
        expected = belief.cov[k] - belief.cov[k][:, at] @ np.linalg.solve(seen, belief.cov[k][at])
        np.testing.assert_allclose(root[:, k].T @ root[:, k], expected, atol=1e-9)


def test_beliefs_are_values() -> None:
    rng = np.random.default_rng(7)
    belief = blocks(rng, 4, 5)
    held: list[ByBlocks] = [belief]
    for _ in range(12):
        where = Decision(np.array(rng.integers(4)), np.array(rng.integers(5)))
        held += [
            held[-1].update(where, np.array(rng.normal())),
            held[-1].expecting(np.eye(4, 5, dtype=np.int64)),
        ]
        assert np.all(np.isfinite(held[-1].draw(np.ones((1, 4, 5)))))  # roots are kept, and shared
    tables = [[getattr(one, name) for name in ("mean", "var", "cov", "noise")] for one in held]
    before = [[table.copy() for table in each] for each in tables]
    branch = held[3]
    for k in range(4):
        branch = branch.update(Decision(np.array(k), np.array(k)), np.array(5.0), 3)
    branch.cov[...] = 0.0  # even this shows nowhere else
    for old, now in zip(before, tables, strict=True):
        for table, same in zip(old, now, strict=True):
            np.testing.assert_array_equal(table, same)


def test_updates_of_one_study_are_those_of_studies_side_by_side() -> None:
    rng = np.random.default_rng(7)
    one: ByBlocks = blocks(rng, 3, 4)
    many: ByBlocks = BlockBelief(one.mean[None], one.cov[None], one.noise[None])
    for _ in range(6):
        k, c, value = rng.integers(3), rng.integers(4), rng.normal()
        one = one.update(Decision(np.array(k), np.array(c)), np.array(value), 2)
        many = many.update(Decision(np.array([k]), np.array([c])), np.array([value]), 2)
    np.testing.assert_array_equal(one.cov, many.cov[0])
    np.testing.assert_array_equal(one.mean, many.mean[0])


def blocks(rng: np.random.Generator, k: int, c: int) -> BlockBelief:
    root = rng.normal(size=(k, c, c))
    return BlockBelief(rng.normal(size=(k, c)), root @ np.swapaxes(root, 1, 2), rng.uniform(0.1, 1, (k, c)))
