"""Rates: when rewards are zeros and ones, and the noise p(1 − p) of their mean."""

import common_cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_law

from argbest.core import binomial, noise
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.binomial import Expected
from argbest.core.decision import Decision
from argbest.core.tally import Tally

SHAPE = (2, 3)
Value = tuple[int, int, float]


def of(values: list[Value], *, minimise: bool = False) -> Tally:
    k, c, y = (np.array(part) for part in zip(*values, strict=True))
    built = tallies.from_observations((k, c), y.astype(float), SHAPE)
    return tallies.negated(built) if minimise else built


def truly(values: list[Value]) -> bool:
    """Whether there are zeros and ones alone, some of each."""
    return {y for *_, y in values} == {0.0, 1.0}


def pairs(value: st.SearchStrategy[float]) -> st.SearchStrategy[list[Value]]:
    return st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), value), min_size=1, max_size=40)


binary = pairs(st.sampled_from([0.0, 1.0]))


@given(binary, st.booleans())
def test_zeros_and_ones_are_a_rate_as_soon_as_both_were_seen(values: list[Value], minimise: bool) -> None:
    assert bool(binomial.is_rate(of(values, minimise=minimise))) == truly(values)


@given(pairs(st.sampled_from([0.0, 1.0, 0.5, 0.25, 1 / 3])))
def test_shares_between_zero_and_one_are_no_rate(values: list[Value]) -> None:
    """Nor are those that add up to whole numbers: their squares do not."""
    assert bool(binomial.is_rate(of(values))) == truly(values)


