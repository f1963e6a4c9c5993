"""Pairs that are set aside: never asked for, and no sink for samples that cannot help."""

from dataclasses import replace

import numpy as np
import pytest
from by_tally import a_tally, pairs, variance

from argbest.core import false_selection
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import CellBelief, best
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR, DVRM
from argbest.policies.ikg import IKG, LEVI
from argbest.policies.ocba import COCBA, DSCO, GPCOCBA, OCBA, ocba_ratios
from argbest.policies.top_two import TopTwo
from argbest.policies.two_stage import TS, TSPlus, second_stage
from argbest.streams import Purpose, StepDraws


def setting(n_contexts: int, excluded: BoolArray | None = None, allowed: BoolArray | None = None) -> Setting:
    x = np.arange(float(n_contexts))
    return Setting(
        np.full(n_contexts, 1 / n_contexts),
        (x[:, None] - x)[None] ** 2,
        np.ones(n_contexts, bool) if allowed is None else allowed,
        excluded=excluded,
    )


def ask(
    policy: Policy,
    tally: Tally,
    where: Setting,
    *,
    belief: CellBelief | None = None,
    n: int = 1,
    pending: IntArray | None = None,
    step: int = 0,
) -> Decision:
    if belief is None:
        belief = CellBelief(-tally.mean, np.ones(tally.shape), np.ones(tally.shape))
    under_way = np.zeros_like(tally.count) if pending is None else pending
    draws = StepDraws(np.zeros(tally.shape[:-2], int), Purpose.POLICY, step)
    return policy.propose(belief, tally, under_way, where, draws, n)


def table(*rows: list[int]) -> BoolArray:
    return np.array(rows, bool)


def test_candidates_are_the_pairs_allowed_and_not_set_aside() -> None:
    allowed = np.array([[True, True, False], [False, True, True]])
    excluded = table([0, 1, 0], [1, 0, 0])
    found = setting(3, excluded, allowed).candidates((2, 2, 3))
    assert found.tolist() == [table([1, 0, 0], [0, 1, 0]).tolist(), table([0, 0, 1], [0, 1, 1]).tolist()]
    assert setting(3, None, allowed).candidates((2, 2, 3)).all(axis=-2).tolist() == allowed.tolist()
    with pytest.raises(InputError, match="no pair is left to simulate: all pairs of the allowed contexts"):
        setting(3, excluded | table([1, 0, 0], [0, 0, 0]), allowed & [True, False, True]).candidates(
            (2, 2, 3)
        )


def test_gp_c_ocba_samples_the_other_side_of_a_pair_that_is_set_aside() -> None:
    belief = CellBelief(np.array([[3.0, 1.0], [0.0, 0.0]]), np.ones((2, 2)), np.ones((2, 2)))

    def decided(count: list[list[int]], excluded: BoolArray) -> list[tuple[int, int]]:
        tally = Tally(np.array(count), belief.mean, np.zeros((2, 2)))
        return pairs(ask(GPCOCBA(), tally, setting(2, excluded), belief=belief))

    few_of_best, many_of_best = [[9, 1], [9, 3]], [[9, 3], [9, 1]]
    assert decided(few_of_best, table([0, 0], [0, 0])) == [(0, 1)]
    assert decided(few_of_best, table([0, 1], [0, 0])) == [(1, 1)]  # its best is gone: the challenger
    assert decided(many_of_best, table([0, 0], [0, 0])) == [(1, 1)]
    assert decided(many_of_best, table([0, 0], [0, 1])) == [(0, 1)]  # the challenger is gone: the best
    assert decided(few_of_best, table([0, 1], [0, 1])) == [(1, 0)]  # the closer context is closed


def literal_gp_c_ocba(mean: Array, var: Array, count: IntArray, closed: BoolArray) -> tuple[int, int]:
    """Algorithm 1 in loops, closed pairs known: the smallest ζ with an open side, then ψ1 against ψ2."""
    lowest, where = np.inf, (-1, -1)
    for k, c in np.ndindex(mean.shape):
        b = int(np.argmax(mean[:, c]))
        spread = (0.0 if closed[b, c] else var[b, c]) + (0.0 if closed[k, c] else var[k, c])
        if k != b and spread > 0 and (mean[b, c] - mean[k, c]) ** 2 / spread < lowest:
            lowest, where = (mean[b, c] - mean[k, c]) ** 2 / spread, (k, c)
    k, c = where
    b = int(np.argmax(mean[:, c]))
    others = [j for j in range(len(mean)) if j != b and not closed[j, c]]
    behind = count[b, c] / var[b, c] < sum(count[j, c] / var[j, c] for j in others)
    return (b, c) if not closed[b, c] and (behind or closed[k, c]) else (k, c)


