"""What is known of single rewards: whether they are a rate, and which values are impossible.

A rate is the mean of rewards that are 0 or 1, such as failure and success. It is declared
(`Problem(rate=True)`), or every value told so far was True or False. Numbers of which only 0 and 1 have been
seen may be a rate by chance alone: the noise model treats them as one, no guarantee does.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.base import Problem
from argbest.storage.base import Response, Told, are_truths

_TOLERANCE = 1e-9  # per replication: rounding, of a mean times n and of a sum of squares
_PATTERN = 20  # replications that are all 0 or 1, before another value is worth a notice


class RewardKind(IntEnum):
    """The narrowest kind that holds all values told so far; later values can only widen it."""

    TRUTHS = 0  # True and False
    BINARY = 1  # 0 and 1
    NUMBERS = 2


class RewardsSoFar(NamedTuple):
    """The kind of the replications told so far, their number and their sum."""

    kind: RewardKind = RewardKind.TRUTHS
    n: int = 0
    total: float = 0.0

    @classmethod
    def of(cls, n: IntArray, mean: Array, m2: Array, *, truths: bool) -> "RewardsSoFar":
        """Return this for events with these summaries; ``truths``: all their values were True or False."""
        binary = RewardKind.BINARY if is_binary(n, mean, m2) else RewardKind.NUMBERS
        return cls(RewardKind.TRUTHS if truths else binary, int(n.sum()), float(n @ mean))

    def joined_by(self, n: int, told: Response) -> "RewardsSoFar":
        """Return this with n more replications."""
        kind = self.kind if self.kind == RewardKind.NUMBERS else max(self.kind, kind_of(n, told))
        return RewardsSoFar(kind, self.n + n, self.total + n * told.mean)

    @property
    def both(self) -> bool:
        """Whether there are zeros and ones, and nothing else: rewards that are all 0 may be anything."""
        return self.kind != RewardKind.NUMBERS and 0.5 < self.total < self.n - 0.5


def is_rate(problem: Problem, response: int, so_far: RewardsSoFar) -> bool:
    """Return whether a response, by its place, is a rate: declared, or every value was True or False."""
    return problem.declares_rate(response) or (so_far.n > 0 and so_far.kind == RewardKind.TRUTHS)


def kind_of(n: int, told: Response) -> RewardKind:
    """Return what n values of a response are; a summary is BINARY if n values of 0 and 1 can have it."""
    if are_truths(told.values):
        return RewardKind.TRUTHS
    return RewardKind.BINARY if is_binary(n, told.mean, told.m2) else RewardKind.NUMBERS


def is_binary(n: IntArray | int, mean: Array | float, m2: Array | float) -> bool:
    """Return whether all these summaries can be of values 0 and 1: of k ones m2 = k(n − k)/n."""
    total = mean * n
    ones = np.clip(np.rint(total), 0, n)
    error = np.maximum(np.abs(total - ones), np.abs(m2 - ones * (n - ones) / n))
    return bool(np.all(error <= _TOLERANCE * n))


def ones_among(mean: float, n: int) -> int | None:
    """Return the number of ones among n values of 0 and 1 with this mean, None if there is no such number."""
    ones = min(max(round(mean * n), 0), n)
    return ones if abs(mean * n - ones) <= _TOLERANCE * n else None


def impossible(problem: Problem, told: Told) -> str:
    """Return what is wrong with the first value that the problem rules out, "" if none is."""
    for i, each in enumerate(told.responses):
        wrong = impossible_value(
            problem,
            i,
            *((each.mean,) if each.values is None else each.values),
            summarised=each.values is None,
        )
        if wrong:
            return wrong
    return ""


def impossible_value(problem: Problem, response: int, *values: float, summarised: bool = False) -> str:
    """Return what is wrong with the first value of a response, by its place, that the problem rules out."""
    of = f" of {problem.responses[response]!r}" if len(problem.responses) > 1 else ""
    if problem.declares_rate(response) and not summarised:
        declared = f"rate={[problem.responses[response]]!r}" if of else "rate=True"
        return next((f"{x:g}{of} is neither 0 nor 1, but {declared}" for x in values if x not in (0, 1)), "")
    return outside(problem.range_of(response), *values, of=of)


def outside(limits: tuple[float, float] | None, *values: float, of: str = "") -> str:
    """Return what is wrong with the first reward or mean that is not in the range, "" if all are."""
    if limits is None:
        return ""
    low, high = limits
    return next(
        (
            f"{x:g}{of} is outside the reward_range {low:g} to {high:g}"
            for x in values
            if not low <= x <= high
        ),
        "",
    )


def end_of_rate(
    problem: Problem, before: Sequence[RewardsSoFar], now: Sequence[RewardsSoFar], told: Sequence[Told]
) -> str:
    """Return a sentence if what was told ended the treatment of a response as a rate, "" if not.

    ``before`` and ``now`` are about every response.
    """
    return next(
        filter(
            None,
            (_end_of_rate(problem, i, *both, told) for i, both in enumerate(zip(before, now, strict=False))),
        ),
        "",
    )


def _end_of_rate(
    problem: Problem, i: int, before: RewardsSoFar, now: RewardsSoFar, told: Sequence[Told]
) -> str:
    """Return the sentence of `end_of_rate` about one response, by its place."""
    if problem.declares_rate(i) or now.kind == before.kind:
        return ""
    odd = next((each for each in told if kind_of(each.n, each.responses[i]) > before.kind), None)
    if odd is None:  # another worker told it, and says so
        return ""
    response = odd.responses[i]
    value = next((x for x in response.values or () if not _fits(x, before.kind)), response.mean)
    name = problem.responses[i] if len(problem.responses) > 1 else ""
    rewards, rate = (f"values of {name!r}", f"rate={[name]!r}") if name else ("rewards", "rate=True")
    arrived = f"trial {odd.trial} returned {value:g}"
    if before.kind == RewardKind.TRUTHS and before.n:
        return (
            f"all {rewards} so far were True or False, so they were known to be a rate; {arrived}, a number, "
            f"so they no longer are. Return True or False every time, or begin a study with {rate}."
        )
    if before.kind == RewardKind.BINARY and before.n >= _PATTERN and before.both:
        return (
            f"all {before.n} {rewards} so far were 0 or 1 and were treated as a rate; {arrived}, so they are "
            "treated as ordinary numbers from now on. If they are shares of several runs, begin a study with "
            f"{rate} and tell the mean and n, the number of runs, of each."
        )
    return ""


def _fits(value: float, kind: RewardKind) -> bool:
    """Return whether a value is True or False, or of the other kinds, 0 or 1."""
    return isinstance(value, bool) if kind == RewardKind.TRUTHS else value in (0, 1)
