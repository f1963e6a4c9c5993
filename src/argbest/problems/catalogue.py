"""The problems that ship, by name and version, with where they are from: a test bed to cite.

"queue-staffing" is the latest version of a problem, "queue-staffing@1" always the first. The truth, the
simulator and the axes of a version never change (`tests/problems/test_versions.py`). Who changes a problem
raises its ``version`` here and keeps the former one in a row of its own, under "queue-staffing@1".
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from argbest import named
from argbest.checks import whole
from argbest.errors import InputError
from argbest.lazy import later
from argbest.problems.base import Problem
from argbest.problems.design import Design, EveryPair, RandomContexts, SpaceFilling

if TYPE_CHECKING:
    import pandas as pd

# Each is imported when it is made: commands that need one shall not wait for all.
_synthetic, _covid, _queues, _call_centres, _facilities, _inventory, _prevention, _noisy, _votes = (
    later(f"argbest.problems.{name}")
    for name in (
        "synthetic", "covid.editions", "queues", "call_centres", "facilities", "inventory", "prevention",
        "noisy_table", "most_probable_best",
    )
)  # fmt: skip

_PINNED = re.compile(r"(?P<name>.+)@(?P<version>[1-9][0-9]*)")
_FIRST = 1  # version: that of problems that say nothing of it


class Family(Protocol):
    """Problems of one shape that differ in their truth: every macro-replication draws its own."""

    @property
    def name(self) -> str:
        """What the family is called."""

    @property
    def description(self) -> str:
        """What its problems have in common."""

    def draw(self, seed: int) -> Problem:
        """Return the problem of this seed; axes, weights and bounds do not depend on it.

        Args:
            seed: Which of the problems.
        """


class ProblemEntry(NamedTuple):
    """How to make a problem or a family, the initial design of experiments on it, and what to cite.

    Args:
        make: Returns the problem or the family.
        initial: The initial design of experiments on it, unless they are told another.
        version: The number that its name ends with where it is pinned, as in "queue-staffing@1".
        noise: What kind of noise it has, in words.
        source: Where it is from, in words.
    """

    make: Callable[[], Problem | Family]
    initial: Design = EveryPair(2)
    version: int = _FIRST
    noise: str = ""
    source: str = ""


_PAPER = "Cakmak, Gao and Zhou, Contextual Ranking and Selection with Gaussian Processes"
_PRINTED = f"{_PAPER}: as printed, where the experiments differ"
_CLEAR = f"argbest, after {_PAPER}: contexts with clear leads"
_VOTES = "Kim, Kim and Song, Selection of the most probable best (2024)"
_NORMAL, _UNEQUAL, _CALLS = "normal", "normal, unequal", "simulated queue, 60 calls"


def _of_paper(
    make: Callable[[], Problem], source: str = _PAPER, initial: Design | None = None
) -> ProblemEntry:
    return ProblemEntry(make, initial or EveryPair(2), noise=_NORMAL, source=source)


PROBLEMS: dict[str, ProblemEntry] = {
    "branin": _of_paper(lambda: _synthetic.branin()),
    "branin-text": _of_paper(lambda: _synthetic.branin_text(), _PRINTED),
    "branin-separated": _of_paper(lambda: _synthetic.branin_separated(), _CLEAR),
    "griewank": _of_paper(lambda: _synthetic.griewank()),
    "griewank-text": _of_paper(lambda: _synthetic.griewank_text(), _PRINTED),
    "griewank-separated": _of_paper(lambda: _synthetic.griewank_separated(), _CLEAR),
    "hartmann3": _of_paper(lambda: _synthetic.hartmann3(), initial=RandomContexts(6, replace=True)),
    "hartmann3-separated": _of_paper(lambda: _synthetic.hartmann3_separated(), _CLEAR),
    "cosine8": _of_paper(lambda: _synthetic.cosine8(), initial=RandomContexts(16, replace=True)),
    "cosine8-separated": _of_paper(
        lambda: _synthetic.cosine8_separated(), _CLEAR, RandomContexts(16, replace=True)
    ),
    "gp-draws": ProblemEntry(
        lambda: _noisy.gp_draws(), noise=_NORMAL, source=f"argbest: draws of the model of {_PAPER}"
    ),
    "trend-draws": ProblemEntry(
        lambda: _noisy.trend_draws(), noise=_NORMAL, source="argbest: draws of alternatives with a trend"
    ),
    "metric-draws": ProblemEntry(
        lambda: _noisy.metric_draws(), noise=_NORMAL, source="argbest: draws of alternatives on a line"
    ),
    "queue-staffing": ProblemEntry(
        lambda: _queues.queue_staffing(), noise=_CALLS, source="argbest: the queue M/M/c+M (Erlang A)"
    ),
    "call-centre": ProblemEntry(
        lambda: _call_centres.call_centre(), noise=_CALLS, source="argbest: the queue M/M/c (Erlang C)"
    ),
    "call-rush": ProblemEntry(
        lambda: _call_centres.call_rush(), noise=_CALLS, source="argbest: the queue M/M/c (Erlang C)"
    ),
    "call-lines": ProblemEntry(
        lambda: _call_centres.call_lines(), noise=_CALLS, source="argbest: the queue M/M/c/c+q"
    ),
    "facility-sizing": ProblemEntry(
        lambda: _facilities.facility_sizing(),
        SpaceFilling(150),
        noise="none in the cost, stock-outs 0 or 1",
        source="SimOpt library, FACSIZE-1, on a grid and with contexts",
    ),
    "newsvendor": ProblemEntry(
        lambda: _inventory.newsvendor(),
        noise="simulated demand, mean of 14 days",
        source="argbest: the newsvendor with negative binomial demand",
    ),
    "flow-line": ProblemEntry(
        lambda: _queues.flow_line(),
        SpaceFilling(150),
        noise="simulated line, 60 steps",
        source="argbest: two machines with a buffer (M/M/1/b+2)",
    ),
    "barrett-prevention": ProblemEntry(
        lambda: _prevention.barrett_prevention(),
        SpaceFilling(100),
        noise="simulated lives, mean of 50 patients",
        source="argbest: covariates and ranges of Shen, Hong and Zhang, Ranking and selection with "
        "covariates for personalized decision making (2021)",
    ),
    "serial-inventory": ProblemEntry(
        lambda: _inventory.serial_inventory(),
        SpaceFilling(150),
        noise="simulated demand, mean of 4 weeks",
        source="argbest: base-stock levels of three stages in a row",
    ),
    "classical": ProblemEntry(
        lambda: _noisy.classical(), noise=_UNEQUAL, source="textbooks: ranking and selection without contexts"
    ),
    "most-probable-best": ProblemEntry(
        lambda: _votes.most_probable_best(), EveryPair(5), noise=_UNEQUAL, source=_VOTES
    ),
    "most-probable-noisy": ProblemEntry(
        lambda: _votes.most_probable_best_noisy(), EveryPair(5), noise=_UNEQUAL, source=_VOTES
    ),
    "covid": ProblemEntry(
        lambda: _covid.covid(),
        noise="simulated epidemic",
        source=f"{_PAPER}: with fresh runs and a truth by long ones",
    ),
    "covid-paper": ProblemEntry(
        lambda: _covid.covid_paper(),
        noise="one of 30 stored runs",
        source=f"{_PAPER}: with 30 runs of each pair of our own",
    ),
    "covid-regional": ProblemEntry(
        lambda: _covid.covid_regional(),
        noise="simulated epidemic",
        source=f"argbest, after {_PAPER}: contexts by cases in two populations",
    ),
}


def problems() -> dict[str, ProblemEntry]:
    """Return all problems by name: those that ship, and those of other packages."""
    return named.everything("problems", PROBLEMS, _entry)


def problem_entry(name: str) -> ProblemEntry:
    """Return the entry of a problem or a family, by "queue-staffing" or, pinned, by "queue-staffing@1".

    Args:
        name: The name, as `argbest problems` lists it, with or without a version.
    """
    return _found(name)[1]


def problem(name: str, *, seed: int = 0) -> Problem:
    """Return a problem by its name, as it is or with a version; of a family, the draw of the seed.

    Args:
        name: The name, as `argbest problems` lists it, with or without a version.
        seed: Which draw of a family.
    """
    made = problem_entry(name).make()
    return made if isinstance(made, Problem) else made.draw(whole("seed", seed, at_least=0, below=2**64))


def pinned(name: str) -> str:
    """Return the name of a problem with its version, to be cited: "queue-staffing@1" of "queue-staffing".

    Args:
        name: The name, as `argbest problems` lists it, with or without a version.
    """
    plain, entry = _found(name)
    return f"{plain}@{entry.version}"


def lasting(name: str) -> str:
    """Return the name by which files know a version of a problem: of the first one, the name alone."""
    plain, entry = _found(name)
    return plain if entry.version == _FIRST else f"{plain}@{entry.version}"


def meant_by_lasting(name: str) -> str:
    """Return the pinned name of what a file means by `lasting`."""
    return name if _PINNED.fullmatch(name) else f"{name}@{_FIRST}"


def _found(name: str) -> tuple[str, ProblemEntry]:
    """Return the name of a problem without its version, and the entry of the version that is meant."""
    match = _PINNED.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        return name, named.one("problem", "problems", name, PROBLEMS, _entry)
    plain, version = match["name"], int(match["version"])
    latest = named.one("problem", "problems", plain, PROBLEMS, _entry)
    if latest.version == version:
        return plain, latest
    if named.known("problems", name, PROBLEMS):  # a former version has a row of its own
        return plain, named.one("problem", "problems", name, PROBLEMS, _entry)._replace(version=version)
    raise InputError(
        f"got problem {name!r}; the latest version of {plain!r} is {latest.version}, and there is no version "
        f"{version}. Name {plain}@{latest.version}, or {plain} for the latest."
    )


def _entry(made: Any) -> ProblemEntry:
    return made if isinstance(made, ProblemEntry) else ProblemEntry(made)


def table() -> "pd.DataFrame":
    """Return a row per problem: what it is called, how large it is, what is known of it, where it is from.

    Columns: ``problem`` (with its version), ``alternatives``, ``contexts``, ``pairs``, ``goal``,
    ``responses`` and ``limits`` (as texts, empty where there is one response or no limit), ``question``,
    ``truth`` ("exact", "estimated" with the largest standard error in ``truth_se``, or "unknown"),
    ``drawn`` (whether every seed has a truth of its own), ``noise`` (its kind) and ``noise_sd_min``,
    ``noise_sd_max`` (of the goal, over all pairs; of drawn problems those of seed 0), ``source``,
    ``description``. Problems of other packages are there, too.
    """
    import pandas as pd

    return pd.DataFrame([_row(name, entry) for name, entry in problems().items()])


def _row(name: str, entry: ProblemEntry) -> dict[str, Any]:
    made = entry.make()
    drawn = not isinstance(made, Problem)
    first = made if isinstance(made, Problem) else made.draw(0)
    noise, error = first.goal_noise_sd, first.truth_se
    uncertain = error is not None and bool(np.any(error > 0))
    return {
        "problem": pinned(name),
        "alternatives": first.n_alternatives,
        "contexts": first.n_contexts,
        "pairs": first.n_alternatives * first.n_contexts,
        "goal": first.goal,
        "responses": ", ".join(first.responses),
        "limits": ", ".join(map(str, first.limits)),
        "question": first.question.name,
        "truth": "unknown" if first.truth is None else "estimated" if uncertain else "exact",
        "truth_se": np.nan if error is None else float(error.max()),
        "drawn": drawn,
        "noise": entry.noise,
        "noise_sd_min": np.nan if noise is None else float(noise.min()),
        "noise_sd_max": np.nan if noise is None else float(noise.max()),
        "source": entry.source,
        "description": first.description,
    }


def truth(given: str | Problem, *, seed: int = 0) -> "pd.DataFrame":
    """Return the truth of a problem: a row per pair of alternative and context.

    Columns: those of both axes, ``weight`` of the context, then ``mean``, its standard error ``se`` (0 where
    it is exact) and the ``noise_sd`` of one replication (where it is known), of several responses
    ``mean.cost``, ``se.cost`` and so on; ``feasible`` where there are limits; ``best``, whether the pair is
    right in its context (several are where they tie); and ``loss``, what it loses to the best of its context.

    Args:
        given: The problem, or its name with or without a version.
        seed: Which draw, of a problem that is another one for every seed.
    """
    import pandas as pd

    asked = given if isinstance(given, Problem) else problem(given, seed=seed)
    if asked.truth is None:
        raise InputError(
            f"the truth of problem {asked.name!r} is not known; expected a problem with a table of means. "
            "Give Problem(..., truth=[alternative][context])."
        )
    k, c = (each.ravel() for each in np.indices(asked.shape))
    frame = pd.concat([asked.alternatives.frame(k), asked.contexts.frame(c)], axis=1)
    frame["weight"] = asked.weights[c]
    tables = {"mean": asked.truth, "se": asked.truth_se, "noise_sd": asked.noise_sd}
    for what, values in tables.items():
        for name, own in _by_response(asked, values):
            frame[what + name] = np.nan if own is None else own[k, c]
    if asked.limits:
        frame["feasible"] = asked.feasible[k, c]
    frame["best"] = [row in asked.ties[column] for row, column in zip(k.tolist(), c.tolist(), strict=True)]
    every = np.arange(asked.n_alternatives)[:, None] + np.zeros(asked.n_contexts, np.int64)
    frame["loss"] = asked.opportunity_cost(every)[k, c]
    return frame


def _by_response(asked: Problem, values: Any) -> list[tuple[str, Any]]:
    """Return the ending of a column and its table [alternative, context], for every response."""
    if not asked.responses:
        return [("", values)]
    every = [None] * len(asked.responses) if values is None else list(values)
    return [(f".{name}", own) for name, own in zip(asked.responses, every, strict=True)]
