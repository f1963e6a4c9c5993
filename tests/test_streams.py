"""Streams: known answers, addresses that never collide, and numbers that look random."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from argbest import streams
from argbest.streams import (
    Purpose,
    StepDraws,
    cell_seed,
    generator,
    philox,
    replication_seed,
    roots,
    standard_normal,
)

ONES = 0xFFFFFFFF
ROOTS = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_known_answers_of_random123_for_integers_and_for_arrays(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert tuple(philox(counter, key)) == expected
    arrays = philox([np.full((2, 3), word) for word in counter], [np.uint32(word) for word in key])
    assert arrays.shape == (2, 3, 4)
    assert arrays.dtype == np.uint32
    np.testing.assert_array_equal(arrays, np.broadcast_to(expected, (2, 3, 4)))


@pytest.mark.parametrize("word", [-1, 2**32, 1.5, np.array([0, -1]), np.array([0.5])])
def test_a_word_outside_32_bits_is_refused(word: int) -> None:
    with pytest.raises(ValueError, match="in the address of a random number"):
        philox((word, 0, 0, 0), (0, 0))


@given(ROOTS, st.integers(0, 2**32 - 1), st.integers(0, 5))
def test_many_roots_at_once_see_what_each_sees_alone(root: int, step: int, lane: int) -> None:
    many = np.array([[0, 1, 2], [7, 2**63, root]], np.uint64)
    together = StepDraws(many, Purpose.POLICY, step).uniform(lane)
    alone = [[float(StepDraws(int(r), Purpose.POLICY, step).uniform(lane)) for r in row] for row in many]
    np.testing.assert_array_equal(together, alone)
    assert ((together >= 0) & (together < 1)).all()


def test_a_single_draw_is_the_53_leading_bits_of_its_block() -> None:
    draw = StepDraws(2**32 + 5, Purpose.DESIGN, step=2).uniform(lane=1)
    high, low = philox((1, 2, 0, Purpose.DESIGN), (5, 1))[:2]
    assert draw.shape == ()
    assert float(draw) * 2**53 == (int(high) >> 5) * 2**26 + (int(low) >> 6)


def test_every_part_of_the_address_changes_the_draw() -> None:
    draws = [
        float(StepDraws(root, purpose, step).uniform(lane))
        for root in (0, 1, 2**32, 2**63)
        for purpose in Purpose
        for step in (0, 1)
        for lane in (0, 1)
    ]
    assert len(set(draws)) == 4 * len(Purpose) * 4


def test_uniform_draws_are_uniform_over_every_part_of_the_address() -> None:
    # Kolmogorov-Smirnov, three tests at 1e-4 each: false-alarm rate 3e-4 had the seed not been fixed.
    samples = [
        StepDraws(roots(1, np.arange(20_000)), Purpose.POLICY).uniform(),
        np.array([float(StepDraws(1, Purpose.POLICY, step).uniform()) for step in range(5_000)]),
        np.array([float(StepDraws(1, Purpose.POLICY).uniform(lane)) for lane in range(5_000)]),
    ]
    for sample in samples:
        assert stats.kstest(sample, "uniform").pvalue > 1e-4


def test_no_two_trials_of_a_study_share_a_seed() -> None:
    cell, replication = np.meshgrid(np.arange(100), np.arange(10_000))
    seeds = cell_seed(12345, cell, replication, n_cells=100)
    assert seeds.shape == (10_000, 100)
    assert seeds.min() >= 0
    assert seeds.max() < 2**31
    assert np.unique(seeds).size == seeds.size


@given(ROOTS, st.lists(st.integers(0, 2**31 - 1), unique=True, min_size=2, max_size=50))
def test_seeds_are_a_bijection_of_31_bits_for_every_root(root: int, indices: list[int]) -> None:
    seeds = cell_seed(root, np.array(indices), 0, n_cells=2**31)
    assert len(set(seeds.tolist())) == len(indices)
    assert [int(cell_seed(root, 0, i, n_cells=1)) for i in indices] == seeds.tolist()


def test_seeds_wrap_around_after_2_to_the_31() -> None:
    assert cell_seed(0, 3, 2**31, n_cells=10) == cell_seed(0, 3, 0, n_cells=10)


def test_seeds_do_not_overflow_when_replications_are_counted_in_32_bits() -> None:
    count = np.array([2**30 + 7], dtype=np.int32)
    assert cell_seed(9, 1, count, n_cells=50) == cell_seed(9, 1, 2**30 + 7, n_cells=50)


def test_common_random_numbers_are_a_function_of_context_and_replication() -> None:
    alternative, context = np.meshgrid(np.arange(4), np.arange(5), indexing="ij")
    seeds = cell_seed(1, context, 2, n_cells=5) + 0 * alternative
    np.testing.assert_array_equal(seeds, np.broadcast_to(seeds[0], (4, 5)))
    assert np.unique(seeds).size == 5


@pytest.mark.parametrize("root", [0, 1, 2, 2**64 - 1])
def test_flipping_one_bit_of_the_index_flips_half_the_bits_of_the_seed(root: int) -> None:
    index = np.arange(4_000)
    seeds = cell_seed(root, 0, index, n_cells=1)
    for bit in range(31):
        changed = seeds ^ cell_seed(root, 0, index ^ (1 << bit), n_cells=1)
        flipped = (changed[:, None] >> np.arange(31) & 1).mean(axis=0)
        # Standard error 0.008; 0.05 is six of them over 31 x 31 pairs: false-alarm rate below 1e-5.
        assert abs(flipped - 0.5).max() < 0.05


def test_neighbouring_roots_give_unrelated_seeds() -> None:
    index = np.arange(20_000)
    a, b = (cell_seed(root, 0, index, n_cells=1) for root in (0, 1))
    # Correlation of independent uniforms has standard error 0.007; false-alarm rate 6e-5 at four of them.
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.028
    assert abs(np.corrcoef(a, np.roll(a, 1))[0, 1]) < 0.028


# Seeds by identity


def by_the_rule(root: int, who: int, context: int, replication: int) -> int:
    """The seed as the rule says it, word by word: the root's keys, their first masks changed by the pair."""
    root_words = root % 2**32, root // 2**32
    pair = philox((who, context, 0, Purpose.PAIR), root_words).tolist()
    x = replication % 2**31
    for i in range(6):
        mask, factor, _, _ = philox((i, 0, 0, Purpose.SEED), root_words).tolist()
        if i < 4:
            mask ^= pair[i]
        x = (x ^ mask % 2**31) * (factor % 2**31 | 1) % 2**31
        x ^= x >> 16
    return x


