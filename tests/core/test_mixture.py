"""Mixtures: the plain averages of what their beliefs say."""

from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest
from scipy.stats import t

from argbest.core.arrays import Array
from argbest.core.belief import Belief, BlockBelief, CellBelief, best
from argbest.core.certificate import Certificate, Mixture, averaged
from argbest.core.outcomes import Outcomes
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.base import integrated
from argbest.models.frequentist import Independent

N, K, C = 6, 4, 3
WEIGHTS = np.array([0.5, 0.3, 0.2])
SETTING = Setting(np.ones(1), np.zeros((1, 1, 1)), np.ones(1, bool))


def cells(n: int = N, seed: int = 0) -> CellBelief:
    rng = np.random.default_rng(seed)
    return CellBelief(rng.normal(size=(n, K, C)), rng.gamma(2.0, size=(n, K, C)), np.ones((n, K, C)))


def part(belief: CellBelief, some: slice) -> CellBelief:
    return CellBelief(belief.mean[some], belief.var[some], belief.noise[some])


def mixture(belief: CellBelief, portion: int = N) -> Mixture:
    return Mixture(lambda some: part(belief, some), len(belief.mean), portion, np.asarray(3.0))


def test_a_mixture_of_one_belief_says_what_that_belief_says() -> None:
    one = cells(1)
    alone = CellBelief(one.mean[0], one.var[0], one.noise[0])
    normals = np.random.default_rng(1).normal(size=(200, K, C))
    plain, mixed = (Certificate(alone, WEIGHTS, normals, 0.1, mixture=m) for m in (None, mixture(one, 1)))
    for name in ("pcs", "best_probability", "expected_loss", "lower_bound", "p_all", "pcs_e", "eoc"):
        np.testing.assert_allclose(getattr(mixed, name), getattr(plain, name), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("portion", [1, 4, N])
def test_a_mixture_averages_over_its_beliefs_however_they_are_portioned(portion: int) -> None:
    belief = cells()
    each = [CellBelief(belief.mean[i], belief.var[i], belief.noise[i]) for i in range(N)]
    chosen, mixed = np.array([0, 2, 1]), mixture(belief, portion)

    def mean(values: list[Array]) -> Array:
        return np.asarray(np.mean(values, axis=0))

    expected = mean([one.good_probability(chosen, 0.2) for one in each])
    np.testing.assert_allclose(mixed.good_probability(chosen, 0.2), expected, rtol=1e-12)
    np.testing.assert_allclose(
        mixed.expected_loss(chosen), mean([o.expected_loss(chosen) for o in each]), rtol=1e-12
    )
    np.testing.assert_allclose(
        mixed.best_probability(), mean([o.best_probability() for o in each]), rtol=1e-12
    )
    assert np.all(mixed.lower_bound(chosen) <= mixed.good_probability(chosen) + 1e-12)


@pytest.mark.parametrize("portion", [2, N])
def test_what_has_the_means_of_a_mixture_selects_what_loses_least_by_its_account(portion: int) -> None:
    belief = cells()
    mixed = mixture(belief, portion)
    fitted = CellBelief(belief.mean[0], belief.var[0], belief.noise[0])
    selects = averaged(fitted, mixed)
    np.testing.assert_allclose(selects.mean, belief.mean.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(selects.var, fitted.var)
    least = mixed.expected_loss(best(selects))
    every = np.stack([mixed.expected_loss(np.full(C, k)) for k in range(K)])
    np.testing.assert_allclose(least, every.min(axis=0), atol=1e-9)
    assert np.any(best(selects) != best(fitted)), "the seed shows no difference: the test says nothing"


def test_each_sum_of_several_has_the_means_of_its_own_mixture() -> None:
    goal, slack = cells(seed=1), cells(seed=2)
    mixed = Mixture(lambda some: Outcomes.of(part(goal, some), [part(slack, some)]), N, N, np.asarray(3.0))
    first, second = (CellBelief(each.mean[0], each.var[0], each.noise[0]) for each in (goal, slack))
    fitted = Outcomes.of(first, [second])
    selects = cast(Outcomes, averaged(fitted, mixed))
    np.testing.assert_allclose(selects.mean, goal.mean.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(selects.slacks[0].mean, slack.mean.mean(axis=0), rtol=1e-12)


def test_joint_draws_come_from_all_beliefs_alike() -> None:
    belief = cells()
    draws = mixture(belief, 4).draw(np.random.default_rng(2).normal(size=(60_001, K, C)))
    assert len(draws) == 60_000
    np.testing.assert_allclose(draws.mean(axis=0), belief.mean.mean(axis=0), atol=0.05)
    spread = belief.var.mean(axis=0) + belief.mean.var(axis=0)
    np.testing.assert_allclose(draws.var(axis=0), spread, rtol=0.05)


def test_joint_draws_have_the_covariances_of_their_blocks() -> None:
    """With so many contexts that other roots are taken than policies take; one context is known exactly."""
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(1, 2, 20, 20)) / 4
    factor[:, :, 3] = 0.0
    block = BlockBelief(
        rng.normal(size=(1, 2, 20)), factor @ np.swapaxes(factor, -1, -2), np.ones((1, 2, 20))
    )
    before = block.cov.copy()
    mixed = Mixture(lambda some: block, 1, 1, np.asarray(1.0))
    draws = mixed.draw(rng.normal(size=(40_000, 2, 20)))
    np.testing.assert_array_equal(block.cov, before)
    np.testing.assert_allclose(draws.mean(axis=0), block.mean[0], atol=0.03)
    for k in range(2):
        np.testing.assert_allclose(np.cov(draws[:, k].T), before[0, k], atol=0.06)
    assert np.abs(np.cov(draws[:, 0].T, draws[:, 1].T)[:20, 20:]).max() < 0.06
    assert np.abs(draws[:, :, 3] - block.mean[0, :, 3]).max() < 1e-3


@pytest.mark.parametrize("mixed", [False, True])
def test_joint_draws_made_in_blocks_are_those_made_at_once(mixed: bool) -> None:
    belief, normals = cells(), np.random.default_rng(3).normal(size=(50, K, C))
    alone = CellBelief(belief.mean[0], belief.var[0], belief.noise[0])
    held: list[int] = []

    def blocks(multiple: int) -> Iterator[Array]:
        for start in range(0, len(normals), 2 * multiple):
            held.append(len(normals[start : start + 2 * multiple]))
            yield normals[start : start + 2 * multiple]

    given = mixture(belief, 4) if mixed else None
    whole, parts = (Certificate(alone, WEIGHTS, source, 0.1, mixture=given) for source in (normals, blocks))
    np.testing.assert_array_equal(parts.drawn_losses, whole.drawn_losses)
    assert max(held) == (2 * N if mixed else 2)
    assert parts.p_all == whole.p_all


def test_beliefs_are_made_once_where_one_portion_holds_all() -> None:
    calls, belief = [], cells()

    def condition(some: slice) -> Belief:
        calls.append(some)
        return part(belief, some)

    chosen = best(CellBelief(belief.mean[0], belief.var[0], belief.noise[0]))
    for portion, expected in ((N, 1), (4, 4)):
        calls.clear()
        mixed = Mixture(condition, N, portion, np.asarray(6.0))
        mixed.good_probability(chosen)
        mixed.expected_loss(chosen)
        assert len(calls) == expected


def test_large_beliefs_are_not_kept_for_their_means_alone() -> None:
    calls, belief = [], cells()

    def condition(some: slice) -> Belief:
        calls.append((some.start or 0, some.stop))
        return part(belief, some)

    few, many = (Mixture.of_size(condition, N, size, np.asarray(6.0), 0) for size in (1 << 20, 1 << 23))
    for mixed, parts in ((few, [(0, N)]), (many, [(i, i + 2) for i in range(0, N, 2)])):
        calls.clear()
        np.testing.assert_allclose(mixed.means[0], belief.mean.mean(axis=0), rtol=1e-12)
        assert calls == parts
        mixed.best_probability()
        mixed.best_probability()
        assert calls == (parts if mixed is few else [*parts, (0, N)])  # kept for what comes next


def test_a_mixture_at_single_contexts_averages_over_the_second_axis() -> None:
    rng = np.random.default_rng(3)
    mean, cov = rng.normal(size=(5, N, K, 1)), np.full((5, N, K, 1, 1), 0.7)
    belief = BlockBelief(mean, cov, np.ones(mean.shape))
    mixed = Mixture(
        lambda some: BlockBelief(mean[:, some], cov[:, some], mean[:, some]), N, 2, np.asarray(6.0), 1
    )
    np.testing.assert_allclose(mixed.best_probability(), belief.best_probability().mean(axis=1), rtol=1e-12)
    chosen = np.zeros((5, 1), int)
    assert mixed.good_probability(chosen).shape == (5, 1)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_the_independent_model_against_one_rival_is_behrens_and_fisher_s_problem(n: int) -> None:
    """P(f_0 > f_1) with both Student-t of n − 1 degrees, by quadrature over one of them."""
    tally = Tally(np.full((2, 1), n), np.array([[1.0], [0.0]]), (n - 1) * np.array([[2.0], [0.5]]))
    setting, model = SETTING, Independent()
    found = integrated(model, tally, setting, model.fit(tally, setting), np.random.default_rng(4))
    assert found is not None
    grid = (np.arange(4000) + 0.5) / 4000
    rival = t(n - 1, 0.0, np.sqrt(0.5 / n)).ppf(grid)
    expected = np.mean(t(n - 1, 1.0, np.sqrt(2.0 / n)).sf(rival))
    plain = model.posterior(tally, setting, model.fit(tally, setting)).good_probability(np.array([0]))
    ours = found.at_own_contexts().good_probability(np.array([0]))
    assert ours.item() == pytest.approx(expected, abs=0.01)
    assert plain.item() > ours.item()


def test_with_one_variance_known_the_independent_model_is_student_s_t() -> None:
    """The rival's mean is as good as known: what remains is one Student-t, from scipy."""
    count = np.array([[4], [1_000_000]])
    tally = Tally(count, np.array([[1.0], [0.0]]), (count - 1) * np.array([[4.0], [1.0]]))
    setting, model = SETTING, Independent()
    found = integrated(model, tally, setting, model.fit(tally, setting), np.random.default_rng(5))
    assert found is not None
    assert found.at_own_contexts().good_probability(np.array([0])).item() == pytest.approx(
        t(3).cdf(1.0), abs=0.002
    )
