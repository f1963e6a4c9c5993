"""Noise within pairs of rewards that are not normal: ties, skewness, rare events, and all kinds together."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import t

from argbest.core import noise
from argbest.core.arrays import Array, BoolArray
from argbest.core.noise import PairNoise, enough_within, pair_noise, plausible_pair_noise, relative_noise
from argbest.core.replications import Replications
from argbest.core.shrinkage import Agreement
from argbest.core.tally import Tally


def told(values: Array, *, kept: BoolArray | None = None) -> Tally:
    """Return the tally of values [alternative, context, i], NaN where there are fewer, with all of them.

    Only those of pairs ``kept`` are known one by one.
    """
    there = ~np.isnan(values)
    count = there.sum(axis=-1)
    mean = np.where(there, values, 0.0).sum(axis=-1) / np.maximum(count, 1)
    m2 = np.where(there, (values - mean[..., None]) ** 2, 0.0).sum(axis=-1)
    shown = there if kept is None else there & kept[..., None]
    k, c, i = np.nonzero(shown)
    return Tally(count, mean, m2, replications=Replications(k, c, i, values[shown]))


def side_by_side(tallies: list[Tally]) -> Tally:
    """Return studies of one shape on a first axis; those with fewer single values are filled up."""
    singles = [each.single for each in tallies]
    assert all(each is not None for each in singles)
    longest = max(len(each.value) for each in singles if each is not None)
    padded = [
        [np.append(part, np.full(longest - len(part), -1)) for part in each.parts]
        for each in singles
        if each is not None
    ]
    single = Replications(*(np.stack(parts) for parts in zip(*padded, strict=True)))
    single = replace(single, number=np.maximum(single.number, 0))
    tables = (np.stack([getattr(each, name) for each in tallies]) for name in ("count", "mean", "m2"))
    return Tally(*tables, replications=single)


def ragged(rng: np.random.Generator, shape: tuple[int, int], most: int = 8) -> Array:
    """Normal values, 0 to ``most`` of every pair."""
    values = rng.normal(size=(*shape, most)) * np.exp(rng.normal(size=(*shape, 1)))
    values[np.arange(most) >= rng.integers(0, most + 1, shape)[..., None]] = np.nan
    return np.asarray(values)


def quiet(tally: Tally, tied: BoolArray) -> Array:
    return noise._quiet(tally, tied)


# Ties


def counts(count: list[list[int]]) -> Tally:
    table = np.array(count)
    return Tally(table, np.zeros(table.shape), np.zeros(table.shape))


def test_the_chance_that_a_value_differs_explains_the_number_of_tied_pairs() -> None:
    tally = counts([[5, 9, 2, 0], [14, 3, 1, 30]])
    tied = np.array([[True, False, True, False], [False, False, False, True]])
    several = np.array([5, 9, 2, 14, 3, 30])
    q = brentq(lambda q: float(np.sum((1.0 - q) ** (several - 1.0))) - 3.0, 0.0, 1.0, xtol=1e-14)
    expected = np.where(tied, np.minimum(1.0, 0.5 / (tally.count + 1) / q), 1.0)
    np.testing.assert_allclose(quiet(tally, tied), expected, rtol=1e-9)
    assert expected[1, 3] < expected[0, 0] < expected[0, 2]


def test_the_share_of_a_tied_pair_is_at_most_one_and_falls_with_its_values() -> None:
    for n_tied in (1, 3, 5):
        found = []
        for n in (2, 3, 5, 10, 50, 1000):
            tally, tied = counts([[n, 6, 6], [6, 6, 6]]), np.arange(6).reshape(2, 3) < n_tied
            found.append(quiet(tally, tied)[0, 0])
        assert max(found) <= 1.0
        assert np.all(np.diff(found) <= 0.0)
        assert 0.0 < found[-1] < 0.2 * found[0]


def test_where_all_pairs_of_two_values_tie_but_one_of_them_the_noise_is_the_usual() -> None:
    """19 of 20 tied: q = 1/20, and ½/3 is more than that."""
    tally, tied = counts([[2] * 10] * 2), np.arange(20).reshape(2, 10) > 0
    np.testing.assert_array_equal(quiet(tally, tied), np.ones((2, 10)))


def test_a_tied_pair_tells_the_others_nothing() -> None:
    """It counts as one that was not observed, but for its own share."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(4, 5, 6)) * np.exp(rng.normal(size=(4, 5, 1)))
    without = values.copy()
    values[2, 3], without[2, 3] = 7.0, np.nan
    tied, absent = pair_noise(told(values)), pair_noise(told(without))
    others = np.arange(20).reshape(4, 5) != 13
    np.testing.assert_allclose(tied.variance[others], absent.variance[others], rtol=1e-12)
    # One of twenty pairs of six is tied.
    q = 1.0 - (1 / 20) ** (1 / 5)
    assert tied.variance[2, 3] == pytest.approx(absent.variance[2, 3] * 0.5 / 7 / q, rel=1e-9)
    assert tied.unseen[2, 3] == 1.0
    assert np.all(tied.unseen[others] == 0.0)
    relative, fewer = (relative_noise(told(each))[others] for each in (values, without))
    np.testing.assert_allclose(relative / relative[0], fewer / fewer[0], rtol=1e-12)