PLACE = st.integers(0, 2**20)


@given(ROOTS, PLACE, PLACE, PLACE)
def test_a_seed_by_identity_is_that_of_the_rule(root: int, k: int, c: int, r: int) -> None:
    assert replication_seed(root, c, r, alternative=k) == by_the_rule(root, k + 1, c, r)
    assert replication_seed(root, c, r) == by_the_rule(root, 0, c, r)


@given(st.lists(ROOTS, min_size=1, max_size=4), PLACE, PLACE)
def test_seeds_by_identity_broadcast(many: list[int], c: int, r: int) -> None:
    k, context = np.arange(3), c + np.arange(5)[:, None]
    found = replication_seed(np.array(many, np.uint64)[:, None, None], context, r, alternative=k)
    shared = replication_seed(np.array(many, np.uint64)[:, None], c + np.arange(5), r)
    for i, root in enumerate(many):
        for j in range(5):
            assert shared[i, j] == replication_seed(root, c + j, r)
            assert found[i, j].tolist() == [replication_seed(root, c + j, r, alternative=n) for n in range(3)]


@given(ROOTS, PLACE, PLACE, st.lists(st.integers(0, 2**31 - 1), unique=True, min_size=2, max_size=50))
def test_no_seed_of_a_pair_or_a_context_comes_twice(root: int, k: int, c: int, numbers: list[int]) -> None:
    for alternative in (None, k):
        seeds = replication_seed(root, c, np.array(numbers), alternative=alternative)
        assert len(set(seeds.tolist())) == len(numbers)
        assert 0 <= seeds.min() <= seeds.max() < 2**31


