"""What a reader needs to move the bound of a limit: joint draws of the goal and of all slacks, in few bytes.

At the bounds of the study the page shows what it shows elsewhere. At another bound it works the choice out
anew, as `argbest.core.limits` does, from the draws listed here and the prices of that bound. A study without
limits is its own where no limit counts.
"""

import base64
import math
from collections.abc import Iterable

import numpy as np

from argbest.core.arrays import Array, ndtr
from argbest.core.belief import Belief, SeveralOutcomes, with_mean
from argbest.core.goals import Limit, Sum
from argbest.core.limits import BestWithinLimits, about_limits
from argbest.core.outcomes import standardised
from argbest.jsonable import rounded, values
from argbest.report.page.document import Plain
from argbest.study.view import View

MOST_DRAWS = 256
FEWEST_DRAWS = 100  # with fewer, probabilities would be too coarse
MOST_NUMBERS = 150_000  # listed in a page, of two bytes each
MOST_TRIED_LIVE = 50_000  # in a live view without limits, where the draws are made for the slider alone
_STOPS = 40
_TAIL = 0.005  # share of the draws beyond the first and the last stop
_LEVELS = 2**16 - 1


def slider(view: View, *, live: bool = False) -> Plain | None:
    """Return the listed draws, and where the bound of every limit may be moved; None with one response.

    Without limits every response but the goal may get one, at most or at least; first there is none.
    """
    problem = view.problem
    tried = () if problem.limits else _to_be_tried(view)
    limits = problem.limits or tried
    if not limits:
        return None
    size = problem.n_alternatives * problem.n_contexts * (1 + len(limits))
    n = min(MOST_DRAWS, (MOST_TRIED_LIVE if live and tried else MOST_NUMBERS) // size)
    if n < FEWEST_DRAWS:
        what, example = ("try limits", f"{limits[0].sum} <= BOUND") if tried else ("move a bound", limits[0])
        return {
            "left_out": f"To {what} in this page is left out: {problem.n_alternatives:,} alternatives "
            f"in {problem.n_contexts:,} contexts are too many to list draws of. Ask for another bound: "
            f'argbest answer STORAGE --limit "{example}".',
            "tried": bool(tried),
        }
    joint = view.asking(limits=tried) if tried else view
    certificate = joint.certificate(0.0)
    draws = certificate.of_draws(lambda some: some)
    draws = draws[np.linspace(0, len(draws) - 1, min(n, len(draws))).round().astype(int)]
    goal, *slacks = np.moveaxis(draws, 1, 0)  # [draw, alternative, context] each
    out, belief = view.ruled_out, about_limits(certificate.belief)
    feasible = None if tried or certificate.options is None else certificate.options.feasible[:-1]
    senses = [("<=", ">=") if tried else (limit.sense,) for limit in limits]
    return {
        "left_out": "",
        "tried": bool(tried),
        "draws": len(draws),
        "out": None if out is None else out.tolist(),
        "feasible": values(feasible),
        "goal": listed(goal),
        "slacks": [listed(slack) for slack in slacks],
        "limits": [
            _moved(joint, belief, i, slacks[i], sense, tried=bool(tried))
            for i, each in enumerate(senses)
            for sense in each
        ],
    }


def _to_be_tried(view: View) -> tuple[Limit, ...]:
    """Return a limit for every response that is not the goal by itself; none of a single response.

    Their bounds mean nothing: they are moved before anything is said of them.
    """
    problem = view.problem
    others = [name for i, name in enumerate(problem.responses) if i != problem.goal_response]
    return tuple(Limit(Sum(((name, 1.0),)), "<=", 0.0) for name in others)


def _moved(
    view: View, belief: SeveralOutcomes, place: int, slack: Array, sense: str, *, tried: bool
) -> Plain:
    """Return the stops of one limit and, at each, its shift and what breaking limits costs.

    A pair keeps the limit in a draw of its slack if sign · slack + shift is 0 or more. ``tried``: the study
    has no such limit, none of the others counts while it is moved, and at its own stop, None, nor does it.
    """
    limit = view.problem.limits[place]
    kept = np.ones(slack.shape[1:], bool) if view.ruled_out is None else ~view.ruled_out
    response = view.problem.responses.index(limit.sum.names[0]) if len(limit.sum.terms) == 1 else None
    rate = response is not None and limit.sum.terms[0][1] == 1.0 and view.is_rate(response)
    drawn = limit.bound - _side(limit.sense) * slack[:, kept]
    found = stops(drawn, None if tried else limit.bound, rate=rate)
    sign = 1.0 if sense == limit.sense else -1.0
    shifts = [_side(sense) * (stop - limit.bound) for stop in found]
    others = [] if tried else [each for i, each in enumerate(belief.slacks) if i != place]
    own = with_mean(belief.slacks[place], sign * belief.slacks[place].mean)
    question = BestWithinLimits(view.problem.price)
    prices = [
        question.prices(belief.mean, _kept([*others, with_mean(own, own.mean + shift)])) for shift in shifts
    ]
    at = {"stops": found, "shift": shifts, "prices": values(rounded(np.array(prices)))}
    if tried:
        loosest = len(found) if sense == "<=" else 0
        at = {name: [*each[:loosest], None, *each[loosest:]] for name, each in at.items()}
    return {
        "text": f"{limit.sum} at {'most' if sense == '<=' else 'least'}" if tried else str(limit),
        "sum": str(limit.sum),
        "sense": sense,
        "own": at["stops"].index(None if tried else limit.bound),
        "slack": place,
        "sign": sign,
        **at,
    }


def _side(sense: str) -> float:
    """Return whether a larger bound leaves more slack, 1, or less, -1."""
    return 1.0 if sense == "<=" else -1.0


def _kept(slacks: Iterable[Belief]) -> Array:
    """Return the probability that all of some limits are kept, [alternative, context]."""
    return np.asarray(np.prod([ndtr(standardised(slack)) for slack in slacks], axis=0))


def stops(drawn: Array, bound: float | None, *, rate: bool) -> list[float]:
    """Return bounds that are worth looking at, as round numbers in their order; one is the study's own.

    They lie as close as the draws of what is limited do, so that each of them changes something.
    """
    own = set() if bound is None else {bound}
    if not drawn.size:
        return sorted(own)
    found = np.quantile(drawn, np.linspace(_TAIL, 1.0 - _TAIL, _STOPS))
    span = float(found[-1] - found[0])
    if span > 0:
        # Two digits of the usual distance of neighbours: hopeless alternatives would make the range useless.
        usual = float(np.median(np.diff(found))) or span / _STOPS
        found = np.round(found, -math.floor(math.log10(usual)))
    found = np.clip(found, 0.0, 1.0) if rate else found
    return sorted({*own, *(float(each) + 0.0 for each in found)})


def listed(drawn: Array) -> Plain:
    """Return draws [draw, alternative, context] as whole numbers from 0 to 65 535, of every pair its own.

    A value is low + step · number. The numbers are two bytes each, the smaller one first, in base 64.
    """
    low = drawn.min(axis=0)
    step = (drawn.max(axis=0) - low) / _LEVELS
    whole = np.divide(drawn - low, step, out=np.zeros_like(drawn), where=step > 0).round()
    content = whole.astype("<u2").tobytes()
    return {
        "low": low.tolist(),
        "step": step.tolist(),
        "data": base64.b64encode(content).decode("ascii"),
    }
