"""How often the guarantee for normal rewards is wrong where rewards are not normal, and what its checks cost.

For every law in `LAWS`: `RUNS` rows of differences of mean 0, `LENGTH` values each. A row is a false alarm if
its bound exceeds 0 at any length, which is the worst moment to look. A study may ask after every replication,
so a bound counts if the values up to it pass the checks, whatever comes later. Each row is judged by the
bound alone, by the bound as a study gives it (`sequences.normal_bounds`, corrected for skewness and checked),
and where the law has a range by the bound for that range; with alpha 0.05, and with 0.005, about what each of
ten rivals gets.

- With checks, normal differences must stay at alpha or below, two standard errors allowed.
- Skewed differences should come near it: 0.05, and at the smaller alpha at most three times as much. Rare
  disasters cannot: before the first one nothing tells of them.
- What the checks cost: replications until normal differences with a mean of `LEADS` standard deviations are
  certified to be above 0, with checks and without. From 30 on at most about an eighth more.

The constants of the checks were chosen by trials on most of these laws, with other random numbers than here.
What it found is in `stored/guarantee_laws.csv` and `stored/guarantee_checks.csv`.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd

from argbest.core import sequences
from argbest.core.arrays import Array, IntArray

SEED, RUNS, LENGTH = 2027, 4000, 2500
ALPHAS = 0.05, 0.005
AT_ONCE = 250  # rows in memory
LEADS = (0.2, 0.3, 0.5, 0.6, 1.0, 2.0)
DISASTER = 50.0  # what happens in 2 of 100 replications, where 1 is gained in the others
_EQUAL = 1e-6  # values that differ by less are equal

Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


def inventory(
    rng: np.random.Generator, shape: tuple[int, int], low: float = 12.0, high: float = 14.0
) -> Array:
    """Return how much less it costs to order the smaller amount than the larger, less the mean of that.

    Exponential demand of mean 3, holding cost 1, shortage cost 50: the smaller amount is cheaper by the same
    sum until a rare demand exceeds it. E[cost] = order − 3 + (3 + 150) exp(−order / 3).
    """
    demand = rng.exponential(3.0, shape)
    saved = _cost(high, demand) - _cost(low, demand)
    return np.asarray(saved - (high - low) - 153.0 * (np.exp(-high / 3.0) - np.exp(-low / 3.0)))


def _cost(order: float, demand: Array) -> Array:
    return np.asarray(np.maximum(order - demand, 0.0) + 50.0 * np.maximum(demand - order, 0.0))


def lognormal(sigma: float) -> Draw:
    """Return a law of costs with a long tail: minus a lognormal value, moved to mean 0."""
    return lambda rng, shape: np.exp(0.5 * sigma**2) - rng.lognormal(0.0, sigma, shape)


def success(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return successes, 1 in 9 of 10, less their rate."""
    return np.where(rng.random(shape) < 0.9, 0.1, -0.9)


def disasters(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return a gain of 1 with a little noise, and a large loss in 2 of 100."""
    noise = rng.uniform(-0.2, 0.2, shape)
    return np.asarray(1.0 + noise - DISASTER * (rng.random(shape) < 1.0 / DISASTER))


# Differences of mean 0 and, where there is one, the range of the rewards: a difference is in ± its width.
LAWS: dict[str, tuple[Draw, float | None]] = {
    "normal": (lambda rng, shape: rng.standard_normal(shape), None),
    "Student t, 3 degrees of freedom": (lambda rng, shape: rng.standard_t(3.0, shape), None),
    "exponential costs": (lambda rng, shape: 1.0 - rng.exponential(1.0, shape), None),
    "means of 10 exponential costs": (lambda rng, shape: 1.0 - rng.gamma(10.0, 0.1, shape), None),
    "lognormal costs, sigma 0.5": (lognormal(0.5), None),
    "lognormal costs, sigma 1": (lognormal(1.0), None),
    "lognormal costs, sigma 1.5": (lognormal(1.5), None),
    "success rate 0.9 against a constant": (success, 1.0),
    "equal until a rare shortage": (inventory, None),
    "2 % disasters": (disasters, DISASTER + 1.4),
}


def unchecked(values: Array, alpha: float) -> Array:
    """Return the bound at each length, [..., n], as if the values were known to be normal."""
    n = np.arange(1, values.shape[-1] + 1)
    mean = np.cumsum(values, axis=-1) / n
    var = np.cumsum(values**2, axis=-1) / n - mean**2
    known = (var > _EQUAL**2) & np.isfinite(radius := sequences.radii(values.shape[-1], alpha))
    reach = np.sqrt(np.where(known, var, 0.0)) * np.where(known, radius, 0.0)
    return np.where(known, mean - reach, -np.inf)


def checked(values: Array, alpha: float) -> Array:
    """Return the bound at each length as a study gives it."""
    return sequences.normal_bounds(values, alpha, resolution=_EQUAL)


def false_alarms(runs: int = RUNS) -> pd.DataFrame:
    """Return a row per law and alpha: the shares of rows with a false alarm at the worst moment."""
    rows = []
    for number, (name, (draw, width)) in enumerate(LAWS.items()):
        rng = np.random.default_rng([SEED, number])
        wrong = np.zeros((len(ALPHAS), 3))
        for start in range(0, runs, AT_ONCE):
            values = np.asarray(draw(rng, (min(AT_ONCE, runs - start), LENGTH)), np.float64)
            wrong += [_wrong(values, alpha, width) for alpha in ALPHAS]
        for alpha, share in zip(ALPHAS, wrong / runs, strict=True):
            row = {"differences": name, "alpha": alpha, "runs": runs}
            row |= {"without_checks": share[0], "with_checks": share[1]}
            row |= {"with_checks_se": float(np.sqrt(share[1] * (1.0 - share[1]) / runs))}
            rows.append({**row, "with_range": share[2] if width is not None else np.nan})
    return pd.DataFrame(rows)


def _wrong(values: Array, alpha: float, width: float | None) -> list[int]:
    """Return in how many rows a bound ever exceeds 0: without checks, with them, for the range if any."""
    ever = [np.any(bound(values, alpha) > 0, axis=-1) for bound in (unchecked, checked)]
    if width is not None:
        ever.append(sequences.bounded_lower(values, alpha, -width, width) > 0)
    return [int(each.sum()) for each in ever] + [0] * (3 - len(ever))


def costs_of_checks(runs: int = RUNS) -> pd.DataFrame:
    """Return a row per lead of normal differences: mean replications until they are certified."""
    rng = np.random.default_rng([SEED, 100])
    spent: dict[float, list[list[IntArray]]] = {lead: [[], []] for lead in LEADS}
    for start in range(0, runs, AT_ONCE):
        noise = rng.standard_normal((min(AT_ONCE, runs - start), LENGTH))
        for lead, found in spent.items():
            for each, bound in zip(found, (unchecked, checked), strict=True):
                above = bound(noise + lead, ALPHAS[0]) > 0
                each.append(np.where(above.any(axis=-1), above.argmax(axis=-1) + 1, LENGTH))
    rows = []
    for lead, found in spent.items():
        without, with_ = (float(np.concatenate(each).mean()) for each in found)
        row = {"lead": lead, "runs": runs, "without_checks": without, "with_checks": with_}
        rows.append({**row, "ratio": with_ / without})
    return pd.DataFrame(rows)
