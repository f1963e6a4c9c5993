"""Several outcomes of very large tables: the alternatives that may be chosen within limits are followed."""

import functools

import numpy as np
from additive_cases import crowd as study

from argbest.core.abilities import offers
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_conditioning import conditioned
from argbest.core.arrays import Array
from argbest.core.belief import Focused
from argbest.core.certificate import Certificate
from argbest.core.conditioning import dense
from argbest.core.decision import Decision
from argbest.core.focused_belief import FocusedBelief
from argbest.core.focused_outcomes import FocusedOutcomes, belief_about, not_drawn
from argbest.core.goals import LinearForm
from argbest.core.limits import NONE, BestWithinLimits, Standing
from argbest.core.outcomes import ONE, Basis, Outcomes
from argbest.core.question import Best
from argbest.core.questions.contexts import Contexts
from argbest.core.questions.one_for_all import BestOverall
from argbest.core.questions.within_limits import WithLimits
from argbest.core.seen_cells import Data
from argbest.core.tally import Tally

SHAPE = 1500, 2
BASIS = Basis.of([LinearForm(np.array([1.0, 0.0]), 0.0), LinearForm(np.array([0.0, 1.0]), -0.5)])
WEIGHTS = np.full(2, 0.5)


@functools.cache
def both() -> tuple[FocusedOutcomes, Outcomes]:
    """What is limited falls where rewards rise: followed in part, and as a whole."""
    _, tally, whole = study(*SHAPE, 80, spread=4.0)
    prior = whole.foundation.prior  # type: ignore[attr-defined]
    noise, rng = np.full(SHAPE, 0.5), np.random.default_rng(1)
    kept = np.where(tally.count > 0, -1.0 * tally.mean + 2.0 + 0.5 * rng.standard_normal(SHAPE), 0.0)
    data = [Data(each, noise, np.array(0.0)) for each in (tally, Tally(tally.count, kept, tally.m2))]
    parts, wholes = [conditioned(prior, each) for each in data], [dense(prior, each) for each in data]
    assert all(isinstance(each, FocusedBelief) for each in parts)
    assert all(isinstance(each, AdditiveBelief) for each in wholes)
    found = belief_about(BASIS, parts)
    assert isinstance(found, FocusedOutcomes)
    return found, Outcomes(tuple(wholes), BASIS)


def certified(belief: Outcomes) -> Certificate:
    normals = np.zeros((600, belief.layers, *SHAPE))
    return Certificate(
        belief, WEIGHTS, normals, question=BestWithinLimits(3.0), numbers=lambda: np.random.default_rng(2)
    )


def test_all_sums_follow_the_same_alternatives_those_that_may_be_the_best_within_limits() -> None:
    part, whole = both()
    for each in part.sums:
        assert isinstance(each, FocusedBelief)
        np.testing.assert_array_equal(each.foremost, part.foremost)
    assert np.all(np.isin(np.flatnonzero(part.drawn_cells.any(axis=1)), part.foremost))
    assert part.drawn_cells.sum() == 1000
    likely = certified(whole).options.right[:-1]  # type: ignore[union-attr]
    drawn = (likely * part.drawn_cells).sum(axis=0)
    assert np.all(drawn > 0.7 * likely.sum(axis=0))
    own = conditioned(part.sums[0].prior, Data(*told(part)))  # type: ignore[attr-defined]
    assert isinstance(own, FocusedBelief)
    assert np.all(likely[own.foremost].sum(axis=0) < 0.5 * drawn)  # by the goal alone others are foremost


def told(part: FocusedOutcomes) -> tuple[Tally, Array, Array]:
    first = part.sums[0]
    assert isinstance(first, FocusedBelief)
    assert first.seen is not None
    count, mean = np.zeros(SHAPE, np.int64), np.zeros(SHAPE)
    where = first.seen.alternative, first.seen.context
    count[where], mean[where] = 2, first.seen.value + first.seen.shift
    return Tally(count, mean, count.astype(float)), np.full(SHAPE, 0.5), np.array(0.0)


def test_what_is_said_of_choices_is_what_the_whole_table_says() -> None:
    part, whole = map(certified, both())
    assert offers(part.belief, Focused)
    choice = part.choice
    assert np.all(choice != NONE)
    assert part.belief.drawn_cells[choice, [0, 1]].all()  # type: ignore[attr-defined]
    assert part.options is not None
    assert whole.options is not None
    for c, k in enumerate(choice):
        for ours, theirs in (
            (part.options.feasible, whole.options.feasible),
            (part.options.loss, whole.options.loss),
        ):
            assert abs(ours[k, c] - theirs[k, c]) < 0.25  # 600 draws each: four standard errors
    np.testing.assert_allclose(part.eoc, whole.eoc, atol=0.25)


def test_an_alternative_that_is_only_summarised_is_never_the_safe_choice() -> None:
    loose = Basis.of([LinearForm(np.array([1.0, 0.0]), 0.0), LinearForm(np.array([0.0, 1.0]), 1.0)])
    part = belief_about(loose, both()[0].sums)
    assert isinstance(part, FocusedOutcomes)
    out = not_drawn(part)
    assert out is not None
    draws = part.draw(np.random.default_rng(2).standard_normal((200, part.layers, *SHAPE)))
    sure = out & np.all(draws[:, 1] >= 0, axis=0)
    assert sure.any()  # left at their means some keep the limit in every draw
    asked = WithLimits(BestOverall(Contexts(WEIGHTS)), BestWithinLimits(50.0)).at(part)
    assert not out[int(asked.tables(draws).mean(axis=0).mean(axis=-1).argmax())].any()
    careful = Certificate(
        part, WEIGHTS, np.random.default_rng(3).standard_normal((200, part.layers, *SHAPE)),
        question=BestWithinLimits(50.0),
    )  # fmt: skip
    assert not out[careful.choice, [0, 1]].any()
    assert careful.options is not None
    assert np.all(careful.options.feasible[:-1][out] < 1.0)


def test_updates_keep_what_is_followed_and_another_goal_follows_its_own() -> None:
    part, whole = both()
    inside, outside = int(part.foremost[3]), int(np.setdiff1d(np.arange(SHAPE[0]), part.foremost)[0])
    for k in (inside, outside):
        at, value = Decision(np.array(k), np.array(1)), np.array([0.7, 0.2])
        part, whole = part.update(at, value, 2), whole.update(at, value, 2)  # type: ignore[assignment]
    np.testing.assert_array_equal(part.foremost, np.union1d(both()[0].foremost, [outside]))
    front = part.foremost
    np.testing.assert_allclose(part.mean[front], whole.mean[front], atol=1e-8)
    np.testing.assert_allclose(part.slacks[0].var[front], whole.slacks[0].var[front], atol=1e-8)
    inner = part.inner
    np.testing.assert_allclose(inner.slacks[0].mean, whole.slacks[0].mean[front], atol=1e-8)
    of_some = BestWithinLimits().of_some(part)
    ours, theirs = Standing.of(inner, of_some.price), Standing.of(part)
    np.testing.assert_allclose(ours.price, theirs.price)
    alone = belief_about(ONE, part.sums[:1])
    assert isinstance(alone, FocusedBelief)
    assert alone.follows_its_own
    assert set(Best().choice(alone).tolist()) <= set(alone.foremost.tolist())
