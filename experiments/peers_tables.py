"""What the runs of `experiments.peers` show: losses, samples needed, standing, claims, times."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from argbest.core.arrays import Array
from experiments.peers import BUDGETS, GOAL, LIVE, OURS, PROBLEMS

RESAMPLES, TAIL = 500, 0.05  # for an interval of the samples needed, over macro-replications
NEARLY = 1e-9
ANSWERS = (  # in the order in which they are shown
    *(OURS, "equal", "equal, own seeds", "OCBA", "halving", "KN", "Optuna", "Optuna, average"),
    *("BoTorch", "SMAC3"),
)


def pairs(problem: str) -> int:
    """Return the number of pairs of a problem."""
    return int(np.prod(PROBLEMS[problem](0).shape))


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return all tables by name."""
    rows = rows[rows["method"].isin((*ANSWERS, LIVE)) & rows["problem"].isin(list(PROBLEMS))]
    rows = rows.assign(pairs=rows["problem"].map({name: pairs(name) for name in PROBLEMS}))
    rows = rows.assign(per_pair=rows["samples"] / rows["pairs"])
    found = needed(rows)
    return {
        "losses": losses(rows),
        "needed": found,
        "standing": standing(found),
        "bars": bars(found),
        "claims": claims(rows),
        "times": times(rows),
    }


