"""Published results beside ours: numbers that were printed for problems that ship, and our runs for each.

`published.csv` holds them: a row per problem, measure, contender and number of replications after the initial
design, with the mean of n macro-replications and its standard error. `figure-2` are the curves behind Figure
2 of Cakmak, Gao and Zhou, "Contextual Ranking and Selection with Gaussian Processes"; `baseline` is the
baseline of Kim, Kim and Song, "Selection of the most probable best" (2024).
"""

import io
import math
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from argbest.checks import one_of
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.question import BEST
from argbest.core.questions.contexts import Contexts
from argbest.core.questions.one_for_all import MostProbableBest, WinnerOfMost
from argbest.experiment.results import Results
from argbest.experiment.runner import run
from argbest.experiment.spec import Contender, Experiment
from argbest.study.run_options import Progress

MACROREPS = 20  # of a quick look, a minute or two
# Seconds of wall clock per 1,000 replications on 4 cores: Table 1 of Cakmak, Gao and Zhou.
SECONDS = {
    "ikg": {"branin": 1218.0, "griewank": 3807.0, "hartmann3": 11096.0, "cosine8": 43224.0},
    "gp-c-ocba": {"branin": 249.0, "griewank": 293.0, "hartmann3": 441.0, "cosine8": 544.0},
}
CORES = 4
SOURCES = {
    "figure-2": "Cakmak, Gao and Zhou, Contextual Ranking and Selection with Gaussian Processes, Figure 2",
    "baseline": "Kim, Kim and Song, Selection of the most probable best (2024), baseline",
}
MEASURES = {
    "pcs_e": "mean probability of correct selection, by the weights of the contexts",
    "p_all": "probability that all contexts are right at once",
    "p_false": "probability of a false choice",
}
_PROPORTIONS = ("p_all", "p_false")
_KEYS = ["problem", "measure", "contender"]
_CHECKPOINT_EVERY = {"figure-2": 100, "baseline": 5_000}


class MeanOfRuns(NamedTuple):
    """A mean of n macro-replications and its standard error."""

    value: float
    se: float
    n: int


def gap_in_errors(first: MeanOfRuns, second: MeanOfRuns, *, proportion: bool) -> float:
    """Return the difference of two means in combined standard errors; 0 if they are equal.

    √(s₁² + s₂²), or of proportions √(p (1 − p) (1/n₁ + 1/n₂)) with p the share of both together. Unknown if
    a single macro-replication leaves an error unknown.

    Args:
        first: One mean, its standard error and its number of macro-replications.
        second: The other one.
        proportion: Whether both are shares of macro-replications.
    """
    gap = first.value - second.value
    combined = math.hypot(first.se, second.se)
    if proportion:
        share = (first.value * first.n + second.value * second.n) / (first.n + second.n)
        combined = math.sqrt(max(share * (1.0 - share), 0.0) * (1.0 / first.n + 1.0 / second.n))
    if combined == 0.0:
        return 0.0 if gap == 0.0 else math.copysign(math.inf, gap)
    return gap / combined


@dataclass(frozen=True)
class CountedVotes(MostProbableBest):
    """The most probable best as published: the alternative whose means are the best in most contexts.

    Of alternatives with equally many contexts the last is named. In the published problems the first one is
    right, so that a tie is a false choice, as it is there.
    """

    name: ClassVar[str] = "counted-votes"

    def about(self, contexts: Contexts) -> "WinnerByCount":
        """Return the question to a table with these contexts."""
        return WinnerByCount(contexts)


@dataclass(frozen=True, eq=False)
class WinnerByCount(WinnerOfMost):
    """The same, put to the contexts of a problem."""

    name: ClassVar[str] = CountedVotes.name

    def choice(self, belief: Belief) -> IntArray:
        """Return the alternative with most contexts, [...]."""
        return last_of_most(BEST.choice(belief), belief.mean.shape[-2])


def last_of_most(best: IntArray, n_alternatives: int) -> IntArray:
    """Return which alternative is named most often in [..., context], the last one of equals."""
    votes = np.sum(best[..., None] == np.arange(n_alternatives), axis=-2)
    return np.asarray(n_alternatives - 1 - np.argmax(votes[..., ::-1], axis=-1))


def numbers() -> pd.DataFrame:
    """Return the published numbers: source, problem, measure, contender, replications, value, se and n."""
    text = (files("argbest.experiment") / "published.csv").read_text(encoding="utf-8")
    return pd.read_csv(io.StringIO(text))


def problems() -> list[str]:
    """Return the problems of which published numbers are known."""
    return list(dict.fromkeys(numbers()["problem"]))


