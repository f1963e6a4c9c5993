"""The state of a context: sure, equal or open; decided here for tables, pages and stop rules alike."""

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.question import BEST, Question
from argbest.texts import with_unit

SURE, EQUAL, OPEN = "sure", "equal", "open"
NO_FEASIBLE = "no feasible alternative"  # with limits: surely none keeps them
LEVEL = 0.95  # the probability from which a statement counts as sure
INTERVAL = 0.9  # the probability of the intervals that are shown
_ROUNDING = 1e-12  # of a sum of probabilities
_ALIKE = 9  # digits of probabilities that are told apart
_SHARE = 0.01  # of what wrong choices lose: a difference that seldom matters


def states(best: Array, within: Array, level: float = LEVEL) -> AnyArray:
    """Return the state of every context, as text; None where there is no answer (NaN).

    ``best`` is P(the selected alternative is best), ``within`` P(it is within delta of the best). It is sure
    where the first reaches the level, equal where only the second does, so that a choice among those still in
    question hardly matters, and open otherwise.
    """
    names = np.where(best >= level, SURE, np.where(within >= level, EQUAL, OPEN)).astype(object)
    names[np.isnan(best)] = None
    return names


def contenders(
    chance: Array, level: float = LEVEL, mean: Array | None = None, none: Array | None = None
) -> tuple[IntArray, IntArray]:
    """Return the alternatives by P(best), [..., rank, context], and how many of the first reach the level.

    ``chance`` is P(best) [..., alternative, context]; where there is no answer (NaN) none is counted. Of
    those that are equal but for rounding the one with the larger ``mean`` comes first, if means are given,
    then the one with the lower index. With limits ``none`` [..., context] is the probability that no
    alternative keeps them, which is added to theirs.
    """
    answered = np.asarray(~np.isnan(chance).all(axis=-2))
    known = np.where(answered[..., None, :], chance, 0.0)
    order = np.lexsort([-known] if mean is None else [-mean, -known.round(_ALIKE)], axis=-2)
    reached = np.cumsum(np.take_along_axis(known, order, axis=-2), axis=-2)
    beside = np.zeros(answered.shape) if none is None else np.nan_to_num(none)
    wanted = level - _ROUNDING - beside
    size = np.minimum(1 + np.sum(reached < wanted[..., None, :], axis=-2), chance.shape[-2])
    return order, size * (answered & (wanted > 0))


def counts(names: AnyArray) -> dict[str, int]:
    """Return how many contexts are sure, equal and open, and where surely nothing is feasible if any."""
    number = {name: int(np.sum(names == name)) for name in (SURE, EQUAL, OPEN, NO_FEASIBLE)}
    return {name: n for name, n in number.items() if n or name != NO_FEASIBLE}


def in_words(number: dict[str, int], delta: float, unit: str = "", level: float = LEVEL) -> str:
    """Return the `counts` in words, with what they mean; ``unit`` is that of ``delta``."""
    return (
        f"{number[SURE]} sure (P(best) at least {level:g}), {number[EQUAL]} equal (not sure, but within "
        f"{with_unit(f'{delta:.3g}', unit)} of the best with that probability), {number[OPEN]} open"
        + (f", {number[NO_FEASIBLE]} without a feasible alternative" if number.get(NO_FEASIBLE) else "")
    )


def usual_delta(mean: Array, ruled_out: BoolArray | None = None, question: Question = BEST) -> float:
    """Return one hundredth of the lower quartile of what wrong choices lose; 0 if no choice can be wrong.

    The ``question`` says what a wrong choice is: for `Best` a pair [alternative, context] that can be
    selected and does not have the best posterior mean of its context; it loses the difference.

    A difference does not matter if it is small compared with what choices decide. The range of all means
    would be no measure of that: it contains differences between contexts, which no choice changes, and a
    few hopeless pairs, such as overloaded queues, can make it as large as you like. The lower quartile is
    sound while up to three quarters of all pairs are hopeless. It is taken over the whole table, so that
    near ties in some contexts do not make it small.
    """
    loss = question.wrong_losses(mean, ruled_out)
    return _SHARE * float(np.quantile(loss, 0.25)) if len(loss) else 0.0