def test_seeds_of_pairs_meet_no_more_often_than_random_numbers() -> None:
    """Of n of 2^31 values n²/2^32 meet: 58 expected, and 100 or more are found in 1 of 10^6 cases."""
    k, c, r = np.indices((50, 100, 100)).reshape(3, -1)
    seeds = replication_seed(7, c, r, alternative=k)
    assert seeds.size - np.unique(seeds).size < 100
    assert not np.isin(replication_seed(7, c[:100], r[:100]), seeds[:10_000]).any()


@pytest.mark.parametrize("root", [0, 2**64 - 1])
def test_seeds_of_neighbouring_pairs_and_numbers_are_unrelated(root: int) -> None:
    number = np.arange(20_000)
    first = replication_seed(root, 0, number, alternative=0)
    others = [
        replication_seed(root, 0, number, alternative=1),
        replication_seed(root, 1, number, alternative=0),
        replication_seed(root, 0, number),
        replication_seed(root ^ 1, 0, number, alternative=0),
        replication_seed(root, 0, number + 1, alternative=0),
    ]
    for other in others:  # standard error 0.007: false-alarm rate 6e-5 each at four of them
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.028
    for bit in range(31):
        flipped = first ^ replication_seed(root, 0, number ^ (1 << bit), alternative=0)
        share = (flipped[:, None] >> np.arange(31) & 1).mean(axis=0)
        assert abs(share - 0.5).max() < 0.03  # standard error 0.0035


def test_seeds_by_identity_are_the_same_in_every_version() -> None:
    assert replication_seed(1, np.arange(3), 0).tolist() == [857458234, 1875783424, 907928626]
    assert replication_seed(1, 2, np.arange(3), alternative=5).tolist() == [94830414, 950314852, 621106200]


@pytest.mark.parametrize(("k", "c", "r"), [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (np.array([0, -1]), 0, 0)])
def test_a_seed_of_what_does_not_exist_is_refused(k: int, c: int, r: int) -> None:
    with pytest.raises(ValueError, match="all three count from 0"):
        replication_seed(0, c, r, alternative=k)


def test_both_rules_tell_shared_seeds_from_own_ones() -> None:
    numbers = np.arange(40)
    for name in (streams.IDENTITY, streams.POSITION):
        rule = streams.seed_rule(name, (3, 4))
        shared = np.stack([rule.shared(5, c, numbers) for c in range(4)])
        first = int(streams.first_own_number(np.full((3, 4), 40)))
        own = [rule.own(5, (k, c), numbers, first) for k in range(3) for c in range(4)]
        assert np.unique([*shared, *own]).size == 16 * 40


@given(st.lists(ROOTS, min_size=1, max_size=5), st.integers(0, 9), st.integers(0, 2**20))
def test_seeds_of_many_roots_are_those_of_each_root(many: list[int], cell: int, replication: int) -> None:
    together = cell_seed(np.array(many, np.uint64), cell, replication, n_cells=10)
    assert together.tolist() == [int(cell_seed(root, cell, replication, n_cells=10)) for root in many]


def test_roots_cells_and_replications_broadcast() -> None:
    many = np.array([3, 5, 2**62])
    table = cell_seed(many[:, None], np.arange(4), np.arange(4) * 7, n_cells=4)
    for row, root in zip(table, many.tolist(), strict=True):
        np.testing.assert_array_equal(row, cell_seed(root, np.arange(4), np.arange(4) * 7, n_cells=4))


def test_roots_remembered_by_content_are_told_apart_by_type_and_shape() -> None:
    wide = np.array([[1, 2], [3, 4]])
    for many in (wide, wide.ravel(), wide.T, wide.astype(np.uint64), wide.astype(np.int32)):
        alone = np.vectorize(lambda root: int(cell_seed(int(root), 1, 2, n_cells=5)))(many)
        np.testing.assert_array_equal(cell_seed(many, 1, 2, n_cells=5), alone)


