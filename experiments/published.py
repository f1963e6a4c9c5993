"""Published curves behind the paper's figures, read from a file, beside ours; numbers known without one."""

from pathlib import Path

import numpy as np
import pandas as pd

from argbest.errors import InputError
from argbest.experiment.published import MeanOfRuns, gap_in_errors, numbers

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
_APART = 1  # replications between a published iteration and a checkpoint of ours that count as the same
_ALSO = {"ikg-noise-free": ("ikg",)}  # IKG as defined is set beside the published one, too
LANDMARKS = (0, 100, 500, 1000)  # and the last


def quoted(problem: str, measure: str) -> dict[str, str]:
    """Return the published PCS at the landmarks, by contender, as in "0.785/0.884/0.922/0.946/0.972".

    "-" stands for a last one that was not reached.
    """
    known = numbers()
    own = known[(known["problem"] == problem) & (known["measure"] == measure)]
    digits = 2 if measure == "p_all" else 3
    found = {}
    for contender, curve in own.groupby("contender", sort=False):
        values = [f"{value:.{digits}f}" for value in curve["value"]]
        values += ["-"] * (len(LANDMARKS) + 1 - len(values))
        found[str(contender).partition(":")[0]] = "/".join(values)
    return found


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
    first, second = (
        MeanOfRuns(float(row["value"]), float(row["se"]), int(row["n"])) for row in (ours, theirs)
    )
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
