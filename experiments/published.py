"""Published numbers: curves behind the paper's figures, read from a file, and the times of its Table 1."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from argbest.errors import InputError

COLUMNS = (
    *("experiment", "objective", "algorithm", "iteration"),
    *("pcs_as_plotted", "stderr", "n_rep", "pcs_by_definition"),
)
_NUMBERS = ("iteration", "pcs_as_plotted", "stderr", "n_rep", "pcs_by_definition")
MEASURES = {"mean": "pcs_e", "worst": "p_all"}
PROBLEMS = {"branin": "branin", "griewank": "griewank", "hartmann": "hartmann3", "cosine8": "cosine8"}
# The published IKG looks ahead almost without noise, for it mixes the units of noise and covariance.
CONTENDERS = {
    "GP-C-OCBA": "gp-c-ocba",
    "IKG": "ikg-noise-free",
    "C-OCBA": "c-ocba",
    "DSCO": "dsco",
    "TS": "ts",
    "TS+": "ts-plus",
}
# Seconds of wall clock per 1,000 iterations on 4 cores: Table 1 of the paper.
SECONDS = {
    "ikg": {"branin": 1218.0, "griewank": 3807.0, "hartmann3": 11096.0, "cosine8": 43224.0},
    "gp-c-ocba": {"branin": 249.0, "griewank": 293.0, "hartmann3": 441.0, "cosine8": 544.0},
}
CORES = 4
# PCS after 0, 100, 500, 1000 and 1999 replications (of Hartmann's IKG 1,000 were run), behind Figure 2.
QUOTED = {
    ("branin", "pcs_e"): {
        "gp-c-ocba": "0.785/0.884/0.922/0.946/0.972",
        "ikg-noise-free": "0.785/0.886/0.934/0.942/0.954",
        "c-ocba": "0.708/0.808/0.850/0.870/0.903",
        "dsco": "0.708/0.800/0.838/0.865/0.901",
        "ts": "0.880/0.893/0.922/0.945/0.950",
        "ts-plus": "0.888/0.899/0.910/0.926/0.941",
    },
    ("branin", "p_all"): {
        "gp-c-ocba": "0.07/0.25/0.42/0.54/0.74",
        "ikg-noise-free": "0.07/0.17/0.53/0.64/0.79",
        "c-ocba": "0.04/0.09/0.17/0.23/0.36",
        "dsco": "0.04/0.06/0.13/0.16/0.37",
        "ts": "0.16/0.21/0.38/0.54/0.56",
        "ts-plus": "0.16/0.22/0.21/0.40/0.52",
    },
    ("hartmann3", "pcs_e"): {
        "gp-c-ocba": "0.098/0.140/0.169/0.191/0.224",
        "ikg-noise-free": "0.098/0.141/0.173/0.201/-",
    },
}
_APART = 1  # replications between a published iteration and a checkpoint of ours that count as the same
_ALSO = {"ikg-noise-free": ("ikg",)}  # IKG as defined is set beside the published one, too
LANDMARKS = (0, 100, 500, 1000)  # and the last


class Sample(NamedTuple):
    """A mean of n macro-replications and its standard error."""

    value: float
    se: float
    n: int


def read(path: Path) -> pd.DataFrame:
    """Return the published curves under our names.

    These are problem, measure, contender, replications, value, se, n and pcs_m.

    ``value`` is what was plotted. ``pcs_m`` is min_c PCS(c) for the worst-case panels, else unknown.
    """
    table = _table(path)
    column = {name: pd.to_numeric(table[name], errors="coerce") for name in _NUMBERS}
    for name in _NUMBERS:
        _check(path, name, bool(column[name].isna().any()), "is not a number everywhere")
    frame = pd.DataFrame(
        {
            "problem": table["experiment"].replace(PROBLEMS),
            "measure": table["objective"].map(MEASURES),
            "contender": table["algorithm"].map(CONTENDERS),
            "replications": column["iteration"].astype(int),
            "value": column["pcs_as_plotted"],
            "se": column["stderr"],
            "n": column["n_rep"].astype(int),
        }
    )
    for name, own, known in (("objective", "measure", MEASURES), ("algorithm", "contender", CONTENDERS)):
        wrong = bool(frame[own].isna().any())
        _check(path, name, wrong, f"has a name that is none of {', '.join(known)}")
    frame["pcs_m"] = np.where(frame["measure"] == "p_all", column["pcs_by_definition"], np.nan)
    return frame


def compare(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return ours, published, and their difference in combined standard errors at the landmarks.

    ``ours`` has the columns of Figure 2's numbers. Both are scored equally many replications after the
    initial design, also TS and TS+; a published last iteration of 1999 meets our checkpoint at 2000.
    Standard errors combine as √(s₁² + s₂²); those of P_all come from the share of both together, which
    knows an error even if none or all selections are right.
    """
    rows = []
    for key, curve in theirs.groupby(["problem", "measure", "contender"], sort=False):
        published_as = str(key[2])
        for contender in (published_as, *_ALSO.get(published_as, ())):
            own = ours[
                (ours["problem"] == key[0]) & (ours["measure"] == key[1]) & (ours["contender"] == contender)
            ]
            if len(own):
                rows += [_row(contender, own, curve, i) for i in _landmarks(own, curve)]
    columns = ["problem", "measure", "contender", "replications", "published_replications"]
    columns += ["ours", "ours_se", "published", "published_se", "difference", "pcs_m", "published_pcs_m"]
    return pd.DataFrame(rows, columns=columns)