def test_where_nothing_varies_nothing_is_tied() -> None:
    still = told(np.broadcast_to(np.arange(6.0).reshape(2, 3, 1), (2, 3, 20)).copy())
    assert not enough_within(still)
    found = pair_noise(still)
    np.testing.assert_array_equal(found.variance, np.ones((2, 3)))
    assert not found.known
    np.testing.assert_array_equal(found.unseen, np.zeros((2, 3)))


def test_values_that_differ_by_rounding_are_tied() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(3, 4, 5))
    values[0, 0] = 0.3
    rounded = values.copy()
    rounded[0, 0] += 1e-14 * rng.normal(size=5)
    exact, nearly = pair_noise(told(values)), pair_noise(told(rounded))
    np.testing.assert_allclose(nearly.variance, exact.variance, rtol=1e-9)


# Skewness


def by_loop(values: Array) -> float:
    """1 + 0.75 max(0, γ² − 2 chance) from one pair after the other."""
    thirds, sizes, squares, freedom, normal = [], [], 0.0, 0, 0.0
    for own in values.reshape(-1, values.shape[-1]):
        own = own[~np.isnan(own)]
        n = len(own)
        if n < 3:
            continue
        apart = own - own.mean()
        thirds.append(n * (n / ((n - 1) * (n - 2))) * np.sum(apart**3))  # n k₃
        sizes.append(n)
        squares += np.sum(apart**2)
        freedom += n - 1
        normal += 6 * n**2 * n / ((n - 1) * (n - 2))  # Var(n k₃) of standard normal values
    if not sizes:
        return 1.0
    unit = sum(sizes) * (squares / freedom) ** 1.5
    gamma = sum(thirds) / unit
    chance = max(sum(third**2 for third in thirds) / unit**2, normal / sum(sizes) ** 2)
    return float(1 + 0.75 * max(0.0, gamma**2 - 2 * chance))


def fewer(tally: Tally, usual: Array | None = None) -> Array:
    pooled = tally.m2.sum() / max(int(np.maximum(tally.count - 1, 0).sum()), 1)
    known = np.full(tally.shape, pooled if pooled > 0 else 1.0) if usual is None else usual
    alone = noise._Crowd(np.ones((*tally.shape[:-2], 1, tally.shape[-1])), np.zeros((1, 1)))
    none = np.zeros(tally.shape, bool)
    return np.asarray(noise._divisor(tally, noise._shape(tally), none, known, alone)[..., 0, 0])


