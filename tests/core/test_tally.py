import numpy as np
import pytest
from common_cases import numbered
from hypothesis import given
from hypothesis import strategies as st

from argbest.core import tally as tallies
from argbest.core.decision import Decision
from argbest.core.replications import ReplicationStore, WeighedColumn
from argbest.core.tally import Tally

SHAPE = (2, 3)
observation = st.tuples(st.integers(0, 1), st.integers(0, 2), st.floats(-1e3, 1e3))


def one_by_one(observations: list[tuple[int, int, float]]) -> Tally:
    tally = tallies.empty(SHAPE)
    for k, c, y in observations:
        tally = tallies.add(tally, Decision(np.array(k), np.array(c)), np.array(y))
    return tally


def at_once(observations: list[tuple[int, int, float]]) -> Tally:
    k, c, y = (np.array(v) for v in zip(*observations, strict=True))
    return tallies.from_observations((k, c), y, SHAPE)


def assert_same(a: Tally, b: Tally, scale: float = 1.0) -> None:
    np.testing.assert_array_equal(a.count, b.count)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(a.m2, b.m2, rtol=1e-9, atol=1e-9 * scale**2)


def test_three_values_by_hand() -> None:
    tally = one_by_one([(1, 2, 1.0), (1, 2, 2.0), (1, 2, 6.0), (0, 0, 5.0)])
    assert tally.count.tolist() == [[1, 0, 0], [0, 0, 3]]
    assert tally.mean[1, 2] == 3.0
    assert tally.m2[1, 2] == pytest.approx(14.0, rel=1e-15)
    assert tally.m2[0, 0] == 0.0


@given(st.lists(observation, min_size=1, max_size=40))
def test_adding_one_by_one_equals_building_at_once(observations: list[tuple[int, int, float]]) -> None:
    assert_same(one_by_one(observations), at_once(observations), 1e3)


@given(st.lists(observation, min_size=1, max_size=20), st.lists(observation, min_size=1, max_size=20))
def test_merging_equals_adding_everything(
    first: list[tuple[int, int, float]], second: list[tuple[int, int, float]]
) -> None:
    assert_same(tallies.merge(at_once(first), at_once(second)), at_once(first + second), 1e3)


def test_merging_with_nothing_changes_no_bit() -> None:
    tally = at_once([(0, 0, 0.1), (0, 0, 0.7), (1, 1, 1e9)])
    for merged in (tallies.merge(tally, tallies.empty(SHAPE)), tallies.merge(tallies.empty(SHAPE), tally)):
        np.testing.assert_array_equal(merged.mean, tally.mean)
        np.testing.assert_array_equal(merged.m2, tally.m2)


def test_large_values_that_lie_close_keep_their_spread() -> None:
    values = 1e9 + np.array([0.0, 1.0, 2.0])
    zeros = np.zeros(3, int)
    built = tallies.from_observations((zeros, zeros), values, SHAPE)
    added = one_by_one([(0, 0, v) for v in values])
    n, mean, m2 = tallies.summarise(values)
    assert (n, mean, m2) == (3, 1e9 + 1, 2.0)
    assert built.m2[0, 0] == pytest.approx(2.0, rel=1e-12)
    assert added.m2[0, 0] == pytest.approx(2.0, rel=1e-6)


def test_a_block_of_replicates_equals_its_members() -> None:
    values = np.array([0.3, -1.2, 4.5, 4.5])
    n, mean, m2 = tallies.summarise(values)
    where = Decision(np.array(1), np.array(0))
    start = at_once([(1, 0, 2.0), (0, 2, 1.0)])
    block = tallies.add(start, where, np.array(mean), n=n, m2=m2)
    single = start
    for v in values:
        single = tallies.add(single, where, np.array(v))
    assert_same(block, single)


def test_many_studies_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(0)
    many = tallies.empty((4, 5, *SHAPE))
    single = {index: tallies.empty(SHAPE) for index in np.ndindex(4, 5)}
    for _ in range(30):
        decision = Decision(rng.integers(0, 2, (4, 5)), rng.integers(0, 3, (4, 5)))
        value = rng.standard_normal((4, 5))
        many = tallies.add(many, decision, value)
        for i in single:
            here = Decision(decision.alternative[i], decision.context[i])
            single[i] = tallies.add(single[i], here, value[i])
    for i, tally in single.items():
        np.testing.assert_array_equal(many.count[i], tally.count)
        np.testing.assert_array_equal(many.mean[i], tally.mean)
        np.testing.assert_array_equal(many.m2[i], tally.m2)