def losses(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem, method and budget: macro-replications, loss, share right, what was claimed.

    KN stands at the budget NaN, where it stopped.
    """
    found = []
    for problem, method, own in _cells(rows, (*ANSWERS, LIVE)):
        for budget in (np.nan,) if method == "KN" else BUDGETS:
            there = own if method == "KN" else at_budget(own, method, budget)
            there = there[there["loss"].notna()]
            if len(there):
                found.append(
                    {
                        "problem": problem,
                        "method": method,
                        "budget": budget,
                        "runs": len(there),
                        "per_pair": there["per_pair"].mean(),
                        "loss": there["loss"].mean(),
                        "loss_se": there["loss"].sem(),
                        "right": there["right"].mean(),
                        "claimed": there["claimed"].mean(),
                    }
                )
    return pd.DataFrame(found)


def at_budget(own: pd.DataFrame, method: str, budget: float) -> pd.DataFrame:
    """Return what a method had found with a budget, a row per macro-replication; SMAC3 may have ended before.

    argbest and halving were told a budget: the row is that of a run which was told this one, or a larger one.
    """
    if method == "SMAC3":
        return pd.DataFrame(own[own["per_pair"] <= budget + NEARLY].groupby("seed").tail(1))
    if method == "halving":
        return own[own["budget"] == budget]
    told = BUDGETS[0] if budget == BUDGETS[0] else BUDGETS[-1]
    there = (own["per_pair"] - budget).abs() < NEARLY
    return own[there & (own["budget"] == told)] if method == OURS else own[there]


def needed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem and method: the samples at which the mean loss is below the goal, per pair.

    Infinite where it never was; ``until`` is how far it was looked at. The interval from ``low`` to ``high``
    has 90 % of the numbers that resampled macro-replications need.
    """
    found, random = [], np.random.default_rng(0)
    for problem, method, own in _cells(rows):
        if method == "KN":
            reached, low, high, runs, until = _stopped(own, random)
        elif not (curves := list(_curves(own, method))):
            reached, low, high, runs, until = np.inf, np.inf, np.inf, own["seed"].nunique(), np.nan
        else:
            reached, until = first_below(curves), max(at[-1] for at, _ in curves)
            again = [first_below(_resampled(curves, random)) for _ in range(RESAMPLES)]
            low, high = np.quantile(again, (TAIL, 1 - TAIL), method="nearest")
            runs = len(curves[0][1])
        found.append(
            {
                "problem": problem,
                "method": method,
                "runs": runs,
                "per_pair": reached,
                "low": low,
                "high": high,
                "until": until,
                "samples": reached * int(own["pairs"].iloc[0]),
            }
        )
    return pd.DataFrame(found)


def _stopped(own: pd.DataFrame, random: np.random.Generator) -> tuple[float, float, float, int, float]:
    """Return what KN needed, its interval, macro-replications, and the samples of the longest one."""
    ended = own[own["loss"].notna()]
    if len(ended) < len(own) or ended["loss"].mean() >= GOAL:
        return np.inf, np.inf, np.inf, len(own), float(ended["per_pair"].mean()) if len(ended) else np.nan
    each = ended["per_pair"].to_numpy(float)
    again = random.choice(each, (RESAMPLES, len(each))).mean(axis=1)
    low, high = np.quantile(again, (TAIL, 1 - TAIL))
    return float(each.mean()), float(low), float(high), len(each), float(each.max())


def _curves(own: pd.DataFrame, method: str) -> Iterator[tuple[Array, Array]]:
    """Yield looks per pair [look] and losses [macro-replication, look] of every run that is read in turn."""
    if method == "halving":
        own = own.assign(budget=np.nan)
    after = 0.0
    for _, run in own.assign(budget=own["budget"].fillna(0.0)).groupby("budget"):
        table = run.drop_duplicates(["seed", "per_pair"]).pivot(
            index="seed", columns="per_pair", values="loss"
        )
        if method == "SMAC3":
            table = table.ffill(axis=1).dropna(axis=1)
        at, losses_there = table.columns.to_numpy(float), table.dropna().to_numpy(float)
        later = at > after - NEARLY
        if later.any() and len(losses_there):
            after = float(at.max())
            yield at[later], losses_there[:, later]


def first_below(curves: list[tuple[Array, Array]]) -> float:
    """Return the first look at which the mean loss is below the goal, there and at the next of its run."""
    for at, losses_there in curves:
        below = losses_there.mean(axis=0) < GOAL
        kept = below & np.append(below[1:], True)
        if kept.any():
            return float(at[kept.argmax()])
    return np.inf


def _resampled(curves: list[tuple[Array, Array]], random: np.random.Generator) -> list[tuple[Array, Array]]:
    return [(at, each[random.integers(len(each), size=len(each))]) for at, each in curves]


def standing(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem: what argbest needs, the best other method, equal allocation, and both aims.

    ``best_other`` is NaN where no other method got there; a method is not counted beyond where it was run.
    """
    rows = []
    for problem, own in found.groupby("problem", sort=False):
        per_pair = own.set_index("method")["per_pair"]
        if OURS not in per_pair.index:
            continue
        others = per_pair.drop(OURS)
        other = others[np.isfinite(others)]
        equal = float(per_pair.get("equal", np.nan))
        rows.append(
            {
                "problem": problem,
                "argbest": per_pair[OURS],
                "until": own.set_index("method").loc[OURS, "until"],
                "best_other": other.min() if len(other) else np.nan,
                "who": other.idxmin() if len(other) else "",
                "equal": equal,
                "equal_own": float(per_pair.get("equal, own seeds", np.nan)),
                "share_of_equal": per_pair[OURS] / equal if np.isfinite(per_pair[OURS]) else np.nan,
                "fewest": bool(np.isfinite(per_pair[OURS]) and not (other < per_pair[OURS] - NEARLY).any()),
                "fifth": bool(np.isfinite(per_pair[OURS]) and per_pair[OURS] <= equal / 5.0 + NEARLY),
            }
        )
    return pd.DataFrame(rows)


def claims(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per method that claims something and budget: what it claimed and what was right."""
    each = losses(rows)
    told = each[each["claimed"].notna()].assign(when=lambda frame: frame["budget"].fillna(-1.0))
    grouped = told.groupby(["method", "when"], sort=False)
    found = grouped.agg(
        problems=("problem", "size"),
        claimed=("claimed", "mean"),
        right=("right", "mean"),
        worst=("right", lambda right: (right - told.loc[right.index, "claimed"]).min()),
    )
    return found.reset_index().rename(columns={"when": "budget"})


def times(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per method: milliseconds of processor time per replication, the median over problems."""
    found = []
    for problem, method, own in _cells(rows, (LIVE, *ANSWERS[1:])):
        ended = own[own["loss"].notna()]
        there = ended.groupby("seed").tail(1) if method in ("KN", "SMAC3") else at_budget(ended, method, 5.0)
        if not len(there):
            there = at_budget(ended, method, 2.0)
        found.append((method, problem, 1e3 * float((there["seconds"] / there["samples"]).median())))
    frame = pd.DataFrame(found, columns=["method", "problem", "ms"])
    return frame.groupby("method", sort=False)["ms"].agg(["median", "min", "max", "size"]).reset_index()


def _cells(rows: pd.DataFrame, methods: tuple[str, ...] = ANSWERS) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the rows of every problem and method, in this order."""
    for problem in PROBLEMS:
        for method in methods:
            own = rows[(rows["problem"] == problem) & (rows["method"] == method)]
            if len(own):
                yield problem, method, own


def bars(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row per method: the samples it needs over argbest's, the geometric mean over problems.

    Of problems that the method was run on and where argbest reached the goal. Where the method did not, how
    far it was run counts, so that the ratio is a bound from below, and ``short`` says how often; if it was
    not run as far as argbest needs, nothing is known, and the problem does not count.
    """
    wide, far = (
        found.pivot(index="problem", columns="method", values=name).reindex(columns=list(ANSWERS))
        for name in ("per_pair", "until")
    )
    own, rows = wide[OURS].where(np.isfinite(wide[OURS])), []
    for method in wide.columns:
        short = np.isinf(wide[method])
        ratio = (wide[method].where(~short, far[method]) / own).where(~short | (far[method] >= own)).dropna()
        if len(ratio):
            held = int(short[ratio.index].sum())
            rows.append((method, float(np.exp(np.log(ratio).mean())), len(ratio), held))
    return pd.DataFrame(rows, columns=["method", "ratio", "problems", "short"])
