"""Whether the guarantee without a model holds, and what it costs beside the procedure KN.

The rule that judges it, written before the first run, at alpha = 0.05 with 500 macro-replications each:

- Ten alternatives with normal rewards, in one context and in ten at once: `CONFIGURATIONS` (slippage: all but
  the best are equal; monotone: equal steps; random: normal means; noise that grows or falls from the best
  on).
- *At the worst moment*: a macro-replication is wrong if a bound between the best and any other alternative
  ever exceeds their true difference while each has up to `HORIZON` replications. Whatever a policy samples,
  an algorithm selects or a rule stops at, a false claim needs that. Success rates are judged alike, by the
  bounds for a known range.
- *Stopped*: runs under three policies end when the selected alternative, that of the largest mean, is
  certified to be within delta of the best. They are right if it loses less than delta, which but for random
  means only the best does. (At the first look a loss of exactly delta was right too, which at slippage made
  every run right; the rule was sharpened.) Policies: what is missing for the guarantee (as `GuaranteedPCS`
  does), all alternatives evenly, and one that starves the best, which it samples a fourth as often as the
  others. A run without a certificate after `LONGEST` of an alternative claims nothing, so it is not wrong.
- Both shares must be 0.95 or more, two standard errors allowed.
- Cost: replications in all against KN (Kim and Nelson 2001) with the same delta on the same means, in one
  context: at most twice as many at slippage with the gap delta, and at most one and a half times as many at
  any other gap. (At first the rule asked for fewer than KN where the gap exceeds two standard deviations of
  the noise. The checks for rewards that are not normal, which came later, need twelve replications of each
  alternative, and gave that up.)

What it found is in `stored/guarantee.csv` and `stored/guarantee_cost.csv`. `guarantee_laws` looks at rewards
that are not normal.
"""

from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest.cli.terminal import list_written, prepare, table
from argbest.core import sequences
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.table_files import write_csv
from experiments import command_options
from experiments.guarantee_laws import RUNS, costs_of_checks, false_alarms

SEED, MACROREPS, K, ALPHA, DELTA = 2026, 500, 10, 0.05, 0.5
HORIZON, LONGEST = 1000, 200  # replications of an alternative: at the worst moment, and of stopped runs
AT_ONCE = 500  # runs whose values are in memory
FIRST_STAGE = 10  # replications of KN
GAPS = (0.5, 1.0, 2.0, 3.0)
# Means and standard deviations of one context; the first alternative is the best, but for random means.
CONFIGURATIONS: dict[str, Callable[[np.random.Generator], tuple[Array, Array]]] = {
    "slippage": lambda _: (slippage(DELTA), np.ones(K)),
    "monotone": lambda _: (np.linspace(0.0, -DELTA * (K - 1), K), np.ones(K)),
    "random": lambda rng: (rng.standard_normal(K), np.ones(K)),
    "noise grows": lambda _: (slippage(DELTA), np.linspace(0.5, 2.0, K)),
    "noise falls": lambda _: (slippage(DELTA), np.linspace(2.0, 0.5, K)),
}


def slippage(gap: float) -> Array:
    """Return means of which the first is ahead of all others by the gap."""
    return np.asarray(np.where(np.arange(K) == 0, gap, 0.0))


Policy = Callable[[IntArray, BoolArray, BoolArray], BoolArray]
"""What to sample, from counts, what is still open (the selected and its near rivals), and the truly best."""


def missing(count: IntArray, near: BoolArray, best: BoolArray) -> BoolArray:  # noqa: ARG001
    """Mark the least simulated of what is still open."""
    least = np.where(near, count, HORIZON).min(axis=-1, keepdims=True)
    return np.asarray(near & (count == least))


def evenly(count: IntArray, near: BoolArray, best: BoolArray) -> BoolArray:  # noqa: ARG001
    """Mark every alternative."""
    return np.ones(near.shape, bool)


def starving(count: IntArray, near: BoolArray, best: BoolArray) -> BoolArray:  # noqa: ARG001
    """Mark all but the truly best, and that every fourth time."""
    return np.asarray(~best | (count.max(axis=-1, keepdims=True) % 4 == 0))


POLICIES: dict[str, Policy] = {"missing": missing, "evenly": evenly, "starving": starving}