def test_skewness_is_that_of_values_in_units_of_the_usual_noise() -> None:
    """Whatever the units of single contexts are, so that the noisiest does not stand for all."""
    rng = np.random.default_rng(12)
    values, unit = rng.exponential(size=(6, 5, 6)), 10.0 ** np.arange(5)[:, None]
    plain = float(fewer(told(values)))
    assert float(fewer(told(unit * values), unit.T**2 * np.ones((6, 1)))) == pytest.approx(plain, rel=1e-9)
    assert float(noise._scatter(told(unit * values)).skewed.item()) == pytest.approx(plain, rel=0.5)
    assert float(fewer(told(unit * values))) < 0.5 * plain  # by one unit for all it is a matter of chance


def test_skewness_divides_degrees_of_freedom_as_a_loop_over_pairs_says() -> None:
    rng, found = np.random.default_rng(3), []
    for shape in ((1, 1), (3, 4), (8, 6)):
        for most in (3, 7, 20):
            for law in (rng.normal, rng.exponential):
                values = law(size=(*shape, most))
                values[np.arange(most) >= rng.integers(0, most + 1, shape)[..., None]] = np.nan
                found.append(float(fewer(told(values))))
                assert found[-1] == pytest.approx(by_loop(values), rel=1e-9)
    assert min(found) == 1.0
    assert max(found) > 1.5


def test_pairs_known_by_summaries_tell_no_skewness() -> None:
    rng = np.random.default_rng(4)
    values, kept = rng.exponential(size=(6, 5, 8)), rng.random((6, 5)) < 0.6
    shown = values.copy()
    shown[~kept] = np.nan
    assert float(fewer(told(values, kept=kept))) == pytest.approx(by_loop(shown), rel=1e-9)
    assert float(fewer(told(values, kept=np.zeros((6, 5), bool)))) == 1.0
    assert float(fewer(replace(told(values), replications=None))) == 1.0


def test_normal_rewards_keep_nearly_all_degrees_of_freedom_however_their_noise_differs() -> None:
    rng, found = np.random.default_rng(5), []
    for _ in range(200):
        sd = np.exp(1.5 * rng.normal(size=(6, 8, 1)))
        found.append(float(fewer(told(sd * rng.normal(size=(6, 8, 5))))))
    assert np.mean(found) < 1.1
    assert np.mean(np.array(found) == 1.0) > 0.7


def test_exponential_rewards_keep_clearly_fewer() -> None:
    """κ/2 = 3 with ever more values; five of a pair show most of it in 48 pairs."""
    rng = np.random.default_rng(6)
    short = [float(fewer(told(rng.exponential(size=(6, 8, 5))))) for _ in range(100)]
    long = [float(fewer(told(rng.exponential(size=(6, 8, 200))))) for _ in range(20)]
    assert np.mean(short) > 2.0
    assert np.mean(np.array(short) > 1.2) > 0.9
    assert np.mean(long) == pytest.approx(4.0, rel=0.1)


def test_neither_shift_nor_unit_nor_sign_change_it() -> None:
    values = np.random.default_rng(7).exponential(size=(4, 5, 6))
    expected = float(fewer(told(values)))
    assert expected > 1.2
    for other in (values + 1e4, 1e-60 * values, 1e60 * values, -values):
        assert float(fewer(told(other))) == pytest.approx(expected, rel=1e-6)


# Rare events


def table_without(tally: Tally, pair: tuple[int, int], squares: float, degrees: float) -> tuple[Array, Array]:
    """Return squares and degrees of freedom [alternative, context] with those of one pair replaced."""
    within, freedom = tally.m2.copy(), np.maximum(tally.count - 1, 0).astype(float)
    within[pair], freedom[pair] = squares, degrees
    return within, freedom


def one_estimate(agreed: Agreement, squares: float, degrees: float) -> float:
    each = (agreed.prior.ravel() + squares / agreed.pooled.item()) / (agreed.firm.ravel() + degrees)
    return float(agreed.weight.ravel() @ each)