def gap_in_errors(first: Sample, second: Sample, *, proportion: bool) -> float:
    """Return the difference of two means in combined standard errors; 0 if they are equal.

    √(s₁² + s₂²), or of proportions √(p (1 − p) (1/n₁ + 1/n₂)) with p the share of both together. Unknown if
    a single macro-replication leaves an error unknown.
    """
    gap = first.value - second.value
    combined = math.hypot(first.se, second.se)
    if proportion:
        share = (first.value * first.n + second.value * second.n) / (first.n + second.n)
        combined = math.sqrt(max(share * (1.0 - share), 0.0) * (1.0 / first.n + 1.0 / second.n))
    if combined == 0.0:
        return 0.0 if gap == 0.0 else math.copysign(math.inf, gap)
    return gap / combined


def largest(comparison: pd.DataFrame) -> dict[tuple[str, ...], float]:
    """Return the difference that is largest in size, by (problem, measure, contender), where one is known."""
    known = comparison[comparison["difference"].notna()]
    ordered = known.iloc[np.argsort(known["difference"].abs().to_numpy(), kind="stable")]
    keys = ordered[["problem", "measure", "contender"]].itertuples(index=False, name=None)
    return dict(zip(keys, ordered["difference"].tolist(), strict=True))


def _landmarks(own: pd.DataFrame, curve: pd.DataFrame) -> list[int]:
    """Return the published iterations to compare at: the landmarks and the last one that we have too."""
    checkpoints = own["replications"].to_numpy()
    shared = [i for i in curve["replications"].tolist() if np.abs(checkpoints - i).min() <= _APART]
    return sorted({i for i in LANDMARKS if i in shared} | set(shared[-1:]))


def _row(contender: str, own: pd.DataFrame, curve: pd.DataFrame, at: int) -> dict[str, object]:
    theirs = curve[curve["replications"] == at].iloc[0]
    ours = own.iloc[int(np.argmin(np.abs(own["replications"].to_numpy() - at)))]
    first, second = (Sample(float(row["value"]), float(row["se"]), int(row["n"])) for row in (ours, theirs))
    return {
        "problem": theirs["problem"],
        "measure": theirs["measure"],
        "contender": contender,
        "replications": int(ours["replications"]),
        "published_replications": at,
        "ours": first.value,
        "ours_se": first.se,
        "published": second.value,
        "published_se": second.se,
        "difference": gap_in_errors(first, second, proportion=theirs["measure"] == "p_all"),
        "pcs_m": ours["pcs_m"],
        "published_pcs_m": theirs["pcs_m"],
    }


def _table(path: Path) -> pd.DataFrame:
    """Return the file as it is, if it has the columns."""
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(
            f"cannot read published curves from {str(path)!r}: {reason}. Name a CSV file."
        ) from error
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise InputError(
            f"{str(path)!r} lacks the columns {', '.join(missing)}; published curves have the columns "
            f"{', '.join(COLUMNS)}. Add them."
        )
    return table


def _check(path: Path, column: str, wrong: bool, what: str) -> None:
    if wrong:
        raise InputError(f"the column {column} of {str(path)!r} {what}. Correct the file.")