@given(
    binary,
    st.integers(0, 5),
    st.one_of(st.floats(-50, 50).filter(lambda y: abs(y) > 1e-3 and abs(y - 1) > 1e-3), st.integers(2, 9)),
)
def test_one_other_value_among_zeros_and_ones_ends_it(values: list[Value], cell: int, other: float) -> None:
    assert not binomial.is_rate(of([*values, (cell // 3, cell % 3, float(other))]))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(1, 40)), min_size=1, max_size=6))
def test_summaries_of_zeros_and_ones_are_a_rate_too(given: list[tuple[int, int, int]]) -> None:
    rng = np.random.default_rng(len(given))
    values, tally = [], tallies.empty(SHAPE)
    for k, c, n in given:
        own = (rng.random(n) < 0.5).astype(float)
        values += [(k, c, y) for y in own.tolist()]
        size, mean, m2 = tallies.summarise(own)
        where = Decision(np.array(k), np.array(c))
        tally = tallies.add(tally, where, np.array(mean), n=size, m2=m2)
    assert bool(binomial.is_rate(tally)) == truly(values)


def test_ones_and_minus_ones_together_are_no_rate() -> None:
    assert not binomial.is_rate(of([(0, 0, 1.0), (0, 1, -1.0), (1, 1, 0.0)]))


def test_counts_are_no_rate_although_their_sums_are_whole() -> None:
    counts = np.random.default_rng(1).poisson(0.3, (2, 3, 30)).astype(float)
    assert counts.max() > 1
    assert not binomial.is_rate(of([(k, c, float(counts[k, c, i])) for k, c, i in np.ndindex(2, 3, 30)]))


def test_a_million_zeros_and_ones_are_a_rate_still() -> None:
    rng, tally = np.random.default_rng(2), tallies.empty(SHAPE)
    for k, c in np.ndindex(SHAPE):
        for _ in range(10):
            n, mean, m2 = tallies.summarise((rng.random(20_000) < 0.37).astype(float))
            tallies.put(tally, (k, c), mean, n=n, m2=m2)
    assert binomial.is_rate(tally)


def test_studies_side_by_side_are_told_apart() -> None:
    single = [of([(0, 0, 1.0), (0, 0, 0.0)]), of([(0, 0, 1.0)]), of([(0, 0, 0.5)]), of([(1, 1, 0.0)])]
    whole = Tally(*(np.stack([getattr(each, name) for each in single]) for name in ("count", "mean", "m2")))
    assert binomial.is_rate(whole).tolist() == [True, False, False, False]


def believed(rng: np.random.Generator, sign: float) -> Expected:
    return Expected(sign * rng.uniform(-1, 2, SHAPE), np.exp(rng.normal(-6, 6, SHAPE)), rng.random(SHAPE))


@given(binary, st.booleans(), st.booleans(), st.integers(0, 100))
def test_noise_is_positive_and_at_most_a_quarter(
    values: list[Value], minimise: bool, with_belief: bool, seed: int
) -> None:
    tally = of(values, minimise=minimise)
    belief = believed(np.random.default_rng(seed), -1.0 if minimise else 1.0) if with_belief else None
    drawn = binomial.plausible(tally, belief, 5, np.random.default_rng(seed))
    for found in (binomial.noise(tally, belief), binomial.by_itself(tally), drawn):
        assert np.all(found > 0.0)
        assert np.all(found <= 0.25)


HAND = of([(0, 0, 1.0), (0, 0, 1.0), (0, 0, 1.0), (0, 1, 0.0), (1, 0, 1.0), (1, 0, 0.0), (1, 2, 0.0)])


def test_rates_without_a_belief_by_hand() -> None:
    """4 ones among 7: p = 4.5/8. Alternatives: (3 + p)/5 and (1 + p)/4; contexts: (4 + p)/6, p/2 and p/2."""
    p = 4.5 / 8
    rows, columns = np.array([(3 + p) / 5, (1 + p) / 4]), np.array([(4 + p) / 6, p / 2, p / 2])
    usual = np.clip(rows[:, None] + columns - p, p / 10, 1 - (1 - p) / 10)
    ones, n = np.array([[3.0, 0, 0], [1, 0, 0]]), np.array([[3, 1, 0], [2, 0, 1]])
    rate = (ones + usual) / (n + 1)
    np.testing.assert_allclose(binomial.noise(HAND, None), rate * (1 - rate), rtol=1e-12)
    np.testing.assert_allclose(binomial.noise(tallies.negated(HAND), None), rate * (1 - rate), rtol=1e-12)


def test_rates_of_a_belief_by_hand() -> None:
    """0.8 known as from 24 replications: (0.8 · 24 + ½)/25; what is beyond 1 counts as 1."""
    mean, var = np.full(SHAPE, 0.8), np.full(SHAPE, 0.01)
    mean[0, 0], mean[1, 1] = 1.3, -0.2
    var[1, 2] = 10.0  # worth less than the one replication of that pair
    belief = Expected(mean, var, np.full(SHAPE, 0.24))
    rate = np.full(SHAPE, (0.8 * 24 + 0.5) / 25)
    rate[0, 0], rate[1, 1], rate[1, 2] = 24.5 / 25, 0.5 / 25, (0.8 + 0.5) / 2
    np.testing.assert_allclose(binomial.noise(HAND, belief), rate * (1 - rate), rtol=1e-12)
    turned = belief._replace(mean=-mean)
    np.testing.assert_allclose(binomial.noise(tallies.negated(HAND), turned), rate * (1 - rate), rtol=1e-12)


def test_a_pair_by_itself_has_the_rate_of_jeffreys() -> None:
    expected = np.array([[3.5 / 4, 0.5 / 2, 0.5], [1.5 / 3, 0.5, 0.5 / 2]])
    np.testing.assert_allclose(binomial.by_itself(HAND), expected * (1 - expected), rtol=1e-12)
    np.testing.assert_allclose(binomial.by_itself(tallies.negated(HAND)), expected * (1 - expected))


def test_sample_variances_of_a_rate_are_those_of_pairs_by_themselves() -> None:
    whole = of([(k, c, float(i < 1 + c)) for k, c, i in np.ndindex(2, 3, 3)])
    expected = (1.5 + np.arange(3)) / 4
    np.testing.assert_allclose(noise.sample_variance(whole), [expected * (1 - expected)] * 2)


def beliefs() -> list[Expected | None]:
    rng = np.random.default_rng(3)
    return [None, Expected(rng.uniform(0.2, 0.8, SHAPE), np.full(SHAPE, 0.005), np.full(SHAPE, 0.2))]


@pytest.mark.parametrize("belief", beliefs())
def test_plausible_noise_is_about_the_estimate(belief: Expected | None) -> None:
    """E p(1 − p) of a beta distribution worth m replications is p(1 − p) m/(m + 1)."""
    rng = np.random.default_rng(4)
    values = (rng.random((2, 3, 50)) < 0.6).astype(float)
    tally = of([(k, c, float(values[k, c, i])) for k, c, i in np.ndindex(2, 3, 50)])
    worth: Array = np.full(SHAPE, 51.0)
    if belief is not None:
        worth = np.maximum(50, belief.noise / belief.var) + 1
    found = binomial.plausible(tally, belief, 20_000, np.random.default_rng(5))
    estimate = binomial.noise(tally, belief)
    np.testing.assert_allclose(found.mean(axis=0), estimate * worth / (worth + 1), rtol=0.005)
    np.testing.assert_allclose(found.mean(axis=0), estimate, rtol=0.03)


def test_rates_are_the_noise_of_their_pairs_whatever_the_belief_missed() -> None:
    belief = beliefs()[1]
    found = noise.pair_noise(HAND, squared_misses=np.ones(SHAPE), expected=belief)
    np.testing.assert_array_equal(found.variance, binomial.noise(HAND, belief))
    assert found.known
    assert found.divisor == 1.0
    assert not found.unseen.any()
    one_more = tallies.add(HAND, Decision(np.array(0), np.array(2)), np.array(0.3))
    assert not noise.pair_noise(one_more).known
    drawn = noise.plausible_pair_noise(HAND, 7, np.random.default_rng(6), expected=belief)
    np.testing.assert_array_equal(drawn, binomial.plausible(HAND, belief, 7, np.random.default_rng(6)))


# --- Shared seeds -----------------------------------------------------------------------------------------


def sharing(seed: int, shape: tuple[int, int] = (4, 3), *, chance: float = 0.3) -> common_cases.Runs:
    """Replications with gaps, whose values are 0 or 1; some have no number, and seeds of their own."""
    rng = np.random.default_rng(seed)
    case = common_cases.runs(rng, shape)
    return case._replace(y=(rng.random(len(case.y)) < chance).astype(float))


def counted_by_hand(case: common_cases.Runs) -> tuple[list[float], int]:
    """Values per seed of every context, and seeds that showed an event, value by value."""
    rows = list(zip(*(part.tolist() for part in case[1:5]), strict=True))
    rare = 1.0 if 2 * sum(y for *_, y in rows) <= len(rows) else 0.0
    crowd, events = [], 0
    for c in range(case.shape[1]):
        here = [(k, r if r >= 0 else -2 - i, y) for i, (k, cc, r, y) in enumerate(rows) if cc == c]
        seeds, shown = {r for _, r, _ in here}, set()
        shared = {r for r in seeds if len({k for k, rr, _ in here if rr == r}) > 1}
        for k, r, y in here:
            own = [value for kk, _, value in here if kk == k]
            n_ones = sum(own)
            event = rare if 2 * n_ones == len(own) else float(2 * n_ones < len(own))
            shown |= {r} & shared if y == event else set()
        crowd.append(len(here) / len(seeds) if seeds else 1.0)
        events += min(len(shown), max(len(shared) - 1, 0))
    return crowd, events


@pytest.mark.parametrize("minimise", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_seeds_and_their_events_are_those_of_all_values_one_by_one(seed: int, minimise: bool) -> None:
    case = sharing(seed, chance=0.1 + 0.07 * seed)
    crowd, events = counted_by_hand(case)
    found = binomial.different_seeds(tallies.negated(case.tally) if minimise else case.tally)
    assert found is not None
    np.testing.assert_allclose(found.values_per_seed[0], crowd, rtol=1e-12)
    assert found.events == events


def test_alternatives_that_do_the_same_with_the_same_seeds_tell_what_one_of_them_tells() -> None:
    values = (np.random.default_rng(3).random((5, 6)) < 0.2).astype(float)  # [context, number]
    one, two, six = (copies(values, n).tally for n in (1, 2, 6))
    np.testing.assert_allclose(binomial.noise(six, None), np.repeat(binomial.noise(one, None), 6, axis=0))
    alone, few, several = (binomial.different_seeds(each) for each in (one, two, six))
    assert alone is not None
    assert few is not None
    assert several is not None
    assert several.events == few.events > alone.events == 0
    np.testing.assert_allclose(several.values_per_seed, 6.0)


def test_a_context_that_met_nothing_has_the_rate_of_the_others() -> None:
    k, c, r = (part.ravel() for part in np.indices((3, 1, 4)))
    y, shape = np.array([0.0, 0.0, 0.0, 1.0] * 3), (3, 2)
    case = common_cases.Runs(shape, k, c, r, y, np.ones(shape), np.zeros(2)).tally
    found = binomial.noise(case, None)
    assert np.all(np.isfinite(found))
    assert np.all((found > 0.0) & (found <= 0.25))


def copies(values: Array, n: int) -> common_cases.Runs:
    """The replications [context, number] of n alternatives that all have the same luck."""
    k, c, r = (part.ravel() for part in np.indices((n, *values.shape)))
    shape = (n, len(values))
    return common_cases.Runs(shape, k, c, r, values[c, r], np.ones(shape), np.zeros(len(values)))


def test_without_an_event_the_rate_is_that_of_jeffreys_for_the_different_seeds() -> None:
    """Ten seeds: (0 + ½)/(10 + 1), whatever the number of alternatives; then as much as one seed beside."""
    never = copies(np.zeros((5, 2)), 27).tally
    assert not binomial.is_rate(never)
    assert binomial.without_events(never)
    assert noise.pair_noise(never).events == 0.0
    whole = 0.5 / 11
    by_alternative, by_context = whole / 11, whole / 3
    rate = max(by_alternative + by_context - whole, whole / 10) / 3
    np.testing.assert_allclose(noise.pair_noise(never).variance, rate * (1 - rate))


def test_only_tables_of_zeros_or_of_ones_may_have_events_to_come() -> None:
    def constant(y: float) -> Tally:
        return of([(k, c, y) for k, c, _ in np.ndindex(2, 3, 2)])

    found = [bool(binomial.without_events(constant(y))) for y in (0.0, 1.0, -1.0, 2.0, 0.5)]
    assert found == [True, True, True, False, False]
    assert not binomial.without_events(HAND)
    assert not binomial.without_events(of([(0, 0, 1.0), (1, 1, 0.0)]))
    assert not binomial.without_events(tallies.empty(SHAPE))


def test_rates_of_pairs_that_meet_the_same_seeds_are_drawn_as_one() -> None:
    """Each is drawn from its own beta distribution, and all of them at the same share."""
    tally = sharing(5).tally
    mean = np.random.default_rng(2).uniform(0.1, 0.9, tally.shape)
    belief = Expected(mean, np.full(tally.shape, 0.02), np.full(tally.shape, 0.2))
    worth = np.maximum(10.0, tally.count)
    found = binomial.plausible(tally, belief, 400, np.random.default_rng(1))
    shares = np.argsort(np.random.default_rng(1).random((400, 1, 1)), axis=0) / 400 + 1 / 800
    rate = np.clip(beta_law.ppf(shares, mean * worth + 0.5, (1 - mean) * worth + 0.5), 0.001, 0.999)
    np.testing.assert_allclose(found, rate * (1 - rate), rtol=1e-6)


def test_studies_side_by_side_share_seeds_as_each_by_itself() -> None:
    cases = [sharing(seed) for seed in (1, 2)]
    whole = binomial.different_seeds(common_cases.side_by_side([each.tally for each in cases]))
    assert whole is not None
    for i, case in enumerate(cases):
        single = binomial.different_seeds(case.tally)
        assert single is not None
        np.testing.assert_array_equal(whole.values_per_seed[i], single.values_per_seed)
        assert whole.events[i] == single.events