def slow_tail(values: Array) -> tuple[float, float, float]:
    """Leave the farthest value of every pair out, one pair after the other; scipy's t and sums anew."""
    tally, n_all = told(values), int((~np.isnan(values)).sum())
    found = noise._factors(tally.m2, np.maximum(tally.count - 1, 0).astype(float))
    squares, relatives = [], []
    for k, c in np.ndindex(tally.shape):
        own = values[k, c][~np.isnan(values[k, c])]
        n = len(own)
        if n < 3 or np.ptp(own) == 0:
            continue
        far = int(np.argmax(np.abs(own - own.mean())))
        rest = np.delete(own, far)
        apart, left = own[far] - rest.mean(), float(np.sum((rest - rest.mean()) ** 2))
        taken = apart**2 * (n - 1) / n  # variance of a new value about the mean of the others: n/(n − 1)
        constant = np.ptp(rest) == 0
        degrees = 0.0 if constant else n - 2.0
        in_pair = 2 * t.sf(np.sqrt(taken / (left / degrees)), degrees) if degrees > 1 else 1.0
        within, freedom = table_without(tally, (k, c), float(tally.m2[k, c] - taken), n - 2.0)
        row = one_estimate(
            found.alternatives, float((within[k] / found.by_context[0]).sum()), freedom[k].sum()
        )
        column = one_estimate(
            found.contexts, float((within[:, c] / found.by_alternative[:, 0]).sum()), freedom[:, c].sum()
        )
        base, firm = row * column, found.pairs.firm.ravel()
        prior = found.pairs.prior.ravel() * found.pairs.pooled.item()
        scale, weight = (prior + left / base) / (firm + degrees), found.pairs.weight.ravel()
        in_table = float(weight @ (2 * t.sf(np.sqrt(taken / base / scale), firm + degrees)))
        if min(in_pair, in_table) < 0.005 / n_all or constant:
            squares.append(apart**2)
            usual = left / degrees if in_pair < in_table else base * float(weight @ scale)
            relatives.append(apart**2 / usual)
    if not squares:
        return 0.0, 0.0, 0.0
    return min(0.5, len(squares) / n_all), float(np.mean(squares)), float(np.mean(relatives))


def tail(values: Array) -> "noise._Tail":
    return noise._scatter(told(values)).tail


@pytest.mark.parametrize("law", ["disasters", "normal", "exponential", "one event among equal values"])
def test_events_are_what_leaving_the_farthest_value_out_says(law: str) -> None:
    rng, rates = np.random.default_rng(8), []
    for _ in range(6):
        values = ragged(rng, (4, 5)) if law != "exponential" else rng.exponential(size=(4, 5, 8)) ** 2
        if law == "disasters":
            values[rng.random(values.shape) < 0.04] += 100.0
        if law == "one event among equal values":
            values[0, 1, :6] = [2.0, 2.0, 2.0, 2.0, 2.0, 9.0]
        found, expected = tail(values), slow_tail(values)
        for part, number in zip(found, expected, strict=True):
            assert part.item() == pytest.approx(number, rel=1e-6)
        rates.append(expected[0])
    assert (max(rates) > 0.0) == (law != "normal")


def test_one_disaster_in_a_table_of_quiet_pairs_is_an_event() -> None:
    rng = np.random.default_rng(9)
    values = 5.0 + 0.1 * rng.normal(size=(4, 6, 5))
    assert tail(values).rate.item() == 0.0
    values[1, 2, 3] = -40.0
    found = tail(values)
    assert found.rate.item() == pytest.approx(1 / 120)
    assert found.square.item() == pytest.approx(45.0**2, rel=0.01)
    assert found.relative.item() > 1e4
    learned, others = pair_noise(told(values)), np.ix_([0, 2, 3], [0, 1, 3, 4, 5])
    # After five quiet values the rate is ½/(5 + 60) elsewhere: most of the variance there is unseen.
    assert np.median(learned.variance[others]) == pytest.approx(45.0**2 / 130, rel=0.01)
    assert learned.variance[others].max() < 1.01 * 45.0**2 / 130
    assert learned.unseen[others].min() > 0.9


def test_normal_rewards_hardly_ever_show_an_event() -> None:
    rng, runs = np.random.default_rng(10), 400
    events = 0
    for _ in range(runs):
        sd = np.exp(rng.normal(size=(5, 6, 1)))
        events += tail(sd * rng.normal(size=(5, 6, 6))).rate.item() > 0
    assert events / runs <= 0.01 + 2 * np.sqrt(0.01 * 0.99 / runs)


