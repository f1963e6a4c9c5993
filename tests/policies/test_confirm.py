from dataclasses import dataclass, field

import numpy as np
import pytest

from argbest import testing
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, CellBelief, anticipate
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.confirm import Confirm, leaders
from argbest.streams import Purpose, StepDraws


def belief_of(mean: Array, std: Array) -> CellBelief:
    mean, std = np.broadcast_arrays(np.asarray(mean, float), np.asarray(std, float))
    return CellBelief(mean.copy(), std**2, np.ones(mean.shape))


def ask(
    belief: Belief,
    count: IntArray,
    *,
    policy: Confirm = Confirm(),  # noqa: B008
    n: int = 1,
    step: int = 0,
    pending: IntArray | None = None,
    excluded: BoolArray | None = None,
) -> list[tuple[int, int]]:
    c = count.shape[-1]
    where = Setting(np.full(c, 1 / c), np.zeros((1, c, c)), np.ones(c, bool), excluded=excluded)
    tally = Tally(count, np.zeros(count.shape), np.zeros(count.shape))
    under_way = np.zeros_like(count) if pending is None else pending
    found = policy.propose(belief, tally, under_way, where, StepDraws(0, Purpose.POLICY, step), n)
    return list(zip(found.alternative.tolist(), found.context.tolist(), strict=True))


def literal_leaders(chance: Array, selected: int, level: float) -> set[int]:
    """Of one context, from the likeliest on."""
    found: set[int] = set()
    total = 0.0
    for k in sorted(range(len(chance)), key=lambda k: -chance[k]):
        if total < level or len(found) < 2:
            found.add(k)
            total += chance[k]
    return found | {selected}


def worth_sampling(belief: CellBelief, level: float) -> set[tuple[int, int]]:
    chance = belief.best_probability()
    selected = np.argmax(belief.mean, axis=0)
    sure = [float(chance[b, c]) for c, b in enumerate(selected)]
    contexts = [c for c, p in enumerate(sure) if p < level] or [
        c for c, p in enumerate(sure) if p == min(sure)
    ]
    return {(k, c) for c in contexts for k in literal_leaders(chance[:, c], int(selected[c]), level)}


def test_leaders_by_eye() -> None:
    chance = np.array([[0.50, 0.97, 0.30], [0.10, 0.02, 0.60], [0.40, 0.01, 0.10]])
    found = leaders(chance, np.array([0, 0, 2]), 0.85)
    assert found.T.tolist() == [
        [True, False, True],  # 0.5 + 0.4 reach it
        [True, True, False],  # one does, but there are two at least
        [True, True, True],  # 0.6 + 0.3 reach it, and the selected is always in
    ]


def test_it_takes_the_least_simulated_leader_of_the_undecided_contexts() -> None:
    rng, decided = np.random.default_rng(0), 0
    for step in range(150):
        shape = (int(rng.integers(2, 6)), int(rng.integers(1, 6)))
        belief = belief_of(rng.standard_normal(shape), rng.random(shape) * rng.choice([0.1, 0.5]))
        count, level = rng.integers(1, 50, shape), float(rng.choice([0.6, 0.9, 0.99]))
        marked = worth_sampling(belief, level)
        fewest = min(count[pair] for pair in marked)
        [pair] = ask(belief, count, policy=Confirm(level=level), step=step)
        assert pair in marked
        assert count[pair] == fewest
        decided += len({c for _, c in marked}) < shape[1]
    assert decided > 30


def test_if_all_is_decided_the_least_certain_context_is_confirmed() -> None:
    belief = belief_of(np.array([[3.0, 5.0, 9.0], [0.0, 0.0, 0.0]]), np.full((2, 3), 0.7))
    assert {c for _, c in ask(belief, np.array([[9, 1, 1], [9, 1, 1]]), n=20)} == {0}


def test_a_batch_evens_out_counts_and_asks_for_the_probabilities_once() -> None:
    @dataclass(frozen=True)
    class Counting(CellBelief):
        asked: list[int] = field(default_factory=list)

        def best_probability(self) -> Array:
            self.asked.append(1)
            return super().best_probability()

    plain = belief_of(np.array([[1.0, 5.0], [0.9, 0.0], [0.8, 0.0]]), np.full((3, 2), 0.3))
    belief = Counting(plain.mean, plain.var, plain.noise)
    count = np.array([[7, 1], [2, 1], [4, 1]])
    batch = ask(belief, count, n=8)
    assert len(belief.asked) == 1
    for k, c in batch:
        count[k, c] += 1
    assert count.tolist() == [[7, 1], [7, 1], [7, 1]]


def test_trials_under_way_count_and_make_contexts_surer() -> None:
    belief = belief_of(np.array([[1.0, 1.0], [0.0, 0.0]]), np.full((2, 2), 0.7))
    count, pending = np.array([[2, 5], [3, 5]]), np.array([[4, 0], [0, 0]])
    assert ask(belief, count, pending=pending) == [(1, 0)]
    many = np.array([[99, 0], [99, 0]])
    surer: Belief = belief
    for k in range(2):
        surer = anticipate(surer, Decision(np.array(k), np.array(0)), 99)
    assert surer.best_probability()[0, 0] > 0.95 > belief.best_probability()[0, 0]
    assert {c for _, c in ask(belief, count, pending=many, n=4)} == {1}


def test_leaders_set_aside_are_passed_over() -> None:
    belief = belief_of(np.array([[1.0, 1.0], [0.9, 0.9], [-9.0, -9.0]]), np.full((3, 2), 0.3))
    count = np.array([[9, 1], [9, 1], [0, 0]])
    gone = np.array([[0, 1], [0, 0], [0, 0]], bool)
    assert set(ask(belief, count, n=4, excluded=gone)) == {(1, 1)}
    gone = np.array([[0, 1], [0, 1], [0, 0]], bool)
    assert {c for _, c in ask(belief, count, n=4, excluded=gone)} == {0}  # there no leader is left in 1
    gone = np.array([[1, 1], [1, 1], [0, 0]], bool)
    assert {k for k, _ in ask(belief, count, n=4, excluded=gone)} == {2}  # nor anywhere


def test_ties_are_broken_evenly() -> None:
    belief, count = belief_of(np.zeros((2, 2)), np.ones((2, 2))), np.ones((2, 2), int)
    drawn = [ask(belief, count, step=step)[0] for step in range(400)]
    for pair in np.ndindex(2, 2):
        assert abs(drawn.count(pair) / 400 - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 400)  # false alarm 4e-6


def test_it_conforms() -> None:
    claims = testing.EVERY_INVARIANCE - {testing.PERMUTATION}  # ties of counts are broken at random
    testing.assert_valid_policy(Confirm(level=0.9), invariances=claims)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, np.nan])
def test_a_level_is_a_probability(level: float) -> None:
    with pytest.raises(InputError, match="level"):
        Confirm(level=level)
