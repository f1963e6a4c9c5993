import numpy as np
import oracles
import pytest

from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, BlockBelief, anticipate
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.ocba import GPCOCBA
from argbest.streams import Purpose, StepDraws


def tally_of(count: IntArray) -> Tally:
    return Tally(count, np.zeros(count.shape), np.zeros(count.shape))


def setting(n_contexts: int, weights: Array | None = None) -> Setting:
    even = np.full(n_contexts, 1 / n_contexts)
    separation = np.zeros((1, n_contexts, n_contexts))
    return Setting(even if weights is None else weights, separation, np.ones(n_contexts, bool))


def decide(
    belief: Belief, count: IntArray, step: int = 0, where: Setting | None = None, n: int = 1
) -> Decision:
    draws = StepDraws(np.zeros(count.shape[:-2], int) if count.ndim > 2 else 0, Purpose.POLICY, step)
    pending = np.zeros_like(count)
    return GPCOCBA().propose(belief, tally_of(count), pending, where or setting(count.shape[-1]), draws, n)


def diagonal(mean: Array, var: Array, noise: float = 1.0) -> BlockBelief:
    return BlockBelief(mean, var[..., None] * np.eye(var.shape[-1]), np.full(mean.shape, noise))


def pairs(decision: Decision) -> list[tuple[int, int]]:
    return list(zip(decision.alternative.tolist(), decision.context.tolist(), strict=True))


def test_it_takes_the_decisions_of_algorithm_one_in_loops() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        shape = (int(rng.integers(2, 7)), int(rng.integers(1, 7)))
        mean, var = rng.standard_normal(shape), rng.random(shape) + 0.01
        count = rng.integers(0, 10, shape)
        expected, unique = oracles.gp_c_ocba(mean, var, count)
        assert unique
        assert pairs(decide(diagonal(mean, var), count)) == [expected]


def test_a_small_case_by_eye() -> None:
    # Context 1 is the closer call (gap 1 against gap 3); ψ1 = 2 < ψ2 = 3 asks for the best there.
    belief = diagonal(np.array([[3.0, 1.0], [0.0, 0.0]]), np.ones((2, 2)))
    assert pairs(decide(belief, np.array([[9, 2], [9, 3]]))) == [(0, 1)]
    assert pairs(decide(belief, np.array([[9, 3], [9, 3]]))) == [(1, 1)]  # equality: the challenger
    assert pairs(decide(belief, np.array([[9, 0], [9, 1]]))) == [(0, 1)]  # the best has none, a rival has
    assert pairs(decide(belief, np.array([[9, 0], [9, 0]]))) == [
        (1, 1)
    ]  # nothing there at all: the challenger


def test_ties_are_broken_evenly_and_reproducibly() -> None:
    belief = diagonal(np.zeros((3, 2)), np.ones((3, 2)))
    count = np.ones((3, 2), int)
    # ψ2 = 2 > ψ1 = 1 everywhere, so only the context of the drawn challenger shows.
    contexts = [pairs(decide(belief, count, step))[0][1] for step in range(2000)]
    assert contexts == [pairs(decide(belief, count, step))[0][1] for step in range(2000)]
    assert abs(np.mean(contexts) - 0.5) < 4.5 * 0.5 / np.sqrt(2000)  # false alarm 1e-5
    nothing = np.zeros((3, 2), int)
    drawn = [pairs(decide(belief, nothing, step))[0] for step in range(4000)]
    chances = np.array([drawn.count(pair) for pair in [(1, 0), (1, 1), (2, 0), (2, 1)]]) / 4000
    assert chances.sum() == 1.0
    assert np.all(np.abs(chances - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000))