@pytest.mark.parametrize(("rate", "size"), [(0.02, 30.0), (0.005, 100.0), (0.1, 8.0)])
def test_events_divide_degrees_of_freedom_as_sample_variances_scatter(rate: float, size: float) -> None:
    """Var(s²) = 2σ⁴/ν tells how many degrees of freedom ν a variance of ten values is really worth."""
    rng, n = np.random.default_rng(6), 10
    values = rng.normal(size=(200_000, n)) + size * (rng.random((200_000, n)) < rate)
    variances = values.var(axis=-1, ddof=1)
    worth = 2.0 * variances.mean() ** 2 / variances.var()
    found = noise._Tail(np.full((1, 1), rate), np.full((1, 1), size**2), np.full((1, 1), size**2))
    np.testing.assert_allclose((n - 1) / found.divisor.item(), worth, rtol=0.15)


def test_whether_a_pair_has_shown_a_disaster_hardly_changes_its_weight() -> None:
    """One in fifty replications of every pair loses 50: those without a loss were lucky, not precise."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lost = rng.random((8, 6, 10)) < 0.02
        found = pair_noise(told(rng.normal(size=lost.shape) - 50.0 * lost)).variance
        shown = lost.any(axis=-1)
        if shown.any():
            ratios.append(np.median(found[shown]) / np.median(found[~shown]))
    assert np.median(ratios) < 2.0
    assert max(ratios) < 5.0


def test_what_is_unseen_falls_with_replications_and_is_never_negative() -> None:
    some = noise._Tail(*(np.full((1, 1), each) for each in (0.02, 100.0, 400.0)))
    count, usual = np.array([[0, 1, 5, 20, 100, 10_000]]), np.ones((1, 6))
    found = some.unseen(count, usual)[0]
    by_hand = [max(0.5 / (n + 25) * 100.0 - 1.0, 0.0) for n in count[0].tolist()]
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)
    assert np.all(np.diff(found) <= 0)
    assert found[0] == pytest.approx(1.0)
    assert found[-1] == 0.0
    quieter = some.unseen(count, 0.01 * usual)[0]  # events no larger beside the usual noise
    np.testing.assert_allclose(quieter[0], 0.02 * 4.0 - 0.01)
    none = noise._Tail(*(np.zeros((1, 1)),) * 3)
    np.testing.assert_array_equal(none.unseen(count, usual), np.zeros((1, 6)))


# All kinds together


def kinds(rng: np.random.Generator) -> list[Tally]:
    """A rate, rewards told by many values, skewed ones, ties and a disaster, and few values; of one shape."""
    shape = (4, 5)
    rate = (rng.random((*shape, 6)) < 0.7).astype(float)
    enough = rng.normal(size=(*shape, 5)) * np.exp(rng.normal(size=(*shape, 1)))
    skewed = rng.exponential(size=(*shape, 8)) ** 1.5
    disaster = 0.1 * rng.normal(size=(*shape, 4))
    disaster[0, 0], disaster[2, 2, 1] = 3.0, 50.0
    few = rng.normal(size=(*shape, 2))
    few[rng.random(shape) < 0.5, 1] = np.nan
    return [told(each) for each in (rate, enough, skewed, disaster, few, -rate)]


def test_studies_side_by_side_of_different_kinds_have_the_noise_of_single_ones() -> None:
    each = kinds(np.random.default_rng(11))
    squared_misses = np.random.default_rng(12).random((len(each), 4, 5))
    whole = pair_noise(side_by_side(each), squared_misses=squared_misses)
    single = [pair_noise(tally, squared_misses=squared_misses[i]) for i, tally in enumerate(each)]
    assert [bool(one.known) for one in single] == [True, True, True, True, False, True]
    assert single[2].divisor > 1.2
    assert single[3].unseen.max() > 0.5
    for name in PairNoise._fields:
        expected = np.stack([getattr(one, name) for one in single])
        np.testing.assert_allclose(getattr(whole, name), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", range(6))
def test_noise_moves_with_alternatives_and_contexts(kind: int) -> None:
    rng = np.random.default_rng(13)
    tally = kinds(rng)[kind]
    rows, columns = rng.permutation(4), rng.permutation(5)
    there, single = np.ix_(rows, columns), tally.single
    assert single is not None
    moved = replace(single, alternative=np.argsort(rows)[single.alternative])
    moved = replace(moved, context=np.argsort(columns)[single.context])
    mixed = Tally(tally.count[there], tally.mean[there], tally.m2[there], replications=moved)
    ours, theirs = pair_noise(tally), pair_noise(mixed)
    np.testing.assert_allclose(theirs.variance, ours.variance[there], rtol=1e-9)
    np.testing.assert_allclose(theirs.unseen, ours.unseen[there], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(theirs.divisor, ours.divisor, rtol=1e-9)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_noise_whose_level_is_known_follows_the_unit(kind: int) -> None:
    tally = kinds(np.random.default_rng(14))[kind]
    single = tally.single
    assert single is not None
    scaled = replace(single, value=1e3 * single.value)
    larger = Tally(tally.count, 1e3 * tally.mean, 1e6 * tally.m2, replications=scaled)
    ours, theirs = pair_noise(tally), pair_noise(larger)
    np.testing.assert_allclose(theirs.variance, 1e6 * ours.variance, rtol=1e-9)
    np.testing.assert_allclose(theirs.unseen, ours.unseen, rtol=1e-9, atol=1e-12)


def test_the_level_is_that_of_the_scatter_within_pairs() -> None:
    """Squares over the estimates add up to their degrees of freedom, ties left out."""
    rng = np.random.default_rng(15)
    values = rng.normal(size=(5, 6, 4)) * np.exp(rng.normal(size=(5, 6, 1)))
    values[3, 3] = 1.0
    tally = told(values)
    found = pair_noise(tally)
    varying = tally.m2 > 0
    assert not found.unseen[varying].any()
    assert (tally.m2 / found.variance)[varying].sum() == pytest.approx((tally.count - 1)[varying].sum())


def test_thirty_degrees_of_freedom_within_pairs_are_enough() -> None:
    values = np.random.default_rng(16).normal(size=(3, 5, 3))
    assert enough_within(told(values))
    values[0, 0, 0] = np.nan
    assert not enough_within(told(values))


def test_a_large_table_of_which_little_was_observed_has_the_noise_of_a_small_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(17)
    values = np.full((40, 3, 8), np.nan)
    seen = rng.permutation(40)[:9]
    values[seen] = rng.exponential(size=(9, 3, 8)) ** 1.5
    whole = pair_noise(told(values))
    monkeypatch.setattr(noise, "_MANY_ALTERNATIVES", 10)
    short = pair_noise(told(values))
    np.testing.assert_allclose(short.divisor, whole.divisor, rtol=1e-12)
    assert whole.divisor > 1.1
    np.testing.assert_allclose(short.variance, whole.variance, rtol=1e-9)
    np.testing.assert_allclose(short.unseen, whole.unseen, rtol=1e-9, atol=1e-12)


# What else the noise may be


@pytest.mark.parametrize(("n", "typical", "most"), [(3, 0.15, 3.0), (6, 0.05, 2.0), (30, 0.01, 1.2)])
def test_the_harmonic_mean_of_plausible_tables_is_near_the_estimate(
    n: int, typical: float, most: float
) -> None:
    """Weighed by the squares it is that of the estimates: both fit the scatter of all pairs."""
    rng = np.random.default_rng(18)
    tally = told(np.exp(0.7 * rng.normal(size=(6, 7, 1))) * rng.normal(size=(6, 7, n)))
    tables = plausible_pair_noise(tally, 2000, np.random.default_rng(19))
    ratio = pair_noise(tally).variance * (1.0 / tables).mean(axis=0)
    assert (tally.m2 / tables).sum(axis=(1, 2)).mean() == pytest.approx(42 * (n - 1), rel=0.005)
    assert np.median(ratio) == pytest.approx(1.0, abs=typical)
    assert np.exp(np.abs(np.log(ratio)).max()) < most


def test_plausible_tables_cover_noise_of_their_own_model_level_included() -> None:
    """Firmness drawn from its grid, then rows, columns and pairs; 90 % intervals of 30 tables of 60 pairs."""
    rng, hits, levels = np.random.default_rng(20), [], []
    for run in range(30):
        rows, columns, pairs = (
            firm / rng.chisquare(firm, shape)
            for firm, shape in zip(2.0 ** rng.integers(0, 15, 3), ((10, 1), (1, 6), (10, 6)), strict=True)
        )
        truth = rows * columns * pairs
        tally = told(np.sqrt(truth)[..., None] * rng.normal(size=(10, 6, 3)))
        tables = plausible_pair_noise(tally, 200, np.random.default_rng(run))
        low, high = np.quantile(tables, [0.05, 0.95], axis=0)
        hits.append((low <= truth) & (truth <= high))
        levels.append(float((np.log(tables).mean(axis=(1, 2)) < np.log(truth).mean()).mean()))
    assert 0.85 < np.mean(hits) < 0.95
    assert 0.3 < np.mean(levels) < 0.7


def test_the_noise_of_a_tied_pair_is_drawn_about_its_share_and_never_above_the_usual() -> None:
    rng = np.random.default_rng(21)
    values = rng.normal(size=(5, 6, 8))
    values[0, 0] = 2.0
    tally = told(values)
    tables = plausible_pair_noise(tally, 4000, np.random.default_rng(22))
    estimate = pair_noise(tally).variance[0, 0]
    assert tables[:, 0, 0].mean() == pytest.approx(estimate, rel=0.25)
    assert np.median(tables[:, 0, 0] / np.median(tables[:, 1:, 1:], axis=(1, 2))) < 0.1
    assert np.log(tables[:, 0, 0]).std() > 2 * np.log(tables[:, 3, 3]).std()


# Luck that alternatives share


def alike(rng: np.random.Generator, rho: float, shape: tuple[int, int] = (8, 200), n: int = 3) -> Tally:
    """Replications of equal noise with the correlation ρ between alternatives, by their numbers."""
    shock, own = rng.normal(size=(1, shape[1], n)), rng.normal(size=(*shape, n))
    values = np.sqrt(rho) * shock + np.sqrt(1.0 - rho) * own
    k, c, i = np.indices(values.shape).reshape(3, -1)
    shared = np.ones(values.size, bool)
    return replace(told(values), replications=Replications(k, c, i, values.ravel(), shared))


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
def test_sums_of_squares_of_a_context_vary_as_those_of_fewer_alternatives(rho: float) -> None:
    """Var Σ z² = 2 f / crowd of f degrees of freedom, where independent ones would have 2 f."""
    tally = alike(np.random.default_rng(5), rho, shape=(8, 4000))
    crowd = float(noise._scatter(tally).crowd[0, 0])
    assert crowd == pytest.approx(1.0 + 7.0 * rho**2, rel=0.05)
    assert np.var(tally.m2.sum(axis=0)) == pytest.approx(2.0 * 16 * crowd, rel=0.1)


def test_alternatives_with_the_same_luck_do_not_make_a_context_look_quiet() -> None:
    """True noise is equal: with seeds of their own alternatives show that, with shared ones no less."""
    spread = []
    for rho in (0.0, 0.95):
        tables = [
            pair_noise(alike(np.random.default_rng(seed), rho, shape=(8, 6))).variance for seed in range(20)
        ]
        spread.append(np.mean([np.std(np.log(each)) for each in tables]))
    assert spread[1] < 3.0 * spread[0] + 0.1


def test_nothing_is_shared_by_replications_without_numbers() -> None:
    tally = alike(np.random.default_rng(6), 0.9, shape=(8, 6))
    np.testing.assert_array_equal(noise._scatter(tally.unshared).crowd, 1.0)
    assert noise._scatter(tally).crowd.min() > 3.0
