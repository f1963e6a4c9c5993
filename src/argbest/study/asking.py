"""Which trials come next: given back, enqueued by the user, of the initial design, chosen by the policy."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from argbest import streams
from argbest.core.abilities import offers
from argbest.core.setting import Setting
from argbest.engine import step
from argbest.policies.base import Begins, Policy
from argbest.storage.base import Asked, Event, Passed
from argbest.study.learning import Knowledge
from argbest.study.ledger import Ledger


@dataclass(frozen=True)
class Seeds:
    """Where the seeds of trials come from."""

    root: int
    common: bool  # whether alternatives share them (common random numbers)
    rule: streams.SeedRule

    def of(self, pair: tuple[int, int], replication: int, parted: int | None = None) -> int:
        """Return the seed of a replication of a pair; ``parted``: see `Ledger.parted`."""
        if self.common and parted is None:
            return int(self.rule.shared(self.root, pair[1], replication))
        return int(self.rule.own(self.root, pair, replication, parted or 0))


def given_back(ledger: Ledger, n: int, context: int | None) -> list[int]:
    """Return up to n trials that were given back, of any context or of the one named."""
    trials = _of_active_rows(ledger, ledger.given_back)
    return list(islice((i for i in trials if context in (None, ledger.trials.pair(i)[1])), n))


def _of_active_rows(ledger: Ledger, trials: list[int]) -> list[int]:
    """Return the trials whose alternative and context are not retired."""
    if not ledger.any_retired:  # by far the most common
        return trials
    retired = ledger.retired
    return [i for i in trials if not retired[ledger.trials.pair(i)]]


def of_user(ledger: Ledger, n: int, context: int | None) -> list[tuple[int, int]]:
    """Return up to n pairs that the user enqueued, of any context or of the one named; none set aside."""
    if not ledger.enqueued:  # by far the most common
        return []
    aside = ledger.set_aside
    return list(islice((p for p in ledger.enqueued if context in (None, p[1]) and not aside[p]), n))


def of_design(ledger: Ledger, n: int, context: int | None) -> list[tuple[int, int]]:
    """Return up to n pairs left of the initial design, of any context or of the one named."""
    return list(islice((pair for pair in ledger.queue if context in (None, pair[1])), n))


def choose(
    ledger: Ledger,
    knowledge: Knowledge,
    policy: Policy,
    setting: Setting,
    seeds: Seeds,
    due: Iterable[tuple[int, int]],
    *,
    n: int,
    context: int | None,
) -> list[tuple[int, int]]:
    """Return the n pairs that the policy chooses, in any context or in the one named.

    It takes into account the trials under way and the pairs ``due``, which are asked for before its own.
    """
    pending = ledger.pending.copy()
    for pair in due:
        pending[pair] += 1
    if context is not None:
        setting = replace(setting, allowed=np.arange(ledger.problem.n_contexts) == context)
    decision = step.decide(
        policy, knowledge.learned, ledger.live, pending, setting,
        roots=seeds.root, step=len(ledger.trials), n=n, ruled_out=ledger.ruled_out,
    )  # fmt: skip
    return list(zip(decision.alternative.tolist(), decision.context.tolist(), strict=True))


def begun(policy: Policy, ledger: Ledger, setting: Setting) -> Policy | None:
    """Return the policy to continue with if it fixes something after the initial design, and that is told."""
    if not offers(policy, Begins) or ledger.queue or ledger.held:
        return None
    if any(map(ledger.trials.designed, _of_active_rows(ledger, ledger.given_back))):
        return None
    return step.begin(policy, setting, ledger.tally)


def issued(
    ledger: Ledger,
    seeds: Seeds,
    worker: str,
    *,
    given_back: Iterable[int],
    enqueued: list[tuple[int, int]],
    designed: list[tuple[int, int]],
    chosen: list[tuple[int, int]],
    parted: int | None,
) -> list[Event]:
    """Return the events that give a worker the trials given back and new trials of the pairs.

    ``parted``: see `Ledger.parted`.
    """
    now = time.time()
    events: list[Event] = [Passed(trial, worker, now) for trial in given_back]
    new: dict[tuple[int, int], int] = {}  # trials of a pair among these events
    n_designed = sum(ledger.trials.columns["designed"]) if ledger.numbers is not None else 0
    for i, (k, c) in enumerate(enqueued + designed + chosen):
        number = max(int(ledger.replications[k, c]), ledger.first_free) + new.get((k, c), 0)
        place = i - len(enqueued)  # among the pairs of the initial design
        by_design = 0 <= place < len(designed)
        if ledger.numbers is not None and by_design:
            number = ledger.numbers[n_designed + place]
        new[k, c] = new.get((k, c), 0) + 1
        seed = seeds.of((k, c), number, parted)
        events.append(Asked(len(ledger.trials) + i, k, c, number, seed, by_design, worker, now))
    return events
