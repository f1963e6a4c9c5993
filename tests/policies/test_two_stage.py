from dataclasses import replace

import numpy as np
import pytest

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import CellBelief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.core.two_stage import constant_h, pointwise_law, pooled_law
from argbest.errors import InputError
from argbest.models.frequentist import Linear
from argbest.policies.two_stage import TS, TSPlus, second_stage, worst_context
from argbest.streams import Purpose, StepDraws
from argbest.testing import PERMUTATION, SCALE, SHIFT, assert_valid_policy

BOTH = pytest.mark.parametrize("policy", [TS(), TSPlus()])
LINE = np.array([0.4, 1.0, 0.1, 0.0, 0.7])[:, None]  # its ends are contexts 1 and 3
GRID = np.stack(np.meshgrid([0.0, 0.5, 1.0], [0.0, 1.0], indexing="ij"), -1).reshape(-1, 2)  # 0, 1, 4, 5


def setting(contexts: Array, allowed: BoolArray | None = None) -> Setting:
    n = len(contexts)
    separation = np.moveaxis((contexts[:, None] - contexts) ** 2, -1, 0)
    return Setting(np.full(n, 1 / n), separation, np.ones(n, bool) if allowed is None else allowed)


def a_tally(shape: tuple[int, ...], seed: int = 0) -> Tally:
    rng = np.random.default_rng(seed)
    count = rng.integers(2, 12, shape)
    return Tally(count, rng.normal(size=shape), rng.chisquare(count - 1) * rng.choice([0.3, 1, 3], shape))


def propose(
    policy: TS | TSPlus, tally: Tally, where: Setting, n: int = 1, pending: IntArray | None = None
) -> Decision:
    belief = CellBelief(tally.mean, np.ones(tally.shape), np.ones(tally.shape))
    runs = np.arange(int(np.prod(tally.shape[:-2]))).reshape(tally.shape[:-2])
    none = np.zeros_like(tally.count)
    return policy.propose(
        belief, tally, none if pending is None else pending, where, StepDraws(runs, Purpose.POLICY), n
    )


def pairs(decision: Decision) -> list[tuple[int, int]]:
    return list(zip(decision.alternative.tolist(), decision.context.tolist(), strict=True))


def variances(policy: TS | TSPlus, tally: Tally, contexts: Array, design: list[int]) -> Array:
    """S² in loops, from the formulas."""
    found = np.zeros(tally.shape)
    z = np.array([[1.0, *contexts[c]] for c in design])
    for i in range(tally.shape[0]):
        beta = np.linalg.lstsq(z, tally.mean[i, design], rcond=None)[0]
        squares = sum(
            tally.m2[i, c] + tally.count[i, c] * (tally.mean[i, c] - row @ beta) ** 2
            for row, c in zip(z, design, strict=True)
        )
        for c in design:
            pooled = squares / (tally.count[i, design].sum() - z.shape[1])
            found[i, c] = pooled if isinstance(policy, TS) else tally.m2[i, c] / (tally.count[i, c] - 1)
    return found


@BOTH
@pytest.mark.parametrize(("contexts", "design"), [(LINE, [1, 3]), (GRID, [0, 1, 4, 5])])
def test_shares_and_decisions_are_those_of_loops(
    policy: TS | TSPlus, contexts: Array, design: list[int]
) -> None:
    for seed in range(10):
        tally = a_tally((3, len(contexts)), seed)
        s2 = variances(policy, tally, contexts, design)
        begun = policy.begin(setting(contexts), tally)
        assert begun.shares is not None
        np.testing.assert_allclose(begun.shares, s2 / s2.sum(), rtol=1e-10)
        count = tally.count.copy()
        for k, c in pairs(propose(begun, tally, setting(contexts), 8)):
            n = count[:, design].sum() + 1
            lacks = {(i, j): n * s2[i, j] / s2.sum() - count[i, j] for i in range(3) for j in design}
            assert (k, c) in lacks
            assert lacks[k, c] == pytest.approx(max(lacks.values()))
            count[k, c] += 1


@BOTH
def test_unless_begun_the_shares_follow_the_tally(policy: TS | TSPlus) -> None:
    first, later, where = a_tally((3, 5)), a_tally((3, 5), 1), setting(LINE)
    assert pairs(propose(policy, later, where, 9)) == pairs(
        propose(policy.begin(where, later), later, where, 9)
    )
    kept = policy.begin(where, first)
    assert type(kept) is type(policy)
    assert pairs(propose(policy, later, where, 9)) != pairs(propose(kept, later, where, 9))