def test_summaries_and_leading_axes_build_the_same_tally() -> None:
    values = [np.array([1.0, 4.0]), np.array([2.0]), np.array([7.0, 7.5, 9.0])]
    n, mean, m2 = (np.array(v) for v in zip(*map(tallies.summarise, values), strict=True))
    built = tallies.from_observations((np.array([0, 1, 0]), np.array([2, 2, 2])), mean, SHAPE, n=n, m2=m2)
    plain = at_once([(0, 2, y) for y in (1.0, 4.0, 7.0, 7.5, 9.0)] + [(1, 2, 2.0)])
    assert_same(built, plain)
    run = np.array([0, 0, 1])
    many = tallies.from_observations(
        (run, np.array([0, 1, 0]), np.array([2, 2, 2])), mean, (2, *SHAPE), n=n, m2=m2
    )
    np.testing.assert_array_equal(many.count.sum(axis=0), built.count)
    assert many.mean[1, 0, 2] == mean[2]


def test_the_opposite_sign_keeps_the_spread() -> None:
    tally = at_once([(0, 0, 1.0), (0, 0, 3.0)])
    flipped = tallies.negated(tally)
    assert flipped.mean[0, 0] == -2.0
    assert flipped.m2[0, 0] == 2.0


def test_putting_into_a_tally_equals_adding_to_it() -> None:
    rng = np.random.default_rng(7)
    live, value = tallies.empty((2, 3)), tallies.empty((2, 3))
    for _ in range(20):
        pair, n = (int(rng.integers(2)), int(rng.integers(3))), int(rng.integers(1, 4))
        mean, m2 = rng.normal(), 0.3
        where = Decision(np.array(pair[0]), np.array(pair[1]))
        value = tallies.add(value, where, np.array(mean), n=n, m2=m2)
        tallies.put(live, pair, mean, n=n, m2=m2)
    for name in ("count", "mean", "m2"):
        np.testing.assert_array_equal(getattr(live, name), getattr(value, name))


# Single values


def rows(tally: Tally) -> list[tuple[int, int, float]]:
    """The single values of one study that are kept, in their order."""
    assert tally.single is not None
    k, c, _, y = (part.tolist() for part in tally.single.parts)
    return [row for row in zip(k, c, y, strict=True) if row[0] >= 0]


