"""What does not fit, in words: which pairs, alternatives and contexts a model check found to be off."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from argbest.core.arrays import IntArray
from argbest.problems.axis import Axis
from argbest.problems.base import Problem

if TYPE_CHECKING:
    from argbest.answers.model_check import ModelCheck

Axes: TypeAlias = tuple[tuple[Axis, pd.DataFrame], ...]

_NAMED = 3  # entries of a list; of more their number is told


def sentences(check: "ModelCheck", problem: Problem, count: IntArray, level: float) -> Iterator[str]:
    """Yield what is affected, the most important first; nothing where the model fits."""
    if check.fits:
        return
    axes = (problem.alternatives, check.alternatives), (problem.contexts, check.contexts)
    yield from _of_noise(check, axes, level)
    yield from _of_likeness(check, level)
    yield from _of_regions(axes)
    yield from _of_pairs(check, problem)
    seen = int((count > 0).sum())
    if len(check.pairs) < seen // 2:
        yield f"Of {seen:,} pairs observed, {len(check.pairs):,} spread evenly were looked at."


def _of_noise(check: "ModelCheck", axes: Axes, level: float) -> Iterator[str]:
    if not check.noise_p_value < level:
        return
    said = ""
    for axis, frame in axes:
        apart = frame.loc[frame["unequal"], "noise"]
        for word, some in (("Noisier", apart[apart > 1]), ("Quieter", apart[apart < 1])):
            if len(some):
                order = some.sort_values(ascending=word == "Quieter").index
                said += f" {word}: {_names(axis, order)} (the first {some[order[0]]:.2g} times the usual sd)."
    yield (
        "The model takes one noise level for pairs whose noise differs by more than chance "
        f"(p = {check.noise_p_value:.1g}): claims are too bold where there is more of it, too timid where "
        f"there is less.{said} Use a noise level per pair: additive-gp, or gp with noise='pair'."
    )


def _of_likeness(check: "ModelCheck", level: float) -> Iterator[str]:
    if check.alike_p_value < level:
        yield (
            "Different alternatives are off in the same way in the same contexts "
            f"(p = {check.alike_p_value:.1g}): they have something in common that the model does not know "
            "of, so do not rely on its claims. Use additive-gp."
        )


def _of_regions(axes: Axes) -> Iterator[str]:
    for axis, frame in axes:
        off = frame[frame["off"]].sort_values("p_value", kind="stable")
        if len(off):
            worst = off.iloc[0]
            yield (
                f"Off as a whole: {_names(axis, off.index)} (the first has z-scores with a root mean square "
                f"of {worst['rms']:.2f} and a mean of {worst['shift']:+.2f}). Do not rely on claims there."
            )


def _of_pairs(check: "ModelCheck", problem: Problem) -> Iterator[str]:
    flagged = check.pairs[check.pairs["flagged"]]
    order = flagged["z"].abs().sort_values(ascending=False).index
    some = flagged.loc[order[:_NAMED]]
    where = problem.alternatives.locate(some), problem.contexts.locate(some)
    labels = problem.alternatives.labels, problem.contexts.labels
    for row, k, c in zip(some.to_dict("records"), *(each.tolist() for each in where), strict=True):
        turned = "" if np.isnan(row["turned"]) else _turned(int(row["turned"]))
        yield f"Alternative {labels[0][k]!r} in context {labels[1][c]!r}: z = {row['z']:+.1f}{turned}."
    if len(flagged) > _NAMED:
        yield f"{len(flagged) - _NAMED} more pairs are beyond the limit."


def _turned(n: int) -> str:
    contexts = "another context" if n == 1 else f"{n} other contexts"
    return f"; without it the answer in {contexts} would be different" if n else ""


def _names(axis: Axis, order: "pd.Index[int]") -> str:
    """Return the kind and the labels of some entries of an axis."""
    labels = [repr(axis.labels[i]) for i in order[:_NAMED]]
    more = f" and {len(order) - _NAMED} more" if len(order) > _NAMED else ""
    return f"{axis.kind}{'s' * (len(order) > 1)} {', '.join(labels)}{more}"
