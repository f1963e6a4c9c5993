"""The most probable best: the baseline of Kim, Song and others, their numbers beside ours.

The rule, written before the first run:

- Problems: `most-probable-best` (standard deviations 4 to 6) and `most-probable-noisy` (8 to 12) after
  7,500 and 12,500 replications; both begin with 5 replications of every pair, and a new truth is drawn for
  every macro-replication. Alternatives do not share random numbers, as in the publication.
- Contenders: equal allocation, C-OCBA, and `dvr-loss`, which decides for the best of every context, all with
  the model `independent`, because nothing about this problem is smooth; variances are learned again every 50
  replications. Macro-replication r of all contenders meets the same truth and the same noise.
- Two answers are scored: *plug-in*, the alternative whose sample means are the best in most contexts, where
  a tie counts as false, as in the publication; and *expected votes*, argbest's answer to the question.
- The set-up is right if equal allocation and C-OCBA, plug-in, are within three standard errors of the
  published probabilities of a false choice.
- 300 macro-replications of the first problem, 100 of the second.

The set-up is right by this rule but for C-OCBA after 12,500 replications: it is 3.3 standard errors above its
published figure, and 1.5 above the one that it has if it learns the variances, as it does here
(`experiments.most_probable_check`). Half of these runs had been seen before, when they were cut short.

The second problem was to go on to 97,500 replications, as the publication does. That was dropped for time
before it was begun; `experiments.most_probable_check` goes on, for equal allocation and C-OCBA alone.

`python -m experiments.most_probable_best --out DIR` runs it; what it found is in
`stored/most_probable_best.csv`.
"""

from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import pandas as pd

from argbest.cli.terminal import note
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief
from argbest.core.question import BEST
from argbest.core.questions.contexts import Contexts
from argbest.core.questions.one_for_all import MostProbableBest, WinnerOfMost
from argbest.experiment import Experiment, loop
from argbest.experiment.published import numbers
from argbest.table_files import write_csv
from experiments.calibration import show

SEED, AT_ONCE, REFIT_EVERY, INITIAL = 2026, 50, 50, 2_500
CONTENDERS = ("equal:independent", "c-ocba:independent", "dvr-loss:independent")
# P(false choice) as published, by problem, replications and contender; the best and the worst of their four.
PUBLISHED: dict[tuple[str, int, str], float] = {
    (row["problem"], INITIAL + row["replications"], row["contender"].partition(":")[0]): row["value"]
    for row in numbers().to_dict("records")
    if row["source"] == "baseline"
} | {
    ("most-probable-noisy", 97_500, "equal"): 0.348,
    ("most-probable-noisy", 97_500, "c-ocba"): 0.0285,
}
THEIRS: dict[tuple[str, int], tuple[float, float]] = {
    ("most-probable-best", 7_500): (0.270, 0.357),
    ("most-probable-best", 12_500): (0.063, 0.118),
    ("most-probable-noisy", 7_500): (0.683, 0.784),
    ("most-probable-noisy", 12_500): (0.595, 0.707),
    ("most-probable-noisy", 97_500): (0.0034, 0.0209),
}


@dataclass(frozen=True)
class Match:
    """A problem, and how much of it is run: macro-replications, and replications at which it is looked at."""

    problem: str
    macroreps: int
    looks: tuple[int, ...]


MATCHES = (
    Match("most-probable-best", 300, (7_500, 12_500)),
    Match("most-probable-noisy", 100, (7_500, 12_500)),
)


@dataclass(frozen=True)
class BothAnswers(MostProbableBest):
    """The best of every context by its mean and, last, the alternative with most expected votes."""

    def about(self, contexts: Contexts) -> "BothBound":
        """Return the question to a table with these contexts."""
        return BothBound(contexts)


@dataclass(frozen=True, eq=False)
class BothBound(WinnerOfMost):
    """The same, put to the contexts: a choice is [..., context + 1]."""

    def choice(self, belief: Belief) -> IntArray:
        """Return the best of every context, and the most probable best."""
        return np.concatenate([BEST.choice(belief), super().choice(belief)[..., None]], axis=-1)


