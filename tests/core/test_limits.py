"""The best alternative within limits: by hand, against slow code from the formulas, and in certificates."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import oracles
import pytest
from scipy.stats import multivariate_normal, norm

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import BlockBelief, CellBelief
from argbest.core.certificate import Certificate, Mixture
from argbest.core.limits import NONE, BestWithinLimits, Standing, loss_of, usual_price
from argbest.core.outcomes import Outcomes, SharedNoise
from argbest.core.question import BEST
from argbest.core.setting import Setting
from argbest.core.states import NO_FEASIBLE, OPEN, SURE, counts, in_words, usual_delta
from argbest.core.tally import empty
from argbest.engine import step
from argbest.errors import InputError
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR, DVRLoss
from argbest.policies.equal import Equal, Random
from argbest.policies.ocba import GPCOCBA

#       context 0: the best breaks the limit; 1: all keep it; 2: none does
GOAL = np.array([[9.0, 1.0, 5.0], [7.0, 2.0, 4.0], [6.0, 0.0, 3.0]])
SLACK = np.array([[-1.0, 1.0, -1.0], [0.0, 2.0, -1.0], [1.0, 3.0, -0.1]])
TABLE = np.stack([GOAL, SLACK])


def test_the_best_that_keeps_the_limit_is_right_and_none_where_nothing_does() -> None:
    question = BestWithinLimits()
    assert question.right_choice(TABLE).tolist() == [1, 1, NONE]
    two = np.stack([GOAL, SLACK, SLACK - 0.5])  # a second limit, which alternative 1 breaks in context 0
    assert question.right_choice(two).tolist() == [2, 1, NONE]
    assert question.right_choice(np.stack([TABLE, TABLE[:, ::-1]])).tolist() == [[1, 1, -1], [1, 1, -1]]


def test_a_choice_loses_what_it_is_behind_and_the_price_where_it_breaks_a_limit() -> None:
    question = BestWithinLimits(price=1.5)
    assert question.loss(TABLE, np.array([1, 1, NONE])).tolist() == [0.0, 0.0, 0.0]
    assert question.loss(TABLE, np.array([2, 0, 0])).tolist() == [1.0, 1.0, 1.5]
    assert question.loss(TABLE, np.array([0, 2, 2])).tolist() == [1.5, 1.5, 1.5]  # at most the price
    assert question.loss(TABLE, np.array([NONE, NONE, NONE])).tolist() == [1.5, 1.5, 0.0]
    several = np.stack([TABLE, TABLE])
    assert question.loss(several, np.array([1, 1, NONE])).tolist() == [[0.0] * 3] * 2
    assert loss_of(TABLE, np.array([[0, 0, 0], [1, 1, 1]]), np.ones(3)).tolist() == [[1, 1, 1], [0, 0, 1]]


def test_wrong_losses_are_those_of_alternatives_that_keep_the_limits() -> None:
    question = BestWithinLimits()
    assert sorted(question.wrong_losses(TABLE).tolist()) == [1.0, 1.0, 2.0]
    out = np.zeros((3, 3), bool)
    out[1, 0] = True
    assert sorted(question.wrong_losses(TABLE, out).tolist()) == [1.0, 2.0]
    assert question.wrong_losses(np.stack([GOAL, SLACK - 10.0])).tolist() == []
    assert usual_delta(TABLE, None, question) == pytest.approx(0.01)


def test_the_usual_price_is_the_range_of_what_may_be_chosen_or_would_be_without_limits() -> None:
    kept = (SLACK >= 0).astype(float)
    #  0: 9 tempts, 7 and 6 keep it: range 3, twice 9 - 7 is more; 1: 2, 1, 0; 2: nothing keeps it: all count
    assert usual_price(GOAL, kept).tolist() == [3.0, 2.0, 2.0]
    hopeless = np.array([[10.0], [9.0], [8.0], [-1000.0]])
    assert usual_price(hopeless, np.array([[1.0], [1.0], [1.0], [0.0]])).tolist() == [2.0]  # breaks a limit
    assert usual_price(hopeless, np.ones((4, 1))).tolist() == [3.0]  # twice from the best to the median
    assert usual_price(np.array([[1.0, 4.0], [1.0, 0.0]]), np.ones((2, 2))).tolist() == [1.0, 4.0]  # a floor
    assert usual_price(np.ones((3, 2)), np.ones((3, 2))).tolist() == [1.0, 1.0]
    several = np.stack([GOAL, 10 * GOAL])
    assert usual_price(several, np.stack([kept, kept])).tolist() == [[3.0, 2.0, 2.0], [30.0, 20.0, 20.0]]


def random_outcomes(
    rng: np.random.Generator, n_limits: int, shape: tuple[int, int] = (5, 4), lead: tuple[int, ...] = ()
) -> Outcomes:
    goal = oracles.random_belief(rng, lead, shape)
    slacks = tuple(oracles.random_belief(rng, lead, shape) for _ in range(n_limits))
    return Outcomes.of(goal, slacks)


def picked(index: Any, _: int, one: Any) -> BlockBelief:
    """Return a belief about some of the studies or alternatives."""
    return BlockBelief(one.mean[index], one.cov[index], one.noise[index])


def slow_scores(belief: Outcomes, prices: Array, weights: Array) -> Array:
    """The gain of a sample of every pair, written out sum by sum with dense covariances."""
    n_alternatives, n_contexts = belief.mean.shape
    goal, *slacks = (oracles.dense(each) for each in belief.outcomes)  # type: ignore[arg-type]

    def at(k: int, c: int) -> int:
        return int(k * n_contexts + c)

    score = np.zeros((n_alternatives, n_contexts))
    for c in range(n_contexts):
        m, price = goal.mean[:, c], prices[c]
        zeta = [[s.mean[k, c] / np.sqrt(s.var[k, c]) for k in range(n_alternatives)] for s in slacks]
        kept = [float(np.prod([norm.cdf(z[k]) for z in zeta])) for k in range(n_alternatives)]
        value, left = 0.0, 1.0
        for k in sorted(range(n_alternatives), key=lambda k: -m[k]):
            value += left * kept[k] * m[k]
            left *= 1.0 - kept[k]
        value += left * max(m)
        b = max(range(n_alternatives), key=lambda k: kept[k] * (price - value + m[k]))
        back = [j for j in range(n_alternatives) if j != b and kept[j] >= 0.5]
        second = max(back, key=lambda j: kept[j] * (price + m[j] - m[b]), default=None)

        def tau(i: int, j: int, c: int = c) -> float:
            a, d = at(i, c), at(j, c)
            return float(np.sqrt(goal.cov[a, a] + goal.cov[d, d] - 2 * goal.cov[a, d]))

        for k in range(n_alternatives):
            if k != b:
                t = tau(b, k)
                weight = kept[b] * kept[k] * norm.pdf((m[b] - m[k]) / t) / (2 * t)
                for j, d in np.ndindex(score.shape):
                    shared = goal.cov[at(b, c), at(j, d)] - goal.cov[at(k, c), at(j, d)]
                    score[j, d] += weights[c] * weight * shared**2 / (goal.var[j, d] + goal.noise[j, d])
            rival = second if k == b else (b if kept[b] >= 0.5 else None)
            lost = price
            if rival is not None:
                t = tau(k, rival)
                z = (m[k] - m[rival]) / t
                lost = t * (norm.pdf(z) + z * norm.cdf(z))
            for i, s in enumerate(slacks):
                others = float(np.prod([norm.cdf(zeta[o][k]) for o in range(len(slacks)) if o != i]))
                least = min(price * norm.cdf(-zeta[i][k]), lost * norm.cdf(zeta[i][k]))
                for j, d in np.ndindex(score.shape):
                    shared = s.cov[at(k, c), at(j, d)]
                    gain = others * least / s.var[k, c] * shared**2 / (s.var[j, d] + s.noise[j, d])
                    score[j, d] += weights[c] * gain
    return score


def asked(belief: Outcomes, question: Any, **options: Any) -> Setting:
    n = belief.mean.shape[-1]
    weights = np.linspace(1.0, 2.0, n) / np.linspace(1.0, 2.0, n).sum()
    return Setting(weights, np.zeros((1, n, n)), np.ones(n, bool), question=question, **options)


def decided(policy: Policy, belief: Any, setting: Setting, pending: IntArray | None = None) -> list[Any]:
    shape = belief.mean.shape
    known, nothing = step.Learned.of_one((None,), belief), np.zeros(shape, np.int64)
    under_way = nothing if pending is None else pending
    roots: Any = 3 if len(shape) == 2 else np.full(shape[0], 3)
    found = step.decide(policy, known, empty(shape), under_way, setting, roots=roots, step=0)
    return list(np.stack([found.alternative[..., 0], found.context[..., 0]], axis=-1).tolist())


@pytest.mark.parametrize("n_limits", [1, 2, 3])
@pytest.mark.parametrize("price", [None, 0.7])
def test_dvr_loss_simulates_what_the_slow_formulas_say(n_limits: int, price: float | None) -> None:
    rng = np.random.default_rng(10 + n_limits)
    question, differs = BestWithinLimits(price), 0
    for _ in range(12):
        belief = random_outcomes(rng, n_limits)
        setting = asked(belief, question)
        prices = Standing.of(belief, price).price
        score = slow_scores(belief, prices, setting.weights)
        expected = list(np.unravel_index(score.argmax(), score.shape))
        assert decided(DVRLoss(), belief, setting) == expected
        covarying = belief.each(lambda _, one: oracles.dense(one))  # type: ignore[arg-type]
        assert decided(DVRLoss(), covarying, setting) == expected
        differs += expected != decided(DVRLoss(), belief.goal, replace(setting, question=BEST))
    assert differs > 3  # the limits count


def test_limits_that_are_surely_kept_change_no_decision_of_dvr_loss() -> None:
    rng = np.random.default_rng(20)
    for _ in range(20):
        belief = random_outcomes(rng, 2)
        sure = belief.each(lambda i, one: one if i == 0 else replace(one, mean=one.mean + 1e3))  # type: ignore[type-var]
        setting = asked(belief, BestWithinLimits())
        assert decided(DVRLoss(), sure, setting) == decided(
            DVRLoss(), belief.goal, replace(setting, question=BEST)
        )


def test_many_studies_at_once_decide_as_each_alone() -> None:
    belief = random_outcomes(np.random.default_rng(21), 2, lead=(6,))
    setting = asked(belief, BestWithinLimits())

    at_once = decided(DVRLoss(), belief, setting)
    assert at_once == [decided(DVRLoss(), belief.each(partial(picked, run)), setting) for run in range(6)]
    assert len({tuple(each) for each in at_once}) > 1


def scaled(belief: Outcomes, goal: float, slack: float, shift: float = 0.0) -> Outcomes:
    def change(i: int, one: Any) -> BlockBelief:
        unit = slack if i else goal
        return BlockBelief(one.mean * unit + (0.0 if i else shift), one.cov * unit**2, one.noise * unit**2)

    return belief.each(change)


def test_units_of_goal_and_slacks_and_a_constant_in_the_goal_change_no_decision() -> None:
    rng = np.random.default_rng(22)
    for _ in range(10):
        belief = random_outcomes(rng, 2)
        setting = asked(belief, BestWithinLimits())
        first = decided(DVRLoss(), belief, setting)
        for goal, slack, shift in ((1e6, 1.0, 0.0), (1.0, 1e-6, 0.0), (1.0, 1.0, 50.0), (1e-6, 1e6, 0.0)):
            assert decided(DVRLoss(), scaled(belief, goal, slack, shift), setting) == first


def test_permuted_alternatives_permute_decisions_and_choices() -> None:
    rng = np.random.default_rng(23)
    question = BestWithinLimits()
    for _ in range(10):
        belief = random_outcomes(rng, 1)
        order = rng.permutation(5)
        moved = belief.each(partial(picked, order))
        (k, c), (j, d) = (decided(DVRLoss(), each, asked(each, question)) for each in (belief, moved))
        assert (order[j], d) == (k, c)
        there = question.choice(moved)
        assert np.where(there == NONE, NONE, order[there]).tolist() == question.choice(belief).tolist()


def test_costs_pairs_set_aside_and_trials_under_way_count() -> None:
    rng = np.random.default_rng(24)
    belief = random_outcomes(rng, 1)
    setting = asked(belief, BestWithinLimits())
    k, c = decided(DVRLoss(), belief, setting)
    dear, closed, pending = np.ones((5, 4)), np.zeros((5, 4), bool), np.zeros((5, 4), np.int64)
    dear[k, c], closed[k, c], pending[k, c] = 1e9, True, 10**9
    assert decided(DVRLoss(), belief, replace(setting, cost=dear)) != [k, c]
    assert decided(DVRLoss(), belief, replace(setting, excluded=closed)) != [k, c]
    assert decided(DVRLoss(), belief, setting, pending) != [k, c]


def test_nothing_left_to_learn_is_no_error() -> None:
    known = CellBelief(GOAL, np.zeros((3, 3)), np.ones((3, 3)))
    belief = Outcomes.of(known, (replace(known, mean=SLACK),))
    k, c = decided(DVRLoss(), belief, asked(belief, BestWithinLimits()))
    assert 0 <= k < 3
    assert 0 <= c < 3
    assert BestWithinLimits().choice(belief).tolist() == [1, 1, NONE]


def test_a_single_alternative_is_simulated_until_its_limit_is_decided() -> None:
    goal = CellBelief(np.zeros((1, 2)), np.ones((1, 2)), np.ones((1, 2)))
    near = replace(goal, mean=np.array([[0.1, 3.0]]))
    assert decided(
        DVRLoss(), Outcomes.of(goal, (near,)), asked(Outcomes.of(goal, (near,)), BestWithinLimits())
    ) == [0, 0]


def test_policies_that_know_of_no_limits_say_so() -> None:
    belief = random_outcomes(np.random.default_rng(25), 1)
    setting = asked(belief, BestWithinLimits())
    for policy in (DVR(), GPCOCBA()):
        with pytest.raises(InputError, match=f"{type(policy).__name__} knows of no limits. Use dvr-loss"):
            decided(policy, belief, setting)
    decided(Equal(), belief, setting)
    decided(Random(), belief, setting)
    with pytest.raises(
        InputError, match="needs a belief about the goal and about every limit, got BlockBelief"
    ):
        decided(DVRLoss(), belief.goal, setting)


NORMALS = np.random.default_rng(30).standard_normal((20_000, 2, 2, 1))


def certified(belief: Outcomes, price: float | None = None, **options: Any) -> Certificate:
    question = BestWithinLimits(price)
    return Certificate(belief, np.ones(1), options.pop("normals", NORMALS), question=question, **options)


def one_context(goal: list[float], slack: list[float], sd: float = 1.0) -> Outcomes:
    def cells(mean: list[float], var: float) -> CellBelief:
        return CellBelief(np.array(mean)[:, None], np.full((len(mean), 1), var), np.ones((len(mean), 1)))

    return Outcomes.of(cells(goal, sd**2), (cells(slack, 1.0),))


def test_a_certificate_says_how_sure_the_best_within_limits_is() -> None:
    """Normal probabilities; 20,000 draws are off by more than .015 once in 10⁴."""
    goal, slack = [1.0, 0.0], [0.4, 1.5]
    found = certified(one_context(goal, slack), price=5.0)
    p, q, ahead = norm.cdf(0.4), norm.cdf(1.5), norm.cdf(1.0 / np.sqrt(2))
    right = [p * (1 - q) + p * q * ahead, q * (1 - p) + p * q * (1 - ahead)]
    np.testing.assert_allclose(found.best_probability[:, 0], right, atol=0.015)
    assert found.p_none_feasible[0] == pytest.approx((1 - p) * (1 - q), abs=0.015)
    assert found.best_probability.sum() + found.p_none_feasible[0] == pytest.approx(1.0)
    # Naming the second costs 5 unless it keeps the limit: less often than the first.
    assert found.choice.tolist() == [1]
    assert found.p_feasible[0] == pytest.approx(q, abs=0.015)
    assert found.pcs[0] == found.best_probability[1, 0]
    gap = np.sqrt(2) * (norm.pdf(-1 / np.sqrt(2)) + norm.cdf(1 / np.sqrt(2)) / np.sqrt(2))
    assert found.expected_loss[0] == pytest.approx(5.0 * (1 - q) + p * q * gap, abs=0.05)  # the cap is far
    assert found.runner_up.tolist() == [0]
    assert found.states(0.0).tolist() == [OPEN]
    # If breaking the limit costs little the first is worth the risk.
    assert certified(one_context(goal, slack), price=1.0).choice.tolist() == [0]


def test_that_no_alternative_is_feasible_is_an_answer_with_its_probability() -> None:
    found = certified(one_context([1.0, 0.0], [-3.0, -2.5]), price=2.0)
    none = norm.cdf(3.0) * norm.cdf(2.5)
    assert found.choice.tolist() == found.selected.tolist() == [NONE]
    assert found.pcs[0] == pytest.approx(none, abs=0.004)
    assert found.pcs[0] == found.p_none_feasible[0]
    assert found.expected_loss[0] == pytest.approx(2.0 * (1 - none), abs=0.008)
    assert np.isnan(found.p_feasible[0])
    assert found.runner_up.tolist() == [1]
    names = found.states(0.0)
    assert names.tolist() == [NO_FEASIBLE]
    assert counts(names) == {"sure": 0, "equal": 0, "open": 0, NO_FEASIBLE: 1}
    assert in_words(counts(names), 0.1).endswith("0 open, 1 without a feasible alternative")
    assert "P(all contexts)" in str(found)


def test_a_choice_that_breaks_a_limit_is_within_no_delta() -> None:
    found = certified(one_context([0.0, -9.0], [0.5, -9.0]), price=3.0)
    assert found.choice.tolist() == [0]
    assert found.within(1e9)[0] == found.pcs[0] == pytest.approx(norm.cdf(0.5), abs=0.015)
    sure = certified(one_context([9.0, 0.0], [9.0, 9.0]))
    assert sure.states(0.0).tolist() == [SURE]


@pytest.mark.parametrize("rho", [-0.8, 0.8])
def test_the_noise_that_responses_share_changes_how_sure_a_choice_is(rho: float) -> None:
    """Two values per pair, prior far wider than the noise: goal and slack errors have the correlation ρ."""
    var = np.full((2, 1), 0.5)
    goal = CellBelief(np.array([[0.5], [0.0]]), var, np.ones((2, 1)))
    slack = CellBelief(np.array([[0.3], [9.0]]), var, np.ones((2, 1)))
    shared = SharedNoise(np.array([[1.0, rho], [rho, 1.0]]), np.full((2, 1), 2))
    normals = np.random.default_rng(31).standard_normal((20_000, 4, 2, 1))
    found = certified(Outcomes.of(goal, (slack,), shared), normals=normals)
    cov = 0.5 * np.array([[2.0, rho], [rho, 1.0]])  # of f_0 − f_1 and h_0
    expected = multivariate_normal([0.0, 0.0], cov).cdf([0.5, 0.3])  # as P(−x ≤ mean)
    assert found.best_probability[0, 0] == pytest.approx(expected, abs=0.015)
    apart = certified(Outcomes.of(goal, (slack,)), normals=normals[:, :2])
    assert abs(apart.best_probability[0, 0] - expected) > 0.04


def test_a_mixture_of_beliefs_is_averaged_and_many_studies_are_certified_as_each_alone() -> None:
    ones = one_context([1.0, 0.0], [0.4, 1.5]), one_context([0.0, 1.0], [0.4, 1.5])

    def stack(i: int) -> CellBelief:
        parts = [each.outcomes[i] for each in ones]
        return CellBelief(*(np.stack([getattr(p, name) for p in parts]) for name in ("mean", "var", "noise")))

    both = Outcomes.of(stack(0), (stack(1),))
    mixture = Mixture(
        lambda some: both.each(lambda _, one: CellBelief(one.mean[some], one.var[some], one.noise[some])),
        2, 2, np.array(2.0),
    )  # fmt: skip
    found = certified(ones[0], price=5.0, mixture=mixture)
    halves = NORMALS.reshape(10_000, 2, 2, 2, 1)
    each = [certified(ones[i], price=5.0, normals=halves[:, i]) for i in range(2)]
    average = np.mean([one.best_probability for one in each], axis=0)
    np.testing.assert_allclose(found.best_probability, average, atol=1e-12)
    at_once = certified(both, price=5.0, normals=halves)
    for i in range(2):
        np.testing.assert_allclose(at_once.best_probability[i], each[i].best_probability)
        assert at_once.choice[i].tolist() == each[i].choice.tolist()
        assert at_once.expected_loss[i] == pytest.approx(each[i].expected_loss)


def test_without_limits_every_choice_is_feasible() -> None:
    found = Certificate(one_context([1.0, 0.0], [0.0, 0.0]).goal, np.ones(1), NORMALS[:, 0])
    assert found.options is None
    assert found.p_feasible.tolist() == [1.0]
    assert found.p_none_feasible.tolist() == [0.0]


def test_a_claim_comes_true_as_often_as_it_says_where_the_belief_is_right() -> None:
    """Truth drawn from the belief itself, 600 contexts: within four standard errors of the claims."""
    rng = np.random.default_rng(40)
    n = 600
    goal = CellBelief(rng.normal(size=(4, n)), np.full((4, n), 0.3), np.ones((4, n)))
    slack = CellBelief(rng.normal(size=(4, n)), np.full((4, n), 0.3), np.ones((4, n)))
    belief, question = Outcomes.of(goal, (slack,)), BestWithinLimits()
    found = Certificate(belief, np.full(n, 1 / n), rng.standard_normal((500, 2, 4, n)), question=question)
    truth = belief.draw(rng.standard_normal((1, 2, 4, n)))[0]
    right: BoolArray = question.right_choice(truth) == found.choice
    claimed = found.pcs
    assert abs(right.mean() - claimed.mean()) < 4 * np.sqrt(np.mean(claimed * (1 - claimed)) / n)
    kept = truth[1][np.maximum(found.choice, 0), np.arange(n)] >= 0
    named = found.choice != NONE
    p = found.p_feasible[named]
    assert abs(kept[named].mean() - p.mean()) < 4 * np.sqrt(np.mean(p * (1 - p)) / named.sum())
    lost = question.settled(belief).loss(truth[None], found.choice)[0]
    assert abs(lost.mean() - found.eoc) < 4 * lost.std() / np.sqrt(n)
    assert 20 < np.sum(~named) < n - 20