@given(ROOTS)
def test_the_root_of_a_macroreplication_is_a_function_of_its_number_alone(seed: int) -> None:
    many = roots(seed, np.arange(100))
    assert many.dtype == np.int64
    assert many.min() >= 0
    assert np.unique(many).size == 100
    np.testing.assert_array_equal(roots(seed, np.array([99, 7])), many[[99, 7]])
    assert int(roots(seed, 7)) == many[7]


def test_roots_of_neighbouring_seeds_and_numbers_share_no_more_bits_than_chance() -> None:
    a, b = roots(0, np.arange(4_000)), roots(1, np.arange(4_000))
    for changed in (a ^ b, a[1:] ^ a[:-1]):
        flipped = (changed[:, None] >> np.arange(63) & 1).mean(axis=0)
        # Standard error 0.008; 0.05 is six of them over 2 x 63 bits: false-alarm rate below 1e-6.
        assert abs(flipped - 0.5).max() < 0.05


@pytest.mark.parametrize(("cell", "replication"), [(10, 0), (-1, 0), (0, -1)])
def test_a_cell_or_replication_out_of_range_is_refused(cell: int, replication: int) -> None:
    with pytest.raises(ValueError, match="cells run from 0 to n_cells - 1 = 9"):
        cell_seed(0, cell, replication, n_cells=10)


@pytest.mark.parametrize("root", [-1, 2**64, 0.5, "seed"])
def test_a_root_that_is_no_unsigned_64_bit_integer_is_refused(root: int) -> None:
    with pytest.raises(ValueError, match="a root or a seed is an integer from 0"):
        StepDraws(root, Purpose.POLICY).uniform()
    with pytest.raises(ValueError, match="a root or a seed is an integer from 0"):
        cell_seed(root, 0, 0, n_cells=1)
    with pytest.raises(ValueError, match="a root or a seed is an integer from 0"):
        generator(root, Purpose.DESIGN)


def test_normal_noise_is_standard_normal_over_the_seeds_of_a_study() -> None:
    # Kolmogorov-Smirnov at 1e-4 and moments at five standard errors: false-alarm rate about 1e-4.
    n = 100_000
    z = standard_normal(cell_seed(3, np.arange(n) % 50, np.arange(n) // 50, n_cells=50))
    assert stats.kstest(z, "norm").pvalue > 1e-4
    assert abs(z.mean()) < 5 / np.sqrt(n)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / n)


def test_normal_noise_of_plain_consecutive_seeds_is_uncorrelated() -> None:
    z = standard_normal(np.arange(50_000))
    # Standard error 0.0045; false-alarm rate 6e-5 at four of them.
    assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 0.018


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=20))
def test_normal_noise_is_the_same_for_one_seed_and_for_many(seeds: list[int]) -> None:
    alone = [float(standard_normal(seed)) for seed in seeds]
    np.testing.assert_allclose(standard_normal(np.array(seeds)), alone, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(
        standard_normal(np.array(seeds, dtype=np.int32)), alone, rtol=1e-13, atol=1e-15
    )


def test_a_generator_is_reproducible_and_differs_by_root_and_purpose() -> None:
    first = generator(2**64 - 1, Purpose.DESIGN).random(3)
    np.testing.assert_array_equal(first, generator(2**64 - 1, Purpose.DESIGN).random(3))
    assert not np.isin(first, generator(2**64 - 1, Purpose.CERTIFICATE).random(3)).any()
    assert not np.isin(first, generator(0, Purpose.DESIGN).random(3)).any()


def test_seeds_and_noise_stay_what_they_are_from_release_to_release() -> None:
    assert cell_seed(0, np.arange(3), 0, n_cells=3).tolist() == [2063467367, 1549956508, 2102807861]
    noise = [1.6322078000579063, -0.09651266063896555, -0.07063041443985266]
    np.testing.assert_allclose(standard_normal(np.arange(3)), noise, rtol=1e-12)
    assert float(StepDraws(0, Purpose.POLICY).uniform()) == 0.17893146779634694
    assert roots(0, np.arange(2)).tolist() == [6901303937799146896, 4646828409151800677]
