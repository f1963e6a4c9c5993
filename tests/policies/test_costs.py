"""Replications that differ in cost: what the policies that weigh it decide, and what that comes to."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import oracles
import pytest
from by_tally import a_tally, variance
from scipy.optimize import minimize

from argbest import registry, testing, theory
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, BlockBelief, CellBelief
from argbest.core.decision import Decision
from argbest.core.false_selection import balance, optimal_allocation
from argbest.core.knowledge_gradient import log_kg_in_own_context
from argbest.core.question import BEST
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.base import Policy, weighs_cost
from argbest.policies.dvr import DVR, DVRM, log_false_selection, log_reduction, log_tie_density
from argbest.policies.ikg import IKG, LEVI, log_ikg
from argbest.policies.ocba import COCBA, DSCO, GPCOCBA, OCBA, look_ahead, ocba_ratios
from argbest.policies.top_two import TopTwo
from argbest.problems.base import Problem
from argbest.streams import Purpose, StepDraws

TRUTH = np.array([[1.0, 0.0], [0.4, 1.0], [0.0, 0.3]])
NOISE = np.array([[1.0, 0.5], [0.6, 1.0], [1.5, 0.8]])
COST = np.array([[5.0, 0.2], [1.0, 3.0], [0.5, 1.0]])
WEIGHING = {
    "gp-c-ocba", "c-ocba", "ocba", "dsco", "ikg", "ikg-noise-free", "levi", "dvr", "dvr-loss", "dvr-m",
    "top-two",
}  # fmt: skip


def setting(n_contexts: int, cost: Array | None = None) -> Setting:
    weights = np.arange(1.0, n_contexts + 1)
    separation = np.zeros((1, n_contexts, n_contexts))
    return Setting(weights / weights.sum(), separation, np.ones(n_contexts, bool), cost=cost)


def decide(
    policy: Policy, belief: Belief, tally: Tally, cost: Array | None = None, *, n: int = 1, step: int = 0
) -> list[tuple[int, int]]:
    where, draws = setting(tally.shape[-1], cost), StepDraws(0, Purpose.POLICY, step)
    found = policy.propose(belief, tally, np.zeros_like(tally.count), where, draws, n)
    return list(zip(found.alternative.tolist(), found.context.tolist(), strict=True))


def a_cost(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.exp(1.5 * rng.standard_normal(shape))


def counts_after(policy: Policy, steps: int, cost: Array | None, truth: Array, noise: Array) -> IntArray:
    """The counts when every mean and variance is known all along: the limit of a long run."""
    count = np.full(truth.shape, 2)
    for step in range(steps):
        tally = Tally(count.copy(), truth, noise * (count - 1))
        [pair] = decide(policy, CellBelief(truth, noise / count, noise), tally, cost, step=step)
        count[pair] += 1
    return count


def worth(count: IntArray, truth: Array, noise: Array, cost: Array) -> float:
    """The rate that was bought over the largest that the same money buys."""
    spent = count * cost
    return float(balance(truth, noise * cost, spent / spent.sum()).efficiency)


def optimum_by_search(truth: Array, noise: Array, cost: Array) -> tuple[Array, float]:
    """max η0 subject to η(k, c) ≥ η0 and Σ cost·p = 1, from the definition of η."""
    shape, best_of = truth.shape, np.argmax(truth, axis=0)
    rivals = [(k, c) for k, c in np.ndindex(shape) if k != best_of[c]]

    def slack(x: Array) -> list[float]:
        p = np.exp(x[1:]).reshape(shape)
        eta = [
            (truth[best_of[c], c] - truth[k, c]) ** 2
            / (noise[best_of[c], c] / p[best_of[c], c] + noise[k, c] / p[k, c])
            for k, c in rivals
        ]
        return [math.log(each) - x[0] for each in eta]

    start = np.log(1 / (cost * truth.size)).ravel()
    limits = [
        {"type": "ineq", "fun": slack},
        {"type": "ineq", "fun": lambda x: 1 - float(np.sum(cost.ravel() * np.exp(x[1:])))},
    ]
    search: Any = minimize  # its stubs refuse this call
    found = search(
        lambda x: -x[0],
        np.concatenate([[min(slack(np.concatenate([[0.0], start])))], start]),
        constraints=limits,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    p = np.exp(found.x[1:]).reshape(shape)
    return p / p.sum(), math.exp(found.x[0])


def test_the_optimal_allocation_with_costs_is_that_of_a_direct_search() -> None:
    rng = np.random.default_rng(0)
    cases = [(TRUTH, NOISE, COST)]
    cases += [
        (rng.normal(size=s), np.exp(rng.normal(size=s)), a_cost(rng, s)) for s in [(2, 1), (4, 1), (3, 2)]
    ]
    for truth, noise, cost in cases:
        share, rate = optimal_allocation(truth, noise, cost=cost)
        searched, best_rate = optimum_by_search(truth, noise, cost)
        assert share.sum() == pytest.approx(1.0)
        assert float(rate) == pytest.approx(best_rate, rel=1e-6)
        np.testing.assert_allclose(share, searched, atol=2e-4)
        load = cost * share**2 / noise
        for c, b in enumerate(np.argmax(truth, axis=0)):
            assert load[b, c] == pytest.approx(load[:, c].sum() - load[b, c], rel=1e-9)


def test_costs_enter_the_theory_of_a_problem() -> None:
    problem = Problem(["a", "b", "c"], ["x", "y"], truth=TRUTH, noise_sd=np.sqrt(NOISE))
    share, rate = optimal_allocation(TRUTH, NOISE, cost=COST)
    found = theory.optimal_allocation(problem, cost=COST)
    np.testing.assert_allclose(found.allocation["share"], share.ravel())
    assert found.rate == pytest.approx(float(rate))
    dearer = theory.optimal_allocation(problem, cost=10 * COST)
    np.testing.assert_allclose(dearer.allocation["share"], share.ravel())
    assert dearer.rate == pytest.approx(float(rate) / 10)
    with pytest.raises(InputError, match=r"costs of shape \(2,\).*expected numbers of shape \(3, 2\)"):
        theory.optimal_allocation(problem, cost=np.ones(2))
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="expected finite numbers above 0"):
            theory.optimal_allocation(problem, cost=np.where(COST == 5.0, wrong, COST))


@pytest.mark.parametrize("policy", [GPCOCBA(), COCBA(), DSCO()], ids=lambda policy: type(policy).__name__)
def test_the_sequential_rules_approach_the_optimal_allocation_with_costs(policy: Policy) -> None:
    share, _ = optimal_allocation(TRUTH, NOISE, cost=COST)
    count = counts_after(policy, 800, COST, TRUTH, NOISE)
    np.testing.assert_allclose(count / count.sum(), share, atol=5e-3)
    assert worth(count, TRUTH, NOISE, COST) > 0.99
    assert worth(counts_after(policy, 800, None, TRUTH, NOISE), TRUTH, NOISE, COST) < 0.95


@pytest.mark.parametrize("policy", [DVR(), TopTwo()], ids=lambda policy: type(policy).__name__)
def test_money_goes_farther_with_policies_that_weigh_cost(policy: Policy) -> None:
    cost = np.array([[9.0, 0.2], [1.0, 9.0], [0.5, 1.0]])
    weighing = worth(counts_after(policy, 500, cost, TRUTH, NOISE), TRUTH, NOISE, cost)
    blind = worth(counts_after(policy, 500, None, TRUTH, NOISE), TRUTH, NOISE, cost)
    assert weighing > blind + 0.05


def test_gp_c_ocba_balances_cost_times_squared_counts_over_variances() -> None:
    """In loops, with V = σ²/N: the best if κ_b N_b²/σ_b² < Σ κ_k N_k²/σ_k², in the context of smallest ζ."""
    rng = np.random.default_rng(1)
    changed = 0
    for _ in range(200):
        shape = (int(rng.integers(2, 6)), int(rng.integers(1, 5)))
        mean, noise, cost = rng.standard_normal(shape), rng.random(shape) + 0.1, a_cost(rng, shape)
        count = rng.integers(1, 30, shape)
        rate = np.full(shape, np.inf)
        for k, c in np.ndindex(shape):
            b = int(np.argmax(mean[:, c]))
            if k != b:
                spread = noise[b, c] / count[b, c] + noise[k, c] / count[k, c]
                rate[k, c] = (mean[b, c] - mean[k, c]) ** 2 / spread
        k, c = map(int, np.unravel_index(np.argmin(rate), shape))
        b = int(np.argmax(mean[:, c]))
        load = [float(cost[j, c] * count[j, c] ** 2 / noise[j, c]) for j in range(shape[0])]
        expected = (b, c) if load[b] < sum(load) - load[b] else (k, c)
        belief = CellBelief(mean, noise / count, noise)
        tally = Tally(count, mean, noise * (count - 1))
        assert decide(GPCOCBA(), belief, tally, cost) == [expected]
        if np.all(count > 1):
            assert decide(COCBA(), belief, tally, cost) == [expected]
        changed += decide(GPCOCBA(), belief, tally) != [expected]
    assert changed > 20


def test_dsco_compares_what_the_same_money_buys() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        tally, cost = a_tally(rng, (3, 2)), a_cost(rng, (3, 2))
        value = np.empty((3, 2))
        for pair in np.ndindex(3, 2):
            number = tally.count.astype(float)
            number[pair] += cost.min() / cost[pair]
            var = variance(tally) / number
            rates = []
            for k, c in np.ndindex(3, 2):
                b = int(np.argmax(tally.mean[:, c]))
                if k != b:
                    rates.append((tally.mean[b, c] - tally.mean[k, c]) ** 2 / (var[b, c] + var[k, c]))
            value[pair] = min(rates)
        found, _ = look_ahead(
            tally.mean, variance(tally), tally.count, np.ones(2, bool), step=cost.min() / cost
        )
        np.testing.assert_allclose(found, value, rtol=1e-12)
        [pair] = decide(DSCO(), CellBelief(-tally.mean, NOISE, NOISE), tally, cost)
        assert value[pair] == pytest.approx(value.max())


def test_ocba_shares_keep_their_ratios_and_the_best_is_balanced_by_cost() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        mean, var, cost = rng.standard_normal(5), rng.random(5) + 0.1, a_cost(rng, (5,))
        share, blind = ocba_ratios(mean, var, cost=cost), ocba_ratios(mean, var)
        b = int(np.argmax(mean))
        rivals = [k for k in range(5) if k != b]
        np.testing.assert_allclose(share[rivals] / share[rivals[0]], blind[rivals] / blind[rivals[0]])
        load = cost * share**2 / var
        assert load[b] == pytest.approx(load[rivals].sum())
        assert share.sum() == pytest.approx(1.0)
    truth, noise = TRUTH[:, :1], NOISE[:, :1]
    count = counts_after(OCBA(), 1500, COST[:, :1], truth, noise)
    share = ocba_ratios(truth[:, 0], noise[:, 0], cost=COST[:, 0])
    np.testing.assert_allclose(count[:, 0] / count.sum(), share, atol=2e-3)


def scores(policy: Policy, belief: Belief, weights: Array) -> Array:
    """The logarithm of what the policy maximises without costs."""
    leads = BEST.contrasts(belief, BEST.choice(belief))
    if isinstance(policy, IKG):
        out = np.empty(belief.mean.shape)
        for pair in np.ndindex(out.shape):  # one candidate at a time, so that no bound rules it out
            only: BoolArray = np.zeros(out.shape, bool)
            only[pair] = True
            out[pair] = log_ikg(belief, weights, only, lookahead=policy.lookahead)[pair]
        return out
    if isinstance(policy, LEVI):
        return log_kg_in_own_context(belief) + np.log(weights)
    extra = 3.0 * log_false_selection(leads) if isinstance(policy, DVRM) else np.log(weights)
    return log_reduction(leads, log_tie_density(leads) + extra)


@pytest.mark.parametrize("policy", [IKG(), IKG(lookahead=math.inf), LEVI(), DVR(), DVRM()], ids=str)
def test_scores_are_divided_by_cost(policy: Policy) -> None:
    rng, changed = np.random.default_rng(4), 0
    for seed in range(15):
        moment = testing.situation(seed=seed).one(0)
        cost, weights = a_cost(rng, (4, 3)), setting(3).weights
        block = moment.belief
        dense = oracles.DenseBelief(block.mean, dense_cov(block), block.noise)
        for belief in (block, dense):
            value = np.exp(scores(policy, belief, weights)) / cost
            expected = tuple(map(int, np.unravel_index(np.argmax(value), value.shape)))
            assert decide(policy, belief, moment.tally, cost) == [expected]
        changed += decide(policy, block, moment.tally) != [expected]
    assert changed > 2


def dense_cov(belief: BlockBelief) -> Array:
    k, c = belief.mean.shape
    cov = np.zeros((k, c, k, c))
    for j in range(k):
        cov[j, :, j, :] = belief.cov[j]
    return cov.reshape(k * c, k * c)


def test_top_two_samples_the_dear_side_by_the_root_of_its_cost() -> None:
    # Either side leads half of the time; with costs 4 and 1 the odds are 1/2 to 1, whoever leads.
    runs, shape = 20_000, (20_000, 2, 1)
    belief, none = CellBelief(np.zeros(shape), np.ones(shape), np.ones(shape)), np.zeros(shape, int)
    where, draws = setting(1, np.array([[4.0], [1.0]])), StepDraws(np.arange(runs), Purpose.POLICY)
    found = TopTwo().propose(belief, Tally(none, np.zeros(shape), np.zeros(shape)), none, where, draws)
    assert abs(np.mean(found.alternative == 0) - 1 / 3) < 4.5 * math.sqrt(2 / 9 / runs)  # false alarm 1e-5


@pytest.mark.parametrize("name", registry.POLICIES)
def test_who_weighs_cost_says_so_and_nobody_else_looks_at_it(name: str) -> None:
    policy = registry.policy(name).make()
    assert weighs_cost(policy) == (name in WEIGHING)
    shape, rng, changed = (4, 1) if name == "ocba" else (4, 3), np.random.default_rng(5), 0
    for seed in range(12):
        moment = testing.situation(shape=shape, seed=seed, pending=seed % 2 == 0)

        def ask(cost: Array | None, moment: testing.Situation = moment) -> Decision:
            where = replace(moment.setting, cost=cost)
            return policy.propose(moment.belief, moment.tally, moment.pending, where, moment.draws, 3)

        plain, even, uneven = ask(None), ask(np.full(shape, 0.37)), ask(a_cost(rng, shape))
        np.testing.assert_array_equal(plain, even)
        changed += not np.array_equal(plain, uneven)
    assert (changed > 0) == (name in WEIGHING)