def test_gp_c_ocba_takes_the_decisions_of_loops() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        shape = (int(rng.integers(2, 6)), int(rng.integers(1, 5)))
        mean, var, count = rng.standard_normal(shape), rng.random(shape) + 0.1, rng.integers(1, 9, shape)
        closed = rng.random(shape) < 0.4
        closed.flat[rng.integers(closed.size)] = False
        belief = CellBelief(mean, var, np.ones(shape))
        found = ask(GPCOCBA(), Tally(count, mean, var), setting(shape[1], closed), belief=belief)
        assert pairs(found) == [literal_gp_c_ocba(mean, var, count, closed)]


def test_the_variance_of_closed_pairs_is_left_out() -> None:
    belief = CellBelief(np.array([[1.0], [0.0], [0.5]]), np.array([[2.0], [3.0], [4.0]]), np.ones((3, 1)))
    selected = best(belief)
    for closed, expected in [
        (table([0], [0], [0]), [5.0, 6.0]),
        (table([1], [0], [0]), [3.0, 4.0]),
        (table([0], [1], [0]), [2.0, 6.0]),
        (table([1], [1], [0]), [0.0, 4.0]),
    ]:
        assert false_selection.open_var(belief, selected, closed)[1:, 0].tolist() == expected
    assert np.isinf(false_selection.zeta(belief, selected, table([1], [1], [0]))[1, 0])


@pytest.mark.parametrize(
    "policy", [GPCOCBA(), COCBA(), DSCO(), DVR(), DVRM(), TopTwo(), IKG(), LEVI()], ids=str
)
@pytest.mark.parametrize("gone", [(0, 0), (1, 0)])
def test_a_pair_set_aside_while_uncertain_does_not_draw_all_samples(
    policy: Policy, gone: tuple[int, int]
) -> None:
    """Two contexts alike but for the pair that is gone after two replications, close to its rival."""
    truth, noise = np.array([[1.0, 1.0], [0.8, 0.8], [0.0, 0.0]]), np.ones((3, 2))
    closed = np.zeros((3, 2), bool)
    closed[gone] = True
    count = np.full((3, 2), 2)
    for step in range(400):
        belief = CellBelief(truth, noise / count, noise)
        tally = Tally(count.copy(), truth, noise * (count - 1))
        [pair] = pairs(ask(policy, tally, setting(2, closed), belief=belief, step=step))
        count[pair] += 1
    assert count[gone] == 2
    assert count[:, 1].sum() > 200  # the whole context is at least as hard as the maimed one


@pytest.mark.parametrize("policy", [COCBA(), DSCO()], ids=str)
def test_an_alternative_never_seen_and_set_aside_everywhere_is_as_if_it_were_not_there(
    policy: Policy,
) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        rest = a_tally(rng, (3, 2))
        gone = int(rng.integers(4))
        kept = [k for k in range(4) if k != gone]
        tally = Tally(
            np.insert(rest.count, gone, 0, axis=0),
            np.insert(rest.mean, gone, 0.0, axis=0),
            np.insert(rest.m2, gone, 0.0, axis=0),
        )
        closed = np.broadcast_to((np.arange(4) == gone)[:, None], (4, 2))
        pending = rng.integers(0, 2, (4, 2))  # some of them may still be running
        found = ask(policy, tally, setting(2, closed), n=5, pending=pending)
        alone = ask(policy, rest, setting(2), n=5, pending=pending[kept])
        assert pairs(found) == [(kept[k], c) for k, c in pairs(alone)]


@pytest.mark.parametrize("policy", [COCBA(), DSCO(), GPCOCBA(), TopTwo(), IKG(), DVR()], ids=str)
def test_a_context_set_aside_is_one_that_is_not_allowed(policy: Policy) -> None:
    rng = np.random.default_rng(2)
    for step in range(20):
        tally = a_tally(rng, (3, 4))
        c = int(rng.integers(4))
        closed = np.broadcast_to(np.arange(4) == c, (3, 4))
        belief = CellBelief(tally.mean, variance(tally) / tally.count, variance(tally))
        found = ask(policy, tally, setting(4, closed), belief=belief, n=4, step=step)
        other = ask(policy, tally, setting(4, None, np.arange(4) != c), belief=belief, n=4, step=step)
        assert pairs(found) == pairs(other)


def test_dsco_values_are_those_of_loops() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        tally = a_tally(rng, (3, 2))
        closed = rng.random((3, 2)) < 0.3
        closed.flat[rng.integers(6)] = False
        var = np.where(closed, 0.0, variance(tally))
        value = {}
        for pair in map(tuple, np.argwhere(~closed).tolist()):
            number = tally.count.astype(float)
            number[pair] += 1
            least = np.inf
            for k, c in np.ndindex(3, 2):
                b = int(np.argmax(tally.mean[:, c]))
                spread = var[b, c] / number[b, c] + var[k, c] / number[k, c]
                if k != b and spread > 0 and not closed[:, c].all():
                    least = min(least, (tally.mean[b, c] - tally.mean[k, c]) ** 2 / spread)
            value[pair] = least
        [found] = pairs(ask(DSCO(), tally, setting(2, closed)))
        assert value[found] == pytest.approx(max(value.values()))


