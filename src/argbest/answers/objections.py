"""What a model check objects to, in sentences: the most important first."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from argbest.answers.discrepancies import FALSE_ALARM
from argbest.models.base import Model, is_told_noise, learns_noise_of
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.texts import first_of

if TYPE_CHECKING:
    from argbest.answers.model_check import ModelCheck

_Axes: TypeAlias = tuple[tuple[Axis, pd.DataFrame], ...]

_MOST_NAMED = 3  # entries of a list; of longer lists the number is given


def of_check(check: "ModelCheck", problem: Problem, model: Model[Any]) -> Iterator[str]:
    """Yield what is affected; nothing where the model fits."""
    axes = (problem.alternatives, check.alternatives), (problem.contexts, check.contexts)
    yield from _of_noise(check, axes, model)
    yield from _of_likeness(check)
    yield from _of_steps(check)
    yield from _of_regions(axes)
    yield from _of_pairs(check, problem)
    if check.p_value < FALSE_ALARM:
        yield (
            f"Z-scores are too large as a whole (p = {check.p_value:.1g}): rewards change less smoothly, or "
            "vary more, than the model takes them to."
        )
    yield from of_rewards(check, problem)


def of_rewards(check: "ModelCheck", problem: Problem) -> Iterator[str]:
    """Yield what is wrong with single rewards: ties, heavy tails, too few of one kind."""
    if share := check.rewards.tied:
        yield (
            f"Rewards repeat values: {share:.0%} of two replications of a pair are equal. Replications that "
            "agree do not show how noisy a pair is. Let each replication be the mean of a batch of runs."
        )
    if check.rewards.tails_p_value < FALSE_ALARM:
        yield (
            "Single rewards are farther from the others of their pair than normal ones would be "
            f"(p = {check.rewards.tails_p_value:.1g}): they have heavy tails, are skewed, or show rare "
            "events. Claims may be too high where replications are few: choices are called sure only where "
            "there are enough for that. Let each replication be the mean of a batch of runs."
        )
    if few := np.flatnonzero(check.scarce).tolist():
        yield (
            f"Rewards are 0 or 1, and too few of one of them were seen to compare the best alternatives in "
            f"{_names(problem.contexts, few)}. Simulate these pairs more often."
        )


def _of_noise(check: "ModelCheck", axes: _Axes, model: Model[Any]) -> Iterator[str]:
    """Yield whether noise levels differ that the model takes for one."""
    if not check.noise_p_value < FALSE_ALARM:
        return
    which = ""
    for axis, frame in axes:
        unequal = frame.loc[frame["unequal"], "noise"]
        for word, some in (("Noisier", unequal[unequal > 1]), ("Quieter", unequal[unequal < 1])):
            if len(some):
                order = some.sort_values(ascending=word == "Quieter").index.tolist()
                first = "the first " if len(some) > 1 else ""
                which += f" {word}: {_names(axis, order)} ({first}{some[order[0]]:.2g} times the usual sd)."
    if is_told_noise(model):
        assumed, advice = "noise levels that are given", "Correct noise_sd, or leave it out."
    elif learns_noise_of(model) == "pooled":
        assumed, advice = "one noise level", "Leave out noise='pooled': every pair then has its own."
    elif learns_noise_of(model):
        assumed, advice = "one noise level per alternative", "Use one per pair: noise='pair'."
    else:
        assumed, advice = "one noise level per alternative", "Use one per pair: additive-gp."
    yield (
        f"The model assumes {assumed} for pairs whose noise differs by more than chance "
        f"(p = {check.noise_p_value:.1g}): its claims are too high where noise is larger, and too low where "
        f"it is smaller.{which} {advice}"
    )


def _of_likeness(check: "ModelCheck") -> Iterator[str]:
    """Yield whether alternatives deviate alike that the model takes for unrelated."""
    if check.alike_p_value < FALSE_ALARM:
        yield (
            "Different alternatives deviate in the same way in the same contexts "
            f"(p = {check.alike_p_value:.1g}): they have something in common that the model ignores. Do not "
            "rely on its claims. Use additive-gp."
        )


def _of_steps(check: "ModelCheck") -> Iterator[str]:
    """Yield the largest jumps of mean rewards along the contexts."""
    for row in check.steps.head(_MOST_NAMED).to_dict("records"):
        which = "all alternatives" if row["alternative"] is None else f"alternative {row['alternative']!r}"
        up = "up" if row["z"] > 0 else "down"
        yield (
            f"Rewards of {which} jump {up} between {row['column']} = {row['below']:.6g} and "
            f"{row['above']:.6g} (z = {row['z']:+.1f}), and the model smooths it."
        )
    if len(check.steps) > _MOST_NAMED:
        yield f"{len(check.steps) - _MOST_NAMED} more alternatives jump."


def _of_regions(axes: _Axes) -> Iterator[str]:
    """Yield the alternatives, and the contexts, that are off as a whole."""
    for axis, frame in axes:
        off = frame[frame["off"]].sort_values("p_value", kind="stable")
        if len(off):
            worst, first = off.iloc[0], "the first has " if len(off) > 1 else ""
            yield (
                f"Off as a whole: {_names(axis, off.index.tolist())} ({first}z-scores with a root mean "
                f"square of {worst['rms']:.2f} and a mean of {worst['shift']:+.2f}). Do not rely on claims "
                "there."
            )


def _of_pairs(check: "ModelCheck", problem: Problem) -> Iterator[str]:
    """Yield the pairs that are farthest from what the others predict."""
    flagged = check.pairs[check.pairs["flagged"]]
    order = flagged["z"].abs().sort_values(ascending=False).index
    some = flagged.loc[order[:_MOST_NAMED]]
    where = problem.alternatives.locate(some), problem.contexts.locate(some)
    labels = problem.alternatives.labels, problem.contexts.labels
    for row, k, c in zip(some.to_dict("records"), *(each.tolist() for each in where), strict=True):
        turned = "" if np.isnan(row["turned"]) else _turned(int(row["turned"]))
        yield f"Alternative {labels[0][k]!r} in context {labels[1][c]!r}: z = {row['z']:+.1f}{turned}."
    if len(flagged) > _MOST_NAMED:
        yield f"{len(flagged) - _MOST_NAMED} more pairs are beyond the limit."


def _turned(n: int) -> str:
    contexts = "another context" if n == 1 else f"{n} other contexts"
    return f"; without it the answer in {contexts} would be different" if n else ""


def _names(axis: Axis, order: list[int]) -> str:
    """Return the kind and the labels of some entries of an axis."""
    labels = first_of([repr(axis.labels[i]) for i in order], _MOST_NAMED)
    return f"{axis.kind}{'s' * (len(order) > 1)} {labels}"