@BOTH
def test_in_the_long_run_counts_are_the_paper_s_rounded_shares(policy: TS | TSPlus) -> None:
    where, tally = setting(LINE), a_tally((3, 5))
    begun = policy.begin(where, tally)
    assert begun.shares is not None
    n = 1500
    start = tally.count[:, [1, 3]].sum()
    decided = propose(begun, tally, where, n - int(start))
    count = tally.count.copy()
    np.add.at(count, (decided.alternative, decided.context), 1)
    assert np.all(begun.shares[:, [1, 3]] * n > tally.count[:, [1, 3]])  # the first stage is absorbed
    assert np.all(np.abs(count - np.round(n * begun.shares))[:, [1, 3]] <= 1)
    assert np.array_equal(count[:, [0, 2, 4]], tally.count[:, [0, 2, 4]])


@BOTH
def test_many_studies_at_once_equal_single_ones(policy: TS | TSPlus) -> None:
    tally = a_tally((4, 3, 5))
    allowed = np.random.default_rng(5).random((4, 5)) < 0.4
    allowed[:, 4] = True
    allowed[3, [1, 3]] = False  # one run must do without any design context
    pending = np.random.default_rng(6).integers(0, 3, tally.shape)
    many = policy.begin(setting(LINE), tally)
    assert many.shares is not None
    belief = CellBelief(tally.mean, np.ones(tally.shape), np.ones(tally.shape))
    draws = StepDraws(np.arange(4), Purpose.POLICY)
    together = many.propose(belief, tally, pending, setting(LINE, allowed), draws, 5)
    for run in range(4):
        one = Tally(tally.count[run], tally.mean[run], tally.m2[run])
        single = policy.begin(setting(LINE), one)
        alone = single.propose(
            CellBelief(belief.mean[run], belief.var[run], belief.noise[run]),
            one,
            pending[run],
            setting(LINE, allowed[run]),
            replace(draws, root=run),
            5,
        )
        assert single.shares is not None
        np.testing.assert_allclose(many.shares[run], single.shares, rtol=1e-10)
        assert pairs(alone) == pairs(Decision(together.alternative[run], together.context[run]))
        assert allowed[run][alone.context].all()


def test_the_conformance_suite_passes() -> None:
    assert_valid_policy(TSPlus(), invariances={PERMUTATION, SHIFT, SCALE})
    # TS has the same share at all design contexts, and draws among those that were sampled as often.
    assert_valid_policy(TS(), invariances={SHIFT, SCALE})


@BOTH
def test_without_an_allowed_design_context_the_nearest_serves_and_alternatives_take_turns(
    policy: TS | TSPlus,
) -> None:
    shares = np.zeros((3, 5))
    shares[:, [1, 3]] = [[0.25], [0.15], [0.1]]
    begun = replace(policy, shares=shares)
    count = np.full((3, 5), 2)
    where = setting(LINE, np.array([True, False, True, False, False]))  # 0.1 is nearer to an end than 0.4
    decided = propose(begun, Tally(count, np.zeros((3, 5)), np.ones((3, 5))), where, 70)
    assert set(decided.context.tolist()) == {2}
    assert (10 + np.bincount(decided.alternative)).tolist() == [50, 30, 20]


@BOTH
def test_only_the_allowed_end_is_sampled(policy: TS | TSPlus) -> None:
    where = setting(LINE, np.array([True, False, True, True, True]))
    assert set(propose(policy, a_tally((3, 5)), where, 6).context.tolist()) == {3}


@BOTH
def test_equal_shares_where_nothing_varies(policy: TS | TSPlus) -> None:
    tally = Tally(np.full((2, 5), 3), np.zeros((2, 5)), np.zeros((2, 5)))
    begun = policy.begin(setting(LINE), tally)
    assert begun.shares is not None
    np.testing.assert_allclose(begun.shares, [[0, 0.25, 0, 0.25, 0]] * 2)


def test_too_few_replications_are_refused() -> None:
    tally, where = a_tally((3, 5)), setting(LINE)
    tally.count[1, 3] = 1
    with pytest.raises(InputError, match="alternative 1 and design context 3 .*has 1 rep.*needs 2 or more"):
        propose(TSPlus(), tally, where)
    tally.count[1, 1] = 1
    with pytest.raises(InputError, match=r"TS needs more than 2 replications .*contexts \[1, 3\]"):
        propose(TS(), tally, where)
    tally.count[1, 1] = 0
    with pytest.raises(InputError, match="alternative 1 and design context 1 .*has 0 rep"):
        TS().begin(where, tally)


