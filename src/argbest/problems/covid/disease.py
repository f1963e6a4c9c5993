"""The disease in one population: compartments, one day, one run; compiled by Numba.

People are counted, never tracked. `people` holds those without a clock: S susceptible; QS in quarantine
though not infected; QM and QV in quarantine and infected, of the mild and of the severe class; R recovered.
`stays` [stage, r - 1] holds those with r days left in a stage: E exposed, P detectable but not yet
infectious, I infectious, then M (mild) or V (severe), infectious too. The steps of a day change both in place
and share the random numbers of `state`. Importing this module imports Numba; the first call compiles or loads
the cache.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.problems.covid.draws import binomial, compiled, poisson, stream

S, QS, QM, QV, R = range(5)
E, P, I, M, V = range(5)  # noqa: E741
SIZE, CASES, TESTED, INFECTION, CONTACTS = range(5)  # of `local`: what differs between runs
# of `rates`: what all runs share
DETECTION, FALSE_POSITIVE, MILD, SELF_REPORT, RECALL, WINDOW, LEAVE_INFECTED, LEAVE_HEALTHY = range(8)


@compiled
def enter(state, stays, stage, entrants, hazards):  # type: ignore[no-untyped-def]
    """Give the entrants of a stage their stays and return how many stay 0 days, thus pass straight on.

    `hazards` [k] is P(stay = k | stay ≥ k), so the multinomial split is a chain of binomials.
    """
    passing, left = 0, entrants
    for k in range(hazards.size):
        if left == 0:
            break
        n = binomial(state, left, hazards[k])
        left -= n
        if k == 0:
            passing = n
        else:
            stays[stage, k - 1] += n
    return passing


@compiled
def enter_last(state, stays, entrants, mild, hazards):  # type: ignore[no-untyped-def]
    """Split those who leave I into the mild and the severe class; return how many recover at once."""
    to_mild = binomial(state, entrants, mild)
    recovered = enter(state, stays, M, to_mild, hazards[M])
    return recovered + enter(state, stays, V, entrants - to_mild, hazards[V])


@compiled
def start(state, people, stays, local, rates, hazards):  # type: ignore[no-untyped-def]
    """Fill the first morning: all cases at the beginning of stage I, everybody else susceptible."""
    cases = int(local[CASES])
    people[S] = int(local[SIZE]) - cases
    passing = enter(state, stays, I, cases, hazards[I])
    people[R] = enter_last(state, stays, passing, rates[MILD], hazards)


@compiled
def remove(state, slots, probability):  # type: ignore[no-untyped-def]
    """Take everybody in the slots out with this probability and return how many that were."""
    total = 0
    for r in range(slots.size):
        n = binomial(state, slots[r], probability)
        slots[r] -= n
        total += n
    return total


@compiled
def isolate(state, people, n, mild):  # type: ignore[no-untyped-def]
    """Put n infected people into quarantine, their class drawn now: it had not shown yet."""
    to_mild = binomial(state, n, mild)
    people[QM] += to_mild
    people[QV] += n - to_mild


@compiled
def detect(state, people, stays, local, rates):  # type: ignore[no-untyped-def]
    """Quarantine all who test positive or, if severe, report themselves; return the infected among them."""
    caught = rates[DETECTION] * local[TESTED]
    mistaken = rates[FALSE_POSITIVE] * local[TESTED]
    early = remove(state, stays[E], mistaken) + remove(state, stays[P], caught)
    early += remove(state, stays[I], caught)
    isolate(state, people, early, rates[MILD])
    mild = remove(state, stays[M], caught)
    # Testing and then self-report are one draw: both lead to quarantine, both count as found.
    severe = remove(state, stays[V], 1.0 - (1.0 - caught) * (1.0 - rates[SELF_REPORT]))
    people[QM] += mild
    people[QV] += severe
    healthy = binomial(state, people[S], mistaken)
    people[S] -= healthy
    people[QS] += healthy
    return early + mild + severe


@compiled
def take_longest(slots, wanted):  # type: ignore[no-untyped-def]
    """Take up to so many people out of a stage, longest remaining stay first; return how many were there."""
    taken = 0
    for r in range(slots.size - 1, -1, -1):
        n = min(slots[r], wanted - taken)
        slots[r] -= n
        taken += n
    return taken


@compiled
def trace(state, people, stays, due, local, rates):  # type: ignore[no-untyped-def]
    """Quarantine the contacts recalled by people found some days ago.

    Every recalled contact is infected with the chance that one contact infects; the infected are looked for
    in E, then P, then I, and those not found there are forgotten. The others come from S.
    """
    recalled = binomial(state, int(due * rates[WINDOW] * local[CONTACTS]), rates[RECALL])
    infected = binomial(state, recalled, local[INFECTION])
    healthy = min(people[S], recalled - infected)
    people[S] -= healthy
    people[QS] += healthy
    taken = 0
    for stage in (E, P, I):
        taken += take_longest(stays[stage], infected - taken)
    isolate(state, people, taken, rates[MILD])


@compiled
def infect(state, people, stays, local):  # type: ignore[no-untyped-def]
    """Take the day's new cases out of S and return their number.

    Poisson with mean H λ p U / W: H infectious people meet λ others each out of W free ones, of whom
    U = S + (1 - p) E can be infected, with probability p.
    """
    exposed, waiting = stays[E].sum(), stays[P].sum()
    infectious = stays[I].sum() + stays[M].sum() + stays[V].sum()
    if infectious == 0:
        return 0
    free = people[S] + exposed + waiting + infectious + people[R]
    target = people[S] + (1.0 - local[INFECTION]) * exposed
    mean = infectious * local[CONTACTS] * local[INFECTION] * target / free
    new = min(poisson(state, mean), people[S])
    people[S] -= new
    return new


@compiled
def advance(slots):  # type: ignore[no-untyped-def]
    """Move everybody in a stage one day on and return how many leave it."""
    leaving = slots[0]
    for r in range(slots.size - 1):
        slots[r] = slots[r + 1]
    slots[slots.size - 1] = 0
    return leaving


@compiled
def progress(state, stays, new, mild, hazards):  # type: ignore[no-untyped-def]
    """Let the disease go on by a day, `new` cases entering E; return how many recover."""
    moving = new
    for stage in (E, P, I):
        leaving = advance(stays[stage])
        moving = leaving + enter(state, stays, stage, moving, hazards[stage])
    recovered = advance(stays[M]) + advance(stays[V])
    return recovered + enter_last(state, stays, moving, mild, hazards)


@compiled
def release(state, people, rates):  # type: ignore[no-untyped-def]
    """Let people out of quarantine: the infected as recovered, the others as susceptible."""
    infected = people[QM] + people[QV]
    leaving = binomial(state, infected, rates[LEAVE_INFECTED])
    if leaving > 0:
        mild = min(binomial(state, leaving, people[QM] / infected), people[QM])
        severe = min(leaving - mild, people[QV])
        people[QM] -= mild
        people[QV] -= severe
        people[R] += mild + severe
    healthy = binomial(state, people[QS], rates[LEAVE_HEALTHY])
    people[QS] -= healthy
    people[S] += healthy


@compiled
def day(state, people, stays, due, local, rates, hazards):  # type: ignore[no-untyped-def]
    """Live through one day; return how many infected people were found, and how many got infected.

    `due` people were found some days ago and are asked for their contacts today; a negative number says that
    today's are asked at once.
    """
    found = detect(state, people, stays, local, rates)
    trace(state, people, stays, found if due < 0 else due, local, rates)
    new = infect(state, people, stays, local)
    recovered = progress(state, stays, new, rates[MILD], hazards)
    release(state, people, rates)
    people[R] += recovered
    return found, new


@compiled
def record(people, stays, counts):  # type: ignore[no-untyped-def]
    """Fill the nine totals S, E, P, I, M, V, QS, QI, R."""
    counts[0] = people[S]
    for stage in range(5):
        counts[1 + stage] = stays[stage].sum()
    counts[6], counts[7], counts[8] = people[QS], people[QM] + people[QV], people[R]


def _run_body(local, rates, hazards, delay, seed, number, days, width, counts):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """Fill the totals [day asked for, compartment] of one run of one population; day 0 is the start.

    `width` only tells the ufunc how many compartments there are.
    """
    state = stream(seed, number)
    people, stays = np.zeros(5, np.int64), np.zeros((5, hazards.shape[1] - 1), np.int64)
    start(state, people, stays, local, rates, hazards)
    last = days.max()
    found = np.zeros(last + 1, np.int64)
    for today in range(last + 1):
        for i in range(days.size):
            if days[i] == today:
                record(people, stays, counts[i])
        due = -1 if delay == 0 else found[today - delay] if today >= delay else 0
        if today < last:
            found[today], _ = day(state, people, stays, due, local, rates, hazards)


@functools.cache
def run() -> Callable[..., Any]:
    """Return the ufunc that simulates one population and broadcasts over all its arguments but the days."""
    signature = (
        "void(float64[:], float64[:], float64[:,:], int64, int64, int64, int64[:], int64[:], int64[:,:])"
    )
    return compile_ufunc(_run_body, signature, "(a),(b),(s,k),(),(),(),(d),(w)->(d,w)")