def at(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


Row = tuple[int, int, float]


@given(
    st.lists(observation, max_size=40), st.lists(st.sampled_from(["own", "shared", "summary"]), min_size=40)
)
def test_a_store_shows_single_values_in_their_order_and_which_of_them_are_shared(
    observations: list[Row], kinds: list[str]
) -> None:
    store, earlier = ReplicationStore(common=True), []
    for i, (k, c, y) in enumerate(observations):
        store.append(k, c, -1 if kinds[i] == "summary" else i, y, shared=kinds[i] == "shared")
        earlier.append(store.so_far())
    for n, shown in enumerate(earlier, start=1):  # what was shown before stays what it was
        tally = Tally(*np.zeros((3, *SHAPE)), replications=shown)
        told = list(zip(observations[:n], kinds, strict=False))
        assert rows(tally) == [row for row, kind in told if kind != "summary"]
        assert tally.common is not None
        k, c, _, y = (part.tolist() for part in tally.common.parts)
        assert list(zip(k, c, y, strict=True)) == [row for row, kind in told if kind == "shared"]
        assert tally.unshared.common is None
        assert rows(tally.unshared) == rows(tally)


def test_rows_added_at_once_are_those_added_one_by_one() -> None:
    rng, lead = np.random.default_rng(3), (2,)
    one_by_one, at_once = (ReplicationStore(lead, common=True, n_responses=3) for _ in range(2))
    k, c, number = rng.integers(0, 3, (3, *lead, 40))
    values, shared = rng.normal(size=(3, *lead, 40)), rng.random((*lead, 40)) < 0.5
    for i in range(40):
        one_by_one.append(k[:, i], c[:, i], number[:, i], values[..., i], shared=shared[:, i])
    for some in (slice(0, 7), slice(7, 7), slice(7, 40)):
        at_once.extend(k[:, some], c[:, some], number[:, some], values[..., some], shared[:, some])
    np.testing.assert_array_equal(at_once.values, one_by_one.values)
    for ours, theirs in zip(at_once.so_far().parts, one_by_one.so_far().parts, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(at_once.so_far().shared, shared)


def test_a_weighed_column_is_the_sum_whenever_somebody_looks() -> None:
    rng = np.random.default_rng(4)
    store = ReplicationStore(n_responses=2)
    column, opposite = WeighedColumn(store, (1.0, -0.5)), WeighedColumn(ReplicationStore(), (-1.0,))
    assert len(opposite.values) == len(column.values) == 0
    told: list[float] = []
    for i in range(60):
        cost, wait = rng.normal(size=2).tolist()
        store.append(0, 0, i, np.array([cost, wait]), shared=False)
        told.append(cost - 0.5 * wait)
        if i % 7 in (0, 1, 5):
            np.testing.assert_allclose(column.values, told, rtol=1e-14)
    first = column.values
    store.append(0, 0, 60, np.array([9.0, 0.0]), shared=False)
    assert column.values[-1] == 9.0
    np.testing.assert_allclose(first, told, rtol=1e-14)


def test_what_is_told_by_its_mean_adds_no_single_value() -> None:
    tally = numbered(tallies.empty(SHAPE), at(0, 1), np.array(2.0), 0)
    tally = tallies.add(tally, at(0, 1), np.array(5.0), n=4, m2=1.0)
    assert rows(tally) == [(0, 1, 2.0)]
    assert tally.count[0, 1] == 5


def test_single_values_of_studies_side_by_side() -> None:
    many, decisions = tallies.empty((3, *SHAPE)), np.random.default_rng(1)
    expected: list[list[tuple[int, int, float]]] = [[], [], []]
    for _ in range(40):
        k, c, y = decisions.integers(0, 2, 3), decisions.integers(0, 3, 3), decisions.normal(size=3)
        many = numbered(many, Decision(k, c), y, np.zeros(3, int))
        for i, row in enumerate(zip(k.tolist(), c.tolist(), y.tolist(), strict=True)):
            expected[i].append(row)
    for i in range(3):
        assert rows(many[i]) == expected[i]
    some = many[np.array([False, True, True])]
    assert [rows(some[i]) for i in range(2)] == expected[1:]
    assert many.statistics_alone.single is None
    assert many.statistics_alone[:, 0].shape == (3, 3)


def test_the_opposite_sign_turns_single_values_too() -> None:
    tally = tallies.empty(SHAPE, common=True)
    for number, y in enumerate((1.5, -2.0)):
        tally = numbered(tally, at(1, 2), np.array(y), number)
    turned = tallies.negated(tally)
    assert rows(turned) == [(1, 2, -1.5), (1, 2, 2.0)]
    assert turned.common is not None
    assert turned.common.value.tolist() == [-1.5, 2.0]
    assert rows(tally) == [(1, 2, 1.5), (1, 2, -2.0)]
    assert tallies.negated(at_once([(0, 0, 1.0)])).single is None


def test_a_copy_and_its_original_grow_apart() -> None:
    tally = tallies.empty(SHAPE)
    for i in range(5):
        tally = numbered(tally, at(0, 0), np.array(float(i)), i)
    copied = tally.copy()
    tallies.put(copied, (0, 0), 9.0)
    one, other = (numbered(each, at(1, 2), np.array(y), 0) for each, y in ((tally, 7.0), (copied, 8.0)))
    assert rows(tally) == rows(copied) == [(0, 0, float(i)) for i in range(5)]
    assert rows(one) == [*rows(tally), (1, 2, 7.0)]
    assert rows(other) == [*rows(tally), (1, 2, 8.0)]
    assert tally.count[0, 0] == 5
    assert copied.count[0, 0] == 6


def test_single_values_are_not_known_where_a_tally_was_built_or_merged() -> None:
    built = at_once([(0, 0, 1.0), (0, 1, 2.0)])
    assert built.single is None
    assert tallies.add(built, at(0, 0), np.array(3.0)).single is None