@BOTH
def test_the_second_stage_is_the_formula_in_loops(policy: TS | TSPlus) -> None:
    tally, where = a_tally((3, 5)), setting(LINE)
    tally = Tally(np.full((3, 5), 6), tally.mean, tally.m2)
    law = pooled_law(6, 2, 2) if isinstance(policy, TS) else pointwise_law(6, 2)
    h = constant_h(3, LINE[[1, 3]], LINE, law, weights=where.weights, alpha=0.1)
    s2 = variances(policy, tally, LINE, [1, 3])
    for delta in (0.3, 3.0):
        found = second_stage(tally, where, policy, delta=delta, alpha=0.1)
        for k, c in np.ndindex(3, 5):
            assert found[k, c] == (max(np.ceil(h**2 * s2[k, c] / delta**2), 6) if c in (1, 3) else 0)
    harder = replace(where, weights=worst_context(where))
    dearer = second_stage(tally, harder, policy, delta=0.3, alpha=0.1)
    usual = second_stage(tally, where, policy, delta=0.3, alpha=0.1)
    assert np.all(dearer >= usual)
    assert dearer.sum() > usual.sum()
    assert worst_context(where)[[1, 3]].sum() == 1


def test_a_first_stage_that_is_none_and_a_delta_that_is_none_are_refused() -> None:
    tally, where = a_tally((3, 5)), setting(LINE)
    with pytest.raises(InputError, match="needs the same number of each"):
        second_stage(tally, where, TS(), delta=1.0)
    for delta in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match=f"delta={delta}; expected a positive number"):
            second_stage(tally, where, TSPlus(), delta=delta)


RUNS = 10_000


def two_stages(policy: TS | TSPlus, where: Setting, std: Array, seed: int) -> Array:
    """The share of runs that select correctly in each context; alternative 0 leads by exactly delta = 1."""
    rng = np.random.default_rng(seed)
    truth = 2.0 * LINE[:, 0] + (np.arange(len(std)) == 0)[:, None]
    shape, n0 = (RUNS, *truth.shape), 10
    design = np.isin(np.arange(5), [1, 3])
    count = np.broadcast_to(np.where(design, n0, 0), shape)
    mean = np.where(design, truth + std * rng.standard_normal(shape) / np.sqrt(n0), 0.0)
    first = Tally(count, mean, std**2 * rng.chisquare(n0 - 1, shape) * design)
    more = second_stage(first, where, policy, delta=1.0, alpha=0.1) - count
    later = truth + std * rng.standard_normal(shape) / np.sqrt(np.maximum(more, 1))
    mean = (count * mean + more * later) / np.maximum(count + more, 1)
    final = Tally(count + more, mean, first.m2)
    belief = Linear().posterior(final, where, Linear().fit(final, where))
    correct: Array = np.mean(np.argmax(belief.mean, axis=-2) == 0, axis=0)
    return correct


@BOTH
@pytest.mark.parametrize("aim", ["expected", "worst"])
def test_the_procedures_reach_their_confidence_when_the_lead_is_just_delta(
    policy: TS | TSPlus, aim: str
) -> None:
    """False-alarm rate below 4e-5 each: four standard errors of at most sqrt(.9·.1/RUNS).

    A run's average over contexts varies no more than a single context does.
    """
    where = setting(LINE)
    if aim == "worst":
        where = replace(where, weights=worst_context(where))
    std = np.array([[3.0], [4.0], [5.0]])
    if isinstance(policy, TSPlus):
        std = std * [1.0, 0.7, 1.0, 1.5, 1.0]
    correct = where.weights @ two_stages(policy, where, std, 11)
    assert correct > 0.9 - 4 * np.sqrt(0.9 * 0.1 / RUNS)


def test_the_confidence_of_ts_is_sharp_with_two_alternatives() -> None:
    """With more it is not: h takes the comparisons with the best for independent, a lower bound (Slepian).

    Rounding batches up adds little. False-alarm rate below 7e-5: four standard errors on either side.
    """
    where = setting(LINE)
    correct = where.weights @ two_stages(TS(), where, np.array([[6.0], [9.0]]), 12)
    assert correct == pytest.approx(0.9, abs=4 * np.sqrt(0.9 * 0.1 / RUNS))