def false_choices(selected: IntArray, right: int, n_alternatives: int) -> tuple[Array, Array]:
    """Return whether the plug-in choice is false, as it is where two are tied, and the other one, [run].

    ``selected`` are `BothAnswers` [run, context + 1].
    """
    votes = np.sum(selected[:, :-1, None] == np.arange(n_alternatives), axis=1)
    foremost = votes == votes.max(axis=1, keepdims=True)
    alone = foremost[:, right] & (foremost.sum(axis=1) == 1)
    return (~alone).astype(float), (selected[:, -1] != right).astype(float)


def play(match: Match, contender: str, numbers: IntArray) -> pd.DataFrame:
    """Return a row per macro-replication and look: whether its two answers were false."""
    apart = np.gcd.reduce([look - INITIAL for look in match.looks])
    experiment = Experiment(
        match.problem,
        [contender],
        replications=match.looks[-1] - INITIAL,
        macroreps=int(numbers[-1]) + 1,
        seed=SEED,
        refit_every=REFIT_EVERY,
        checkpoint_every=int(apart),
        common_random_numbers=False,
        question=BothAnswers(),
    )
    trace = loop.trace(experiment, experiment.contenders[0], numbers, lambda _: None)
    rows = []
    for replications, selected in zip(experiment.checkpoints + trace.n_initial, trace.selected, strict=True):
        if replications in match.looks:
            plug_in, expected = false_choices(selected, 0, trace.tally.shape[-2])
            rows.append(
                pd.DataFrame(
                    {
                        "problem": match.problem,
                        "replications": int(replications),
                        "contender": contender.partition(":")[0],
                        "macroreplication": numbers,
                        "plug_in": plug_in,
                        "expected_votes": expected,
                    }
                )
            )
    return pd.concat(rows, ignore_index=True)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return P(false choice) per problem, look and contender beside the published number."""
    found = []
    for name, own in rows.groupby(["problem", "replications", "contender"], sort=False):
        problem, replications, contender = str(name[0]), int(str(name[1])), str(name[2])
        low, high = THEIRS.get((problem, replications), (np.nan, np.nan))
        line = {"problem": problem, "replications": replications, "contender": contender, "runs": len(own)}
        for answer in ("plug_in", "expected_votes"):
            values = own[answer].to_numpy(float)
            line[answer] = values.mean()
            line[f"{answer}_se"] = values.std(ddof=1) / np.sqrt(len(values))
        line["published"] = PUBLISHED.get((problem, replications, contender), np.nan)
        found.append(line | {"their_best": low, "their_worst": high})
    return pd.DataFrame(found)


@click.command("python -m experiments.most_probable_best")
@click.argument("problems", nargs=-1)
@click.option("--share", default=1.0, show_default=True, help="Of the macro-replications.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for the tables.")
def main(problems: tuple[str, ...], share: float, out: Path) -> None:
    """Run the baseline of the publication and set its numbers beside ours."""
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "most_probable_best_runs.csv"
    parts = [pd.read_csv(kept)] if kept.exists() else []
    done = {
        (p, c, r)
        for each in parts
        for p, c, r in zip(each["problem"], each["contender"], each["macroreplication"], strict=True)
    }
    for match in MATCHES:
        if problems and match.problem not in problems:
            continue
        for start in range(0, round(share * match.macroreps), AT_ONCE):
            numbers = np.arange(start, min(start + AT_ONCE, round(share * match.macroreps)))
            for contender in CONTENDERS:
                if (match.problem, contender.partition(":")[0], int(numbers[0])) in done:
                    continue
                parts.append(play(match, contender, numbers))
                write_csv(kept, pd.concat(parts, ignore_index=True))  # an interruption loses little
                note(f"{match.problem}: {contender}, {start + len(numbers)} macro-replications")
    show(summary(pd.concat(parts, ignore_index=True)), out / "most_probable_best.csv")


if __name__ == "__main__":
    main()