def test_ocba_shares_go_to_the_alternatives_left() -> None:
    mean, var = np.array([1.0, 0.5, 0.0, 0.9]), np.array([1.0, 2.0, 3.0, 0.5])
    d2 = (1.0 - mean) ** 2

    def shares(*left: int) -> list[float]:
        found = ocba_ratios(mean, var, candidates=np.isin(np.arange(4), left))
        assert found.sum() == pytest.approx(1.0)
        return list(map(float, found))

    by_gap = [2.0 / d2[1], 3.0 / d2[2]]
    assert shares(1, 2) == pytest.approx([0.0, by_gap[0] / sum(by_gap), by_gap[1] / sum(by_gap), 0.0])
    of_best = np.sqrt(1.0 * (by_gap[0] ** 2 / 2.0 + by_gap[1] ** 2 / 3.0))
    total = of_best + sum(by_gap)
    assert shares(0, 1, 2) == pytest.approx([of_best / total, by_gap[0] / total, by_gap[1] / total, 0.0])
    assert shares(0) == [1.0, 0.0, 0.0, 0.0]
    assert shares(3) == [0.0, 0.0, 0.0, 1.0]
    count = np.full((4, 1), 2)
    tally = Tally(count, mean[:, None], var[:, None] * (count - 1))
    batch = ask(OCBA(), tally, setting(1, table([0], [0], [0], [1])), n=600)
    spent = np.bincount(batch.alternative, minlength=4) + np.array([2, 2, 2, 0])
    np.testing.assert_allclose(spent / spent.sum(), shares(0, 1, 2), atol=3e-3)


@pytest.mark.parametrize("policy", [TS(), TSPlus()], ids=str)
def test_two_stages_divide_the_share_of_design_pairs_set_aside(policy: TS | TSPlus) -> None:
    tally = a_tally(np.random.default_rng(4), (3, 3))  # contexts 0, 1, 2 on a line: the ends are the design
    closed = table([1, 0, 0], [0, 0, 0], [0, 0, 0])
    whole, begun = policy.begin(setting(3), tally), policy.begin(setting(3, closed), tally)
    assert whole.shares is not None
    assert begun.shares is not None
    within = tally.m2[0, 2] / (tally.count[0, 2] - 1)
    s2 = policy.variances(setting(3), tally)
    s2[0] = [0.0, 0.0, within]
    np.testing.assert_allclose(begun.shares, s2 / s2.sum(), rtol=1e-12)
    late = ask(whole, tally, setting(3, closed), n=900)  # set aside after the shares were fixed
    count = tally.count.copy()
    np.add.at(count, (late.alternative, late.context), 1)
    left = np.where(closed, 0.0, whole.shares)
    design = ~closed & [True, False, True]
    expected = left / left.sum() * count[design].sum()
    assert np.all(np.abs(count - expected)[design] <= 1.0)
    corners = table([1, 0, 1], [1, 0, 1], [1, 0, 1])
    assert set(ask(policy, tally, setting(3, corners), n=4).context.tolist()) == {1}


def test_no_confidence_is_promised_without_a_design_pair() -> None:
    tally = replace_counts(a_tally(np.random.default_rng(5), (3, 3)), 5)
    assert second_stage(tally, setting(3), TS(), delta=1.0).shape == (3, 3)
    with pytest.raises(InputError, match=r"pair of the design has been set aside.*leave its alternative out"):
        second_stage(tally, setting(3, table([1, 0, 0], [0, 0, 0], [0, 0, 0])), TS(), delta=1.0)


def replace_counts(tally: Tally, n: int) -> Tally:
    return Tally(np.full(tally.shape, n), tally.mean, tally.m2)


def test_many_studies_at_once_equal_single_ones_with_pairs_set_aside() -> None:
    rng = np.random.default_rng(6)
    tally = a_tally(rng, (10, 3, 4))
    closed = rng.random((3, 4)) < 0.4
    where = replace(setting(4, closed), cost=np.exp(rng.standard_normal((3, 4))))
    belief = CellBelief(tally.mean, variance(tally) / tally.count, variance(tally))
    policies: list[Policy] = [
        GPCOCBA(),
        COCBA(),
        DSCO(),
        DVR(),
        DVRM(),
        TopTwo(),
        IKG(),
        LEVI(),
        TS(),
        TSPlus(),
    ]
    for policy in policies:
        many = ask(policy, tally, where, belief=belief, n=3)
        for i in range(10):
            own = CellBelief(belief.mean[i], belief.var[i], belief.noise[i])
            one = ask(policy, tally[i], where, belief=own, n=3)
            assert pairs(one) == pairs(Decision(many.alternative[i], many.context[i]))