def beside_ours(
    problem: str | None = None,
    *,
    macroreps: int = MACROREPS,
    seed: int = 0,
    jobs: int = 1,
    out: str | Path | None = None,
    progress: bool | Progress = False,
) -> pd.DataFrame:
    """Return every published number of a problem, or of all, beside ours from ``macroreps`` runs.

    Columns: source, problem, measure, contender, replications and published_replications (1,999 where we look
    at 2,000), published, published_se and published_n, ours, ours_se and n, and their ``difference`` in
    combined standard errors (`gap_in_errors`). Alternatives
    do not share random numbers, as in the publications. ``seconds`` is the processor time per 1,000
    replications of ours, and ``published_seconds`` the wall clock time of theirs on `CORES` cores, where
    Table 1 of Cakmak, Gao and Zhou has it.

    Args:
        problem: One of `problems`; None: all of them.
        macroreps: Macro-replications of ours; 20 take a minute or two.
        seed: Where all random numbers come from.
        jobs: Processes to use.
        out: A folder that keeps finished work, for the same call to continue there.
        progress: Shows a bar, or is called with (done, all) replications.
    """
    table = numbers()
    if problem is not None:
        table = table[table["problem"] == one_of("problem with published numbers", problem, problems())]
    rows = []
    for (source, name, weights), theirs in table.assign(weights=_weights(table)).groupby(
        ["source", "problem", "weights"], sort=False
    ):
        asked = _experiment(str(source), str(name), str(weights), theirs, macroreps=macroreps, seed=seed)
        folder = None if out is None else Path(out) / f"{name}-{weights}"
        found = run(asked, jobs=jobs, out=folder, progress=progress, apart=True)
        rows += _rows(theirs, found)
    order = {
        key: i for i, key in enumerate(table[_KEYS].drop_duplicates().itertuples(index=False, name=None))
    }
    rows.sort(key=lambda row: (order[tuple(row[key] for key in _KEYS)], row["replications"]))
    return pd.DataFrame(rows)


def _weights(table: pd.DataFrame) -> list[str]:
    """Return the weights of every row: equal ones of IKG's worst-case runs; no other policy uses weights."""
    uses = table["contender"].str.startswith("ikg") & (table["measure"] == "p_all")
    return ["uniform" if each else "problem" for each in uses]


def _experiment(
    source: str, problem: str, weights: str, theirs: pd.DataFrame, *, macroreps: int, seed: int
) -> Experiment:
    every = _CHECKPOINT_EVERY[source]
    special: dict[str, Any] = {"question": CountedVotes(), "refit_every": 50} if source == "baseline" else {}
    return Experiment(
        problem,
        [Contender.named(name) for name in dict.fromkeys(theirs["contender"])],
        replications=every * math.ceil(int(theirs["replications"].max()) / every),
        macroreps=macroreps,
        seed=seed,
        checkpoint_every=every,
        common_random_numbers=False,
        weights=weights,
        **special,
    )


def _rows(theirs: pd.DataFrame, found: Results) -> list[dict[str, Any]]:
    """Return a row per published number, with what was found at the same number of replications."""
    summary = found.summary()
    rows = []
    for row in theirs.to_dict("records"):
        own = summary[summary["contender"] == row["contender"]]
        at = own.loc[(own["replications"] - row["replications"]).abs().idxmin()]  # 2,000 meets 1,999
        ours = _our_mean(at, row["measure"], found.macroreps)
        published = MeanOfRuns(row["value"], row["se"], row["n"])
        last = own.iloc[-1]
        rows.append(
            {key: row[key] for key in ("source", *_KEYS)}
            | {"replications": int(at["replications"]), "published_replications": row["replications"]}
            | {"published": published.value, "published_se": published.se, "published_n": published.n}
            | {"ours": ours.value, "ours_se": ours.se, "n": ours.n}
            | {"difference": gap_in_errors(ours, published, proportion=row["measure"] in _PROPORTIONS)}
            | {"seconds": 1_000 * float(last["seconds"]) / float(last["replications"])}
            | {"published_seconds": _published_seconds(row["problem"], row["contender"])}
        )
    return rows


def _our_mean(at: "pd.Series[Any]", measure: str, n: int) -> MeanOfRuns:
    """Return our mean of a measure; a false choice is what is not right."""
    name = "pcs_e" if measure == "p_false" else measure
    value, se = float(at[name]), float(at[f"{name}_se"])
    return MeanOfRuns(1.0 - value if measure == "p_false" else value, se, n)


def _published_seconds(problem: str, contender: str) -> float:
    policy = contender.partition(":")[0]
    return SECONDS.get("ikg" if policy == "ikg-noise-free" else policy, {}).get(problem, math.nan)