def test_one_context_with_a_diffuse_prior_is_the_ocba_2_rule() -> None:
    """With V = σ²/N: challenger = argmin gap²/(σ_b²/N_b + σ_k²/N_k); best if N_b²/σ_b² < Σ N_k²/σ_k²."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        k = int(rng.integers(2, 8))
        mean, noise, count = rng.standard_normal(k), rng.random(k) + 0.1, rng.integers(1, 30, k)
        v = noise / count
        b = int(np.argmax(mean))
        rate = np.where(np.arange(k) == b, np.inf, (mean[b] - mean) ** 2 / (v[b] + v))
        prefer = count[b] ** 2 / noise[b] < sum(count[j] ** 2 / noise[j] for j in range(k) if j != b)
        expected = b if prefer else int(np.argmin(rate))
        belief = diagonal(mean[:, None], v[:, None])
        assert pairs(decide(belief, count[:, None])) == [(expected, 0)]


def test_the_gp_with_a_diffuse_prior_and_known_noise_is_the_ocba_2_rule() -> None:
    """The same rule, with the belief from conditioning on data under a prior variance that swamps them."""
    from argbest.core import conditioning

    rng = np.random.default_rng(2)
    k, noise, count = 6, rng.random((6, 1)) + 0.1, rng.integers(1, 30, (6, 1))
    tally = Tally(count, rng.standard_normal((k, 1)), np.zeros((k, 1)))
    mean, cov = conditioning.posterior(np.full((k, 1, 1), 1e7), np.zeros(k), noise, tally)
    np.testing.assert_allclose(mean, tally.mean, rtol=1e-6)
    np.testing.assert_allclose(cov[..., 0], noise / count, rtol=1e-6)
    direct = diagonal(tally.mean, noise / count)
    assert pairs(decide(BlockBelief(mean, cov, noise), count)) == pairs(decide(direct, count))


def test_permuting_alternatives_and_contexts_permutes_the_decision() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        mean, var, count = rng.standard_normal((4, 5)), rng.random((4, 5)) + 0.1, rng.integers(0, 9, (4, 5))
        rows, columns = rng.permutation(4), rng.permutation(5)
        mixed = np.ix_(rows, columns)
        [(k, c)] = pairs(decide(diagonal(mean, var), count))
        [(i, j)] = pairs(decide(diagonal(mean[mixed], var[mixed]), count[mixed]))
        assert (rows[i], columns[j]) == (k, c)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_shift_unit_and_weights_change_nothing(unit: float) -> None:
    rng = np.random.default_rng(4)
    mean, var, count = rng.standard_normal((4, 5)), rng.random((4, 5)) + 0.1, rng.integers(0, 9, (4, 5))
    plain = pairs(decide(diagonal(mean, var), count))
    assert pairs(decide(diagonal((mean + 3.0) * unit, var * unit**2), count)) == plain
    assert pairs(decide(diagonal(mean, var), count, where=setting(5, np.array([0, 0, 1.0, 0, 0])))) == plain


def test_many_studies_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(5)
    mean, count = rng.integers(0, 3, (50, 3, 4)).astype(float), rng.integers(0, 3, (50, 3, 4))
    var = np.ones((50, 3, 4))  # whole numbers on purpose: many ties
    draws = StepDraws(np.arange(50), Purpose.POLICY, 3)
    pending = rng.integers(0, 2, (50, 3, 4))
    many = GPCOCBA().propose(diagonal(mean, var), tally_of(count), pending, setting(4), draws, 3)
    assert many.alternative.shape == (50, 3)
    for i in range(50):
        own = StepDraws(i, Purpose.POLICY, 3)
        one = GPCOCBA().propose(diagonal(mean[i], var[i]), tally_of(count[i]), pending[i], setting(4), own, 3)
        assert pairs(one) == pairs(Decision(many.alternative[i], many.context[i]))


def test_a_batch_conditions_on_its_earlier_decisions_and_on_what_is_pending() -> None:
    rng = np.random.default_rng(6)
    belief = diagonal(rng.standard_normal((4, 5)), rng.random((4, 5)) + 0.1)
    count = rng.integers(1, 5, (4, 5))
    batch = pairs(decide(belief, count, n=4))
    current: Belief = belief
    counts = count.copy()
    for k, c in batch:
        [(i, j)] = pairs(decide(current, counts))
        assert (i, j) == (k, c)
        current = anticipate(current, Decision(np.array(k), np.array(c)))
        counts[k, c] += 1
    pending = np.zeros_like(count)
    for k, c in batch[:2]:
        pending[k, c] += 1
    draws = StepDraws(0, Purpose.POLICY)
    rest = GPCOCBA().propose(belief, tally_of(count), pending, setting(5), draws, 2)
    assert pairs(rest) == batch[2:]


def test_only_allowed_contexts_are_simulated() -> None:
    rng = np.random.default_rng(7)
    belief, count = diagonal(rng.standard_normal((4, 5)), np.ones((4, 5))), rng.integers(0, 5, (4, 5))
    for c in range(5):
        only = Setting(np.full(5, 0.2), np.zeros((1, 5, 5)), np.arange(5) == c)
        assert {context for _, context in pairs(decide(belief, count, where=only, n=6))} == {c}


def test_it_works_on_beliefs_with_correlated_alternatives() -> None:
    # Alternatives 0 and 1 are close but move together; 2 is further away and uncertain: 2 is the challenger.
    cov = np.array([[1.0, 0.99, 0.0], [0.99, 1.0, 0.0], [0.0, 0.0, 1.0]])
    belief = oracles.DenseBelief(np.array([[1.0], [0.5], [0.2]]), cov, np.ones((3, 1)))
    assert pairs(decide(belief, np.array([[9], [1], [1]]))) == [(2, 0)]
    assert pairs(decide(diagonal(belief.mean, belief.var), np.array([[9], [1], [1]]))) == [(1, 0)]


def test_nothing_left_to_learn_still_gives_a_valid_pair() -> None:
    known = diagonal(np.zeros((2, 3)), np.zeros((2, 3)))
    [(k, c)] = pairs(decide(known, np.ones((2, 3), int)))
    assert 0 <= k < 2
    assert 0 <= c < 3
