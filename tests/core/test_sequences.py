"""Bounds that hold at every sample size at once: their algebra, and their false alarms."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from argbest.core import sequences
from argbest.core.arrays import Array

ALPHA = 0.05


def mixture(x: Array, prior: float) -> float:
    """The average likelihood ratio of x, by quadrature: θ = mean/σ half-normal, u = 1/σ flat in log u."""
    n, total, squares = len(x), float(x.sum()), float((x**2).sum())

    def joint(u: float, theta: float) -> float:
        weight = 2.0 * stats.norm.pdf(theta, scale=prior**-0.5)
        return float(
            weight * u ** (n - 1) * math.exp(-0.5 * (u * u * squares - 2 * u * theta * total + n * theta**2))
        )

    most = 12.0 / math.sqrt(squares / n)
    above, _ = integrate.dblquad(joint, 0, 12.0, 0, most, epsabs=1e-12, epsrel=1e-9)
    below, _ = integrate.quad(lambda u: u ** (n - 1) * math.exp(-0.5 * u * u * squares), 0, most)
    return above / below


def evidence(x: Array, m: float, prior: float) -> float:
    """G of the values against the mean m, from their sum and sum of squares."""
    n, s, v = len(x), float((x - m).sum()), float(((x - m) ** 2).sum())
    both = math.sqrt(prior / (n + prior)) * ((n + prior) * v / ((n + prior) * v - s * s)) ** (n / 2)
    return float(2.0 * stats.t.cdf(s * math.sqrt(n / ((n + prior) * v - s * s)), n) * both)


@pytest.mark.parametrize(("n", "prior"), [(2, 1.0), (4, 0.5), (5, 3.0)])
@pytest.mark.fast_cases("4*")
def test_the_evidence_is_the_mixture_of_likelihood_ratios(n: int, prior: float) -> None:
    x = np.random.default_rng(n).normal(0.7, 1.0, n)
    assert evidence(x, 0.0, prior) == pytest.approx(mixture(x, prior), rel=1e-6)
    q = x.mean() ** 2 / x.var()
    found = sequences.log_evidence(np.array([n]), np.array([q / (1 + q)]), prior)[0]
    assert math.exp(found) == pytest.approx(evidence(x, 0.0, prior), rel=1e-10)


@pytest.mark.parametrize("n", [7, 20, 300])
def test_the_bound_is_where_the_evidence_reaches_its_limit(n: int) -> None:
    x = np.random.default_rng(n).normal(3.0, 2.0, n)
    bound = x.mean() - x.std() * sequences.radii(n, ALPHA)[-1]
    assert evidence(x, bound, sequences.PRIOR) == pytest.approx(1 / ALPHA, rel=1e-6)


def _bound(x: Array, alpha: float = ALPHA) -> float:
    return float(sequences.normal_lower(x[None], alpha)[0])


def looks_in_loops(x: Array) -> tuple[list[bool], list[bool], list[float]]:
    """Ties, skewness and bounds at each length, from the definitions and one length at a time."""
    tied, skewed, bounds = [], [], []
    for n in range(1, len(x) + 1):
        part, radius = x[:n], sequences.radii(n, ALPHA)[-1]
        most = max(np.sum(part == value) for value in part)
        lean = min(stats.skew(part), 0.0) if np.ptp(part) > 0 else 0.0
        z = math.sqrt(n) * radius if math.isfinite(radius) else 0.0
        correction = -lean * (2 * z**2 + 1) / (6 * math.sqrt(n))
        tied.append(bool(most > max(n / 4, 1)))
        skewed.append(bool(correction > 0.1 * z))
        given = n >= 12 and not tied[-1] and not skewed[-1] and np.ptp(part) > 0
        bounds.append(part.mean() - part.std() * (z + correction) / math.sqrt(n) if given else -math.inf)
    return tied, skewed, bounds


@pytest.mark.parametrize("law", ["normal", "exponential", "rounded", "constant", "disaster"])
@pytest.mark.fast_cases("rounded", "disaster")
def test_looks_at_every_length_are_those_of_the_values_up_to_it(law: str) -> None:
    x = np.random.default_rng(1).normal(5.0, 2.0, (3, 70))
    if law == "exponential":
        x = -np.random.default_rng(2).exponential(1.0, x.shape)
    elif law == "rounded":
        x = np.round(x)
    elif law == "constant":
        x[:] = 0.3
    elif law == "disaster":
        x[:, 50] = -4000.0
    longer = np.concatenate([x, np.full((3, 4), np.nan)], axis=-1)
    tied, skewed = sequences.doubts(longer, ALPHA)
    bounds = sequences.normal_bounds(longer, ALPHA)
    for row, values in enumerate(x):
        expected = looks_in_loops(values)
        assert tied[row, :70].tolist() == expected[0]
        assert skewed[row, 3:70].tolist() == expected[1][3:]  # before that nothing has a bound anyway
        np.testing.assert_allclose(bounds[row, :70], expected[2], rtol=1e-9)
        assert tied[row, -1] == expected[0][-1]  # what is missing at the end changes nothing
        assert bounds[row, -1] == bounds[row, 69]


def test_bounds_move_with_the_values_and_with_their_unit() -> None:
    x = np.random.default_rng(1).normal(0.4, 1.0, 60)
    assert _bound(5.0 * x + 7.0) == pytest.approx(5.0 * _bound(x) + 7.0, rel=1e-9)
    assert _bound(x + 1e7) - 1e7 == pytest.approx(_bound(x), abs=1e-6)


def test_rows_of_different_length_are_bounded_as_each_by_itself() -> None:
    x = np.random.default_rng(2).normal(0.0, 1.0, (3, 40))
    x[1, 25:], x[2, 1:] = np.nan, np.nan
    found = sequences.normal_lower(x, ALPHA)
    assert found[:2] == pytest.approx([_bound(x[0]), _bound(x[1, :25])])
    assert found[2] == -np.inf
    scaled = sequences.bounded_lower(x, ALPHA, -9.0, 9.0)
    assert scaled[1] == pytest.approx(sequences.bounded_lower(x[1:2, :25], ALPHA, -9.0, 9.0)[0])


def test_equal_values_bound_nothing_unless_their_range_is_known() -> None:
    same = np.full((1, 50), 0.3)
    assert sequences.normal_lower(same, ALPHA)[0] == -np.inf
    assert 0.15 < sequences.bounded_lower(same, ALPHA, 0.0, 1.0)[0] < 0.3


def test_equal_values_that_are_free_of_noise_are_the_bound_as_soon_as_there_is_one() -> None:
    rows = np.full((2, 12), 0.7)
    rows[1, 9] = 0.8
    found = sequences.normal_lower(rows, ALPHA, exact=True)
    np.testing.assert_allclose(found, [0.7, -np.inf])  # one that differs late shows that there is noise
    assert np.all(sequences.normal_lower(rows, ALPHA) == -np.inf)
    few = sequences.normal_lower(rows[:, :2], ALPHA, exact=True)  # two normal values are never enough
    assert np.all(few == -np.inf)


def test_equal_values_at_the_beginning_bound_nothing_either() -> None:
    """A count that is 0 nine times says nothing of the tenth; sums of squares leave rounding in its place."""
    for start in (0.0, 0.1, 1e6 + 0.3):
        row = np.concatenate([np.full(9, start), start + np.array([-0.7, 0.4, -0.2])])
        late = [_bound(row[:n]) for n in (9, 10, 11, 12)]
        assert late[0] == -np.inf
        assert max(late[1:]) < start - 0.1
    nearly = 3.0 + 1e-16 * np.arange(40.0)
    assert sequences.normal_lower(nearly[None], ALPHA, resolution=1e-12)[0] == -np.inf


def test_a_disaster_withdraws_what_was_certified_before_it() -> None:
    x = np.random.default_rng(4).normal(1.0, 0.5, 200)
    before, x[40] = _bound(x[:40]), -30.0
    assert before > 0
    assert _bound(x[:41]) == -np.inf
    assert sequences.normal_bounds(x[None], ALPHA)[0, 39] > 0  # it was given then


def test_the_skewness_of_normal_values_withdraws_nothing() -> None:
    """A bound that was given stays, though a later length may be too skewed for one."""
    x = np.random.default_rng(9).normal(0.0, 1.0, (400, 22))
    given = sequences.normal_bounds(x, ALPHA).max(axis=-1) > -np.inf
    silent = sequences.normal_bounds(x, ALPHA)[:, -1] == -np.inf
    kept = sequences.normal_lower(x, ALPHA) > -np.inf
    assert np.mean(given & silent) > 0.02
    assert np.all(kept == given)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.97])
def test_values_that_are_often_the_same_bound_nothing(share: float) -> None:
    rng = np.random.default_rng(5)
    x = np.where(rng.random((20, 400)) < share, 1.0, rng.normal(1.0, 0.2, (20, 400)))
    assert np.mean(sequences.normal_lower(x, ALPHA) == -np.inf) > 0.9


def test_rounded_values_are_bounded_like_others() -> None:
    x = np.random.default_rng(6).normal(3.0, 1.0, (20, 200))
    rounded = sequences.normal_lower(np.round(4 * x) / 4, ALPHA)  # to a quarter of a standard deviation
    np.testing.assert_allclose(rounded, sequences.normal_lower(x, ALPHA), atol=0.1)


def test_no_values_bound_nothing() -> None:
    assert sequences.normal_lower(np.empty((2, 0)), ALPHA).tolist() == [-np.inf, -np.inf]
    assert sequences.bounded_lower(np.empty((2, 0)), ALPHA, -1.0, 1.0).tolist() == [-1.0, -1.0]


def wealth(x: Array, m: float) -> float:
    """The most a gambler ever had, bet by bet."""
    capital = most = 1.0
    total, squares = 0.5, 0.25
    for t, value in enumerate(x.tolist(), start=1):
        var = squares / t
        stake = min(math.sqrt(2 * math.log(1 / ALPHA) / (var * t * math.log(1 + t))), 0.75 / m)
        capital *= 1 + stake * (value - m)
        most = max(most, capital)
        total += value
        squares += (value - total / (t + 1)) ** 2
    return most


def test_the_bound_of_a_range_is_where_the_gambler_has_won_enough() -> None:
    x = np.random.default_rng(3).beta(4.0, 2.0, 80)
    root = optimize.brentq(lambda m: math.log(wealth(x, m)) - math.log(1 / ALPHA), 0.05, 0.99)
    assert sequences.bounded_lower(x[None], ALPHA, 0.0, 1.0)[0] == pytest.approx(root, abs=1e-9)
    assert sequences.bounded_lower(6 * x[None] - 2, ALPHA, -2.0, 4.0)[0] == pytest.approx(
        6 * root - 2, abs=1e-8
    )


LAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "coin": lambda rng, shape: rng.integers(0, 2, shape) - 0.5,
    "rare": lambda rng, shape: (rng.random(shape) < 0.02) - 0.02,
    "uniform": lambda rng, shape: rng.random(shape) - 0.5,
}


def false_alarms(law: str, rows: int, steps: int, seed: int) -> float:
    """The share of rows of mean 0 whose bound ever exceeds it."""
    x = LAWS[law](np.random.default_rng(seed), (rows, steps)).astype(float)
    if law == "normal":
        return float(np.mean(sequences.normal_bounds(x, ALPHA).max(axis=-1) > 0))
    return float(np.mean(sequences.bounded_lower(x, ALPHA, -1.0, 1.0) > 0))


@pytest.mark.parametrize("law", list(LAWS))
def test_false_alarms_keep_their_level_at_every_step(law: str) -> None:
    """Fails by chance with probability below 1e-3: 0.05 and three standard errors of 1,000 rows."""
    found = false_alarms(law, 1000, 400, seed=5)
    assert found <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 1000)
    if law == "normal":
        assert found > 0.01  # and they are no idle caution


ADVERSE = {
    "exponential": lambda rng, shape: 1.0 - rng.exponential(1.0, shape),
    "lognormal 0.5": lambda rng, shape: math.exp(0.125) - rng.lognormal(0.0, 0.5, shape),
    "lognormal 1": lambda rng, shape: math.exp(0.5) - rng.lognormal(0.0, 1.0, shape),
    "lognormal 1.5": lambda rng, shape: math.exp(1.125) - rng.lognormal(0.0, 1.5, shape),
    "few values": lambda rng, shape: (rng.random(shape) < 0.9) - 0.9,
    "equal until a rare event": lambda rng, shape: 1.0 - 50.0 * (rng.random(shape) < 0.02),
}


@pytest.mark.parametrize("law", list(ADVERSE))
def test_values_that_are_not_normal_raise_few_false_alarms(law: str) -> None:
    """0.05 and two standard errors of 1,000 rows, at the worst moment; without checks it is 0.12 to 0.57."""
    x = ADVERSE[law](np.random.default_rng(7), (1000, 400)).astype(float)
    found = np.mean(sequences.normal_bounds(x, ALPHA).max(axis=-1) > 0)
    assert found <= ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / 1000)


@pytest.mark.parametrize(("times", "after"), [(2.0, 10), (0.5, 30)])
def test_noise_that_changes_on_the_way_raises_no_false_alarms(times: float, after: int) -> None:
    """As where alternatives share seeds at first and then no longer; by chance below 1e-3."""
    x = np.random.default_rng(6).standard_normal((1000, 300))
    x[:, :after] *= times
    found = np.mean(sequences.normal_lower(x, ALPHA) > 0)
    assert found <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 1000)


@pytest.mark.slow
@pytest.mark.parametrize("law", list(LAWS))
def test_false_alarms_keep_their_level_over_ten_thousand_steps(law: str) -> None:
    """Fails by chance with probability below 1e-3."""
    found = np.mean([false_alarms(law, 250, 10_000, seed) for seed in range(6)])
    assert found <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / 1500)


def test_bounds_close_in_on_the_mean() -> None:
    x = np.random.default_rng(8).random((20, 4000))
    for found in (sequences.normal_lower(x, ALPHA), sequences.bounded_lower(x, ALPHA, 0.0, 1.0)):
        assert np.all(found > 0.46)
        assert np.mean(found <= 0.5) > 0.8
