"""How the search for hyper-parameters ended, where a user should know: stalled, out of steps, at a limit."""

from collections.abc import Iterator, Sequence

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray

_TOUCHING = 1e-9  # in logarithms
_LIMITS = {  # what a parameter at its least and at its most means; a long distance is told as such elsewhere
    "distance": ("rewards change over shorter distances than it can follow", ""),
    "variation": ("rewards hardly vary", "rewards vary more than it can follow"),
    "part": ("", "rewards vary more than it can follow"),  # at its least a part is absent, which is told too
    "noise": ("replications hardly differ", "noise drowns all else"),
}


def sentences(theta: Array, status: IntArray, rules: Array, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a sentence if searches ended early, and one if they ended at limits of the model.

    ``theta`` [search, parameter] are the ends of one or more searches, ``status`` [search] is how they came
    about, ``rules`` those of the prior, and ``kinds`` what each parameter is.
    """
    from argbest.core.search import STALLED  # imports Numba, which a search has done before

    for stalled, word in ((True, "stalled before it had converged"), (False, "ran out of steps")):
        ended = (status == STALLED) if stalled else (status != 0) & (status != STALLED)
        if ended.any():
            yield (
                f"The search for hyper-parameters {word}{_of(ended)}: certificates may be off. It is made "
                "again from the start with the next fit; simulate a few more replications."
            )
    found = list(_at_limits(theta, rules, np.array(kinds)))
    if found:
        yield (
            f"The fit ended at a limit of the model: {'; '.join(found)}. Look at the model check before you "
            "rely on certificates."
        )


def _at_limits(theta: Array, rules: Array, kinds: AnyArray) -> Iterator[str]:
    low, high = rules[:, -2], rules[:, -1]
    ends = (theta <= low + _TOUCHING) & (low < high), (theta >= high - _TOUCHING) & (low < high)
    for kind, words in _LIMITS.items():
        for meaning, touching in zip(words, ends, strict=True):
            some = np.asarray(touching[:, kinds == kind].any(axis=1))
            if meaning and some.any():
                yield f"{meaning}{_of(some)}"


def _of(some: BoolArray) -> str:
    return "" if len(some) == 1 else f" for {int(some.sum())} of {len(some)} alternatives"
