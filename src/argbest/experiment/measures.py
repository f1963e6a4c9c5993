"""Measures of performance, with their uncertainty over macro-replications."""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from argbest.core.arrays import Array, IntArray
from argbest.experiment.loop import PARTS, Trace
from argbest.problems.base import Problem

PCS = 0.9  # to be reached, where none is given
_NORMAL_975 = 1.959963984540054  # the 97.5 % point of the standard normal
# What is averaged over macro-replications: its name in the summary, its column in the frame of runs.
_AVERAGES = {
    "pcs_e": "share_correct",
    "p_all": "all_correct",
    "pgs": "share_good",
    "eoc": "cost",
    "infeasible": "infeasible",
}
COUNTS = ("macroreplication", "replications", "n_initial", "all_correct")
TIMES = ("seconds", *(f"{part}_seconds" for part in PARTS))
_SCORES = ("share_correct", "all_correct", "share_good", "cost", "infeasible", "claim", "correct", "claims")
UNKNOWN = ("claim", "infeasible")  # these may be: without a certificate, without limits
COLUMNS = (*COUNTS[:-1], *_SCORES, *TIMES)


def scored(
    trace: Trace, problems: Sequence[Problem], numbers: IntArray, checkpoints: IntArray, delta: float
) -> pd.DataFrame:
    """Return one row per macro-replication and checkpoint: how right the selections are, and what they took.

    ``replications`` are those after the initial design, which has ``n_initial``. ``correct`` holds a 1 or a 0
    per context, as text, ``claims`` what the certificate says of each (`packed`). ``share_correct`` and
    ``share_good`` are Σ_c w_c over the contexts selected right or within delta of the best, ``cost`` is
    Σ_c w_c (best − selected), ``infeasible`` the share Σ_c w_c of those where a limit is broken (NaN without
    limits), ``claim`` the certificate's PCS_E. Seconds are processor time since the
    start, a macro-replication's share.
    """
    n_checkpoints, n_runs = trace.selected.shape[:2]
    question, limits = problems[0].setting.question, bool(problems[0].limits)
    each = [
        (
            problem.correct(chosen, question),
            problem.good(chosen, delta, question),
            problem.opportunity_cost(chosen, question),
            problem.infeasible(chosen, question) if limits else np.zeros(1),
        )
        for problem, chosen in zip(problems, np.moveaxis(trace.selected, 1, 0), strict=True)
    ]
    # [run, checkpoint, context]
    correct, good, cost, infeasible = (np.stack(some) for some in zip(*each, strict=True))
    weights, claims = question.parts(problems[0].weights), np.moveaxis(trace.claim, 1, 0)
    times = {"seconds": trace.seconds["all"], **{f"{part}_seconds": trace.seconds[part] for part in PARTS}}
    return pd.DataFrame(
        {
            "macroreplication": np.repeat(numbers, n_checkpoints),
            "replications": np.tile(checkpoints, n_runs),
            "n_initial": np.full(n_checkpoints * n_runs, trace.n_initial),
            "share_correct": (correct @ weights).ravel(),
            "all_correct": correct.all(axis=-1).ravel().astype(np.int64),
            "share_good": (good @ weights).ravel(),
            "cost": (cost @ weights).ravel(),
            "infeasible": (infeasible @ problems[0].weights).ravel() if limits else np.nan,
            "claim": (claims @ weights).ravel(),
            "correct": [
                "".join("01"[flag] for flag in row) for row in correct.reshape(-1, len(weights)).astype(int)
            ],
            "claims": packed(claims.reshape(-1, len(weights))),
            **{name: np.tile(values / n_runs, n_runs) for name, values in times.items()},
        }
    )


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per checkpoint of the runs of one contender: every measure and its uncertainty.

    PCS_E, P_all, PGS(delta), EOC, the share of infeasible choices (NaN without limits) and the certificate's
    claim are means over macro-replications with standard errors (`_se`; unknown for a single one). PCS_M =
    min_c PCS(c) has the 95 % Wilson interval of the context where it is attained, P_all its own. Seconds are
    processor time per macro-replication so far.
    """
    table = runs.sort_values(["replications", "macroreplication"], kind="stable")
    table = table.assign(**{name: np.nan for name in UNKNOWN if name not in table.columns})
    checkpoints = table["replications"].unique()
    n_runs = len(table) // len(checkpoints)

    def matrix(name: str) -> Array:
        return table[name].to_numpy(float).reshape(len(checkpoints), n_runs)

    columns: dict[str, Array] = {"replications": checkpoints}
    for name, column in (_AVERAGES | {"certificate": "claim"}).items():
        columns[name], columns[f"{name}_se"] = mean_and_error(matrix(column))
    flags = np.array([[flag == "1" for flag in text] for text in table["correct"]])
    hits = flags.reshape(len(checkpoints), n_runs, -1).sum(axis=1).min(axis=-1)
    columns["pcs_m"] = hits / n_runs
    columns["pcs_m_low"], columns["pcs_m_high"] = wilson(hits, n_runs)
    columns["p_all_low"], columns["p_all_high"] = wilson(matrix("all_correct").sum(axis=1), n_runs)
    columns |= {name: matrix(name).mean(axis=1) for name in TIMES}
    return pd.DataFrame(columns).astype({"replications": np.int64})


def reached(summary: pd.DataFrame, *, pcs: float = PCS, loss: float | None = None) -> pd.DataFrame:
    """Return one row per contender: after how many replications it is good, and stays so.

    ``replications_to_pcs`` is where the mean curve of PCS_E last rises to ``pcs``, between checkpoints by a
    straight line; NaN where it never does or does not stay. ``replications_to_loss`` is the same for an
    expected opportunity cost of ``loss`` or below; `usual_loss` stands for None.
    """
    target = usual_loss(summary) if loss is None else loss
    rows = [
        (
            label,
            _settled(own["replications"].to_numpy(float), own["pcs_e"].to_numpy(float) - pcs),
            _settled(own["replications"].to_numpy(float), target - own["eoc"].to_numpy(float)),
        )
        for label, own in summary.groupby("contender", sort=False)
    ]
    return pd.DataFrame(rows, columns=["contender", "replications_to_pcs", "replications_to_loss"])


def usual_loss(summary: pd.DataFrame) -> float:
    """Return a tenth of the largest mean loss that a contender has after the initial design alone."""
    return float(0.1 * summary.loc[summary["replications"] == summary["replications"].min(), "eoc"].max())


def _settled(replications: Array, surplus: Array) -> float:
    """Return after how many replications a curve stays at 0 or above; NaN if it ends below 0."""
    short = np.flatnonzero(surplus < 0)
    if not len(short):
        return float(replications[0])
    i = short[-1]
    if i + 1 == len(replications):
        return float("nan")
    share = surplus[i] / (surplus[i] - surplus[i + 1])
    return float(replications[i] + share * (replications[i + 1] - replications[i]))


def mean_and_error(values: Array) -> tuple[Array, Array]:
    """Return the means over the last axis and their standard errors, which one value alone does not have."""
    n = values.shape[-1]
    if n == 1:
        return values[..., 0], np.full(values.shape[:-1], np.nan)
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(n)


def wilson(hits: Array, n: Array | int) -> tuple[Array, Array]:
    """Return the ends of the 95 % interval of a probability, given hits among n (Wilson 1927).

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n): never empty, also when all or none are hits.
    """
    share, z2 = np.asarray(hits) / n, _NORMAL_975**2 / n
    centre, half = share + z2 / 2, np.sqrt(z2 * (share * (1 - share) + z2 / 4))
    return np.maximum((centre - half) / (1 + z2), 0.0), np.minimum((centre + half) / (1 + z2), 1.0)


def joined(frames: dict[str, list[pd.DataFrame]], wanted: Collection[int]) -> pd.DataFrame:
    """Return the parts of all contenders in one frame, in order, with the wanted macro-replications only.

    If several parts hold a macro-replication, the first of them counts.
    """
    whole, order = [], ["macroreplication", "replications"]
    for label, parts in frames.items():
        frame = pd.concat(parts, ignore_index=True)
        frame.insert(0, "contender", label)
        own = frame[frame["macroreplication"].isin(wanted)]
        whole.append(own.drop_duplicates(order, keep="first"))
    return pd.concat([each.sort_values(order, kind="stable") for each in whole], ignore_index=True)


DIGITS = 4
_UNIT = 10**DIGITS
CLAIMS = rf"(\d{{{DIGITS}}})*"


def packed(claims: Array) -> list[str]:
    """Return a text per row of claims [row, context]: 0.95 is 9500, the most is 9999; none where unknown."""
    known = np.asarray(np.isfinite(claims).all(axis=-1))
    whole = np.clip(np.rint(np.where(known[:, None], claims, 0.0) * _UNIT), 0, _UNIT - 1).astype(np.int64)
    return [
        "".join(f"{each:0{DIGITS}d}" for each in row) if told else ""
        for row, told in zip(whole.tolist(), known.tolist(), strict=True)
    ]


def unpacked(texts: "pd.Series[str]") -> Array:
    """Return the claims [row, context] of such texts, all of which have some."""
    digits = np.array([list(text) for text in texts], np.int64).reshape(len(texts), -1, DIGITS)
    return np.asarray(digits @ 10 ** np.arange(DIGITS - 1, -1, -1) / _UNIT)
