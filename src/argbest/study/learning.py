"""What a study has learned: a pure function of its records and its refit schedule."""

import math
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np

from argbest.core import schedule
from argbest.core.belief import Belief, take_in
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import SlowNotice
from argbest.models.base import Model
from argbest.study.trial import Records, Trials, numbered

SLOW = 5.0  # seconds of learning after which whoever waits is told what for
_QUICK = 0.02  # of these: whoever learned so quickly last time is not watched


class Knowledge(NamedTuple):
    """The belief, and the last refit it rests on."""

    params: Any
    belief: Belief
    n_fitted: int  # observations at the last refit
    n_records: int  # records the belief has taken in
    seconds: float = math.inf  # that the last refit took, as far as is known


def learn(
    model: Model[Any],
    setting: Setting,
    known: Knowledge | None,
    tally: Tally,
    trials: Trials,
    records: Records,
    *,
    n: int,
    refit_every: schedule.Schedule,
    sign: float,
) -> Knowledge:
    """Return the knowledge that takes in all records, of ``n`` observations.

    Hyper-parameters and standardisation are refreshed when `schedule.due` says so; until then every record
    enters by exact conditioning, in the order of telling.
    """
    if known is not None:
        belief = known.belief
        for row in range(known.n_records, len(records)):
            belief = _taken_in(belief, trials, records, row, sign)
        known = Knowledge(known.params, belief, known.n_fitted, len(records), known.seconds)
        if not schedule.due(model, refit_every, n, known.n_fitted):
            return known
    begun = time.monotonic()
    quick = known is not None and known.seconds < _QUICK * SLOW
    with nullcontext() if quick else _announced(n, int((tally.count > 0).sum())):
        params = model.fit(tally, setting, known.params if known else None)
        belief = model.posterior(tally, setting, params, known.belief if known else None)
    return Knowledge(params, belief, n, len(records), time.monotonic() - begun)


def _taken_in(belief: Belief, trials: Trials, records: Records, row: int, sign: float) -> Belief:
    """Return the belief after one more record: each value by its number where alternatives share noise."""
    told = records.columns
    trial = told["trial"][row]
    where = Decision(*map(np.asarray, trials.pair(trial)))
    if getattr(belief, "shocks", None) is None or told["size"][row] < 0:
        return belief.update(where, np.asarray(sign * told["mean"][row]), told["n"][row])
    for number, value in numbered(trials.columns["replication"][trial], records[row].values):
        belief = take_in(belief, where, np.asarray(sign * value), np.asarray(number))
    return belief


@contextmanager
def _announced(n: int, pairs: int) -> Iterator[None]:
    """Say so once the block has taken long, not counting the compilation of code, which says so itself."""
    from argbest import compilation  # imports Numba, so not before it is needed

    done = threading.Event()

    def watch() -> None:
        begun, left = time.monotonic(), SLOW
        while not done.wait(left):
            left = max(begun, compilation.ready_since()) + SLOW - time.monotonic()
            if left <= 0.0:
                say()
                return

    def say() -> None:
        notice = (
            f"learning from {n:,} replications of {pairs:,} pairs takes more than {SLOW:g} s; it continues. "
            "Ctrl-C stops it, and no value is lost."
        )
        with suppress(SlowNotice):  # where warnings are errors: nobody could catch it in this thread
            warnings.warn(notice, SlowNotice, stacklevel=1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