def drawn(configuration: str, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return means and standard deviations of so many contexts, [context, alternative]."""
    found = [CONFIGURATIONS[configuration](rng) for _ in range(n)]
    return np.stack([mean for mean, _ in found]), np.stack([std for _, std in found])


def stopped(
    mean: Array,
    std: Array,
    policy: Policy,
    rng: np.random.Generator,
    *,
    alpha: float,
    delta: float,
    most: int = LONGEST,
) -> tuple[Array, IntArray, BoolArray]:
    """Return of every run the loss of the selected, its replications, and whether it was certified."""
    n = len(mean)
    loss, spent, certified = np.zeros(n), np.zeros(n, np.int64), np.zeros(n, bool)
    left = np.arange(n)  # runs that go on; only their values are kept
    values = np.full((n, K, most), np.nan)
    count = np.zeros((n, K), np.int64)
    marked = np.ones((n, K), bool)
    while len(left):
        run, k = np.nonzero(marked)
        values[run, k, count[run, k]] = (mean + std * rng.standard_normal((n, K)))[left[run], k]
        count[run, k] += 1
        longest, rows = int(count.max()), np.arange(len(left))
        selected = np.argmax(np.nansum(values[:, :, :longest], axis=-1) / np.maximum(count, 1), axis=-1)
        differences = values[rows, selected, None, :longest] - values[:, :, :longest]
        lower = sequences.normal_lower(differences, alpha / (K - 1))
        lower[rows, selected] = np.inf
        near = np.asarray(lower < -delta if delta > 0 else lower <= 0)
        sure = np.asarray(~near.any(axis=-1))
        done = sure | (count.max(axis=-1) == most)
        ended = left[done]
        certified[ended], spent[ended] = sure[done], count[done].sum(axis=-1)
        loss[ended] = mean[ended].max(axis=-1) - mean[ended, selected[done]]
        near[rows, selected] = True
        best = mean[left] == mean[left].max(axis=-1, keepdims=True)
        marked, values, count, left = (
            policy(count, near, best)[~done],
            values[~done],
            count[~done],
            left[~done],
        )
    return loss, spent, certified


def worst_moment(mean: Array, std: Array, rng: np.random.Generator, alpha: float) -> BoolArray:
    """Return of every context whether no bound against the best ever exceeds the true difference."""
    best = np.argmax(mean, axis=-1)
    sound = np.ones(len(mean), bool)
    for c in range(len(mean)):  # one at a time: [alternative, number]
        noise = std[c][:, None] * rng.standard_normal((K, HORIZON))
        sound[c] = np.all(sequences.normal_bounds(noise - noise[best[c]], alpha / (K - 1)) <= 0)
    return sound


def rates_at_worst(rates: Array, n: int, rng: np.random.Generator, alpha: float) -> BoolArray:
    """Return the same for success rates, by the bounds for a known range."""
    sound = np.ones(n, bool)
    true = rates - rates.max()
    for c in range(n):
        values = (rng.random((len(rates), HORIZON)) < rates[:, None]).astype(float)
        lower = sequences.bounded_lower(
            values - values[np.argmax(rates)], alpha / (len(rates) - 1), -1.0, 1.0
        )
        sound[c] = np.all(lower <= true)
    return sound


def kn(
    mean: Array, std: Array, rng: np.random.Generator, *, alpha: float, delta: float
) -> tuple[IntArray, IntArray]:
    """Return what the procedure KN selects in every run, and its replications.

    Kim and Nelson (2001) with c = 1: after n0 replications of each, S² of the differences; while more than
    one is left, drop i if for some j left Σ(x_i − x_j) < −max(0, δ/2 (h² S²_ij/δ² − r)), then draw one more
    of each.
    """
    first = mean[..., None] + std[..., None] * rng.standard_normal((*mean.shape, FIRST_STAGE))
    spread = np.var(first[:, :, None] - first[:, None], axis=-1, ddof=1)
    h2 = (FIRST_STAGE - 1) * ((2 * alpha / (K - 1)) ** (-2 / (FIRST_STAGE - 1)) - 1)
    total, left, r = first.sum(axis=-1), np.ones(mean.shape, bool), FIRST_STAGE
    spent = np.full(len(mean), FIRST_STAGE * K)
    while True:
        width = np.maximum(0.0, delta / 2 * (h2 * spread / delta**2 - r))
        beaten = (total[:, :, None] - total[:, None] < -width) & left[:, None]
        left &= ~beaten.any(axis=-1)
        going = left.sum(axis=-1) > 1
        if not going.any():
            return np.argmax(left, axis=-1), spent
        drawn_now = left & going[:, None]
        total = total + np.where(drawn_now, mean + std * rng.standard_normal(mean.shape), 0.0)
        spent, r = spent + drawn_now.sum(axis=-1), r + 1


def shares(macroreps: int) -> pd.DataFrame:
    """Return a row per configuration, number of contexts and way to be judged: the share that was right."""
    rows = []
    for number, (name, contexts) in enumerate((n, c) for c in (1, 10) for n in CONFIGURATIONS):
        rng = np.random.default_rng([SEED, number])
        mean, std = drawn(name, macroreps * contexts, rng)
        alpha = ALPHA / contexts
        judged = {"at the worst moment": (worst_moment(mean, std, rng, alpha), np.nan, 1.0)}
        for policy, rule in POLICIES.items():
            parts = [
                stopped(mean[i : i + AT_ONCE], std[i : i + AT_ONCE], rule, rng, alpha=alpha, delta=DELTA)
                for i in range(0, len(mean), AT_ONCE)
            ]
            loss, spent, done = (np.concatenate(part) for part in zip(*parts, strict=True))
            per_study = spent.reshape(macroreps, contexts).sum(axis=-1).mean()
            judged[policy] = (loss < DELTA - 1e-9) | ~done, per_study, float(done.mean())
        rows += [_row(name, contexts, how, *found) for how, found in judged.items()]
    for number, contexts in enumerate((1, 10)):
        rng = np.random.default_rng([SEED, 100 + number])
        sound = rates_at_worst(np.array([0.9, 0.8, 0.5]), macroreps * contexts, rng, ALPHA / contexts)
        rows.append(_row("success rates", contexts, "at the worst moment", sound, np.nan, 1.0))
    return pd.DataFrame(rows)


def _row(
    name: str, contexts: int, how: str, right: BoolArray, spent: float, certified: float
) -> dict[str, object]:
    whole = np.asarray(right.reshape(-1, contexts).all(axis=-1))
    share = float(whole.mean())
    return {
        "configuration": name,
        "contexts": contexts,
        "judged": how,
        "macroreps": len(whole),
        "right": share,
        "right_se": float(np.sqrt(share * (1 - share) / len(whole))),
        "certified": certified,
        "replications": spent,
    }


def costs(macroreps: int) -> pd.DataFrame:
    """Return a row per gap of the slippage configuration: replications here and of KN, and shares right."""
    rows = []
    for number, gap in enumerate(GAPS):
        rng = np.random.default_rng([SEED, 200 + number])
        mean, std = np.tile(slippage(gap), (macroreps, 1)), np.ones((macroreps, K))
        chosen, theirs = kn(mean, std, rng, alpha=ALPHA, delta=DELTA)
        row = {"gap": gap, "delta": DELTA, "kn": theirs.mean(), "kn_right": float((chosen == 0).mean())}
        for name, delta in (("guaranteed", DELTA), ("strictly_best", 0.0)):
            loss, spent, _ = stopped(mean, std, missing, rng, alpha=ALPHA, delta=delta, most=HORIZON)
            row |= {name: spent.mean(), f"{name}_right": float((loss == 0).mean())}
        rows.append({**row, "ratio": row["guaranteed"] / row["kn"]})
    return pd.DataFrame(rows)


# The parts by name: the tables that each writes, and what measures them from a number of runs.
TABLES: dict[str, dict[str, Callable[[int], pd.DataFrame]]] = {
    "cost": {"guarantee_cost": costs},
    "shares": {"guarantee": shares},
    "laws": {"guarantee_laws": false_alarms, "guarantee_checks": costs_of_checks},
}


@click.command("python -m experiments.guarantee")
@click.option("--only", type=click.Choice(list(TABLES)), help="One part of it.  [default: all]")
@click.option("--macroreps", type=click.IntRange(2), default=MACROREPS, show_default=True, help="Of each.")
@click.option("--runs", type=click.IntRange(2), default=RUNS, show_default=True, help="Of each law.")
@command_options.out("guarantee", "the tables")
def main(only: str | None, macroreps: int, runs: int, out: Path) -> None:
    """Test the guarantee without a model, and compare its cost with KN.

    cost: replications beside KN. shares: how often it is right for normal rewards. laws: how often it is
    wrong where rewards are not normal, and what the checks for that cost.
    """
    prepare(out)
    written = []
    for part, tables in TABLES.items():
        for name, measured in tables.items() if only in (None, part) else ():
            found = measured(runs if part == "laws" else macroreps)
            written.append(write_csv(out / f"{name}.csv", found))
            table(found.columns, [tuple(map(str, row)) for row in found.round(3).to_numpy()])
    list_written(written)


if __name__ == "__main__":
    main()
