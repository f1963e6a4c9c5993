"""Whether joint draws name better contrasts than the leader and its rivals: dvr-loss against `draws`.

`BestByDraws` lets each of 64 joint draws name the two foremost alternatives of every context, and
removes variance from their differences, each by φ(z)/(2τ), its weight and how many draws name it. dvr-loss
compares the alternative with the largest mean with all others instead.

The rule, written before the first run, is that of `experiments.tournament` with these two as its contenders:
problems, numbers, losses and score as there, with common random numbers and `--share 0.4`, as when dvr-loss
was confirmed as the default. `draws` becomes the default only if it wins: its score within a tenth of the
smallest, the smaller geometric mean of relative losses, and not barred for pouring its budget into ties.

What it found is in `stored/best_by_draws.csv`: on the six problems that were run, 20 macro-replications each,
the two are level (score 1.15 and 1.13, geometric mean 1.032 and 1.033), and a decision takes two to three
times as long. That is no win, so dvr-loss stays the default; the other problems were left out for time.

`python -m experiments.best_by_draws --out DIR` runs it again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click
import numpy as np
import pandas as pd

from argbest.core import knowledge_gradient as kg
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.questions import joint_draws
from argbest.core.questions.one_for_all import first_two
from argbest.core.questions.sums import Sums
from argbest.experiment import Contender, Experiment, run
from argbest.policies.base import Moment, OneByOne, largest
from argbest.policies.dvr import log_reduction, log_tie_density
from argbest.table_files import write_csv
from experiments import command_options
from experiments.calibration import show
from experiments.tournament import MODEL, PROBLEMS, SEED, Match, in_rows, losses, shared, standing


@dataclass(frozen=True)
class BestByDraws(OneByOne):
    """dvr-loss for the best of every context, with the contrasts named by joint draws."""

    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair that removes most of the expected loss, as the draws see it."""
        belief, setting = now.belief, now.setting
        one, two, context, count = foremost_pairs(
            belief, joint_draws.of_belief(belief, joint_draws.FOR_CONTRASTS)
        )
        pairs = np.stack([one, two], axis=-1)
        contrasts = Sums(
            belief,
            pairs,
            np.broadcast_to(context[..., None], pairs.shape),
            np.broadcast_to([1.0, -1.0], pairs.shape) * (one != two)[..., None],
        )
        weight = kg.log(count * setting.weights[context])
        density = log_tie_density(contrasts, setting.excluded, power=0.5) + weight[..., None]
        return now.pick(largest(log_reduction(contrasts, density, cost=setting.cost), now.candidates))


def foremost_pairs(belief: Belief, draws: Array) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return pairs of alternatives, their contexts, and how many draws name them the two foremost, [..., m].

    ``draws`` are [draw, ..., alternative, context]. Entries beyond those of a study count 0.
    """
    n_alternatives, n_contexts = belief.mean.shape[-2:]
    both = np.sort(np.stack(first_two(np.swapaxes(draws, -1, -2))), axis=0)  # [2, draw, ..., context]
    key = (both[0] * n_alternatives + both[1]) * n_contexts + np.arange(n_contexts)
    flat = np.moveaxis(key, 0, -2).reshape(*belief.mean.shape[:-2], -1)
    flat.sort(axis=-1)
    n = flat.shape[-1]
    first = np.concatenate([np.ones_like(flat[..., :1], bool), flat[..., 1:] != flat[..., :-1]], axis=-1)
    place = np.where(first, np.arange(n), n)
    following = np.minimum.accumulate(place[..., ::-1], axis=-1)[..., ::-1]
    later = np.concatenate([following[..., 1:], np.full_like(following[..., :1], n)], axis=-1)
    count = np.where(first, later - np.arange(n), 0)
    order = np.argsort(-count, axis=-1, kind="stable")[..., : int(first.sum(axis=-1).max())]
    key, count = np.take_along_axis(flat, order, -1), np.take_along_axis(count, order, -1)
    pair, context = np.divmod(key, n_contexts)
    return (*np.divmod(pair, n_alternatives), context, count)


def play(match: Match, folder: Path, *, jobs: int) -> pd.DataFrame:
    """Return a row per contender and macro-replication: its loss at each checkpoint."""
    experiment = Experiment(
        match.problem,
        [Contender("dvr-loss", MODEL, label="dvr-loss"), Contender(BestByDraws(), MODEL, label="draws")],
        replications=match.replications,
        macroreps=match.macroreps,
        seed=SEED,
        checkpoint_every=match.replications // 4,
    )
    return in_rows(match, run(experiment, jobs=jobs, out=folder / match.problem).runs)


@click.command("python -m experiments.best_by_draws")
@click.argument("problems", nargs=-1)
@click.option("--share", default=0.4, show_default=True, help="Of the macro-replications, at least 2.")
@command_options.jobs
@command_options.out("best_by_draws", "runs and tables")
def main(problems: tuple[str, ...], share: float, jobs: int, out: Path) -> None:
    """Let the two policies play, and print their losses and standing."""
    matches = [shared(match, share) for match in PROBLEMS if not problems or match.problem in problems]
    rows: list[pd.DataFrame] = []
    for match in matches:
        rows.append(play(match, out / "runs", jobs=jobs))
        write_csv(out / "losses_of_runs.csv", pd.concat(rows, ignore_index=True))
    found = losses(pd.concat(rows, ignore_index=True))
    show(found, out / "best_by_draws.csv")
    show(standing(found), out / "best_by_draws_standing.csv")


if __name__ == "__main__":
    main()
