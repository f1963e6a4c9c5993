"""What a reader needs to move the bound of a limit: joint draws of the goal and of all slacks, in few bytes.

At the bounds of the study the page shows what it shows elsewhere. At another bound it works the choice out
anew, as `argbest.core.limits` does, from the draws listed here and the prices of that bound.
"""

import base64
import math

import numpy as np

from argbest.core.arrays import Array, ndtr
from argbest.core.belief import SeveralOutcomes, with_mean
from argbest.core.goals import Limit
from argbest.core.limits import BestWithinLimits, about_limits
from argbest.core.outcomes import standardised
from argbest.jsonable import rounded, values
from argbest.report.page.document import Plain
from argbest.study.view import View

MOST_DRAWS = 256
FEWEST_DRAWS = 100  # with fewer, probabilities would be too coarse
MOST_NUMBERS = 150_000  # listed in a page, of two bytes each
_STOPS = 40
_TAIL = 0.005  # share of the draws beyond the first and the last stop
_LEVELS = 2**16 - 1


def slider(view: View) -> Plain | None:
    """Return the listed draws, and where the bound of every limit may be moved; None without limits."""
    problem = view.problem
    if not problem.limits:
        return None
    size = problem.n_alternatives * problem.n_contexts * (1 + len(problem.limits))
    n = min(MOST_DRAWS, MOST_NUMBERS // size)
    if n < FEWEST_DRAWS:
        return {
            "left_out": f"To move a bound in this page is left out: {problem.n_alternatives:,} alternatives "
            f"in {problem.n_contexts:,} contexts are too many to list draws of. Ask for another bound: "
            f'argbest answer STORAGE --limit "{problem.limits[0]}".'
        }
    certificate = view.certificate(0.0)
    draws = certificate.of_draws(lambda some: some)
    draws = draws[np.linspace(0, len(draws) - 1, min(n, len(draws))).round().astype(int)]
    goal, *slacks = np.moveaxis(draws, 1, 0)  # [draw, alternative, context] each
    out, belief = view.ruled_out, about_limits(certificate.belief)
    feasible = None if certificate.options is None else certificate.options.feasible[:-1]
    return {
        "left_out": "",
        "draws": len(draws),
        "out": None if out is None else out.tolist(),
        "feasible": values(feasible),
        "goal": listed(goal),
        "limits": [
            _moved(view, belief, i, limit, slack)
            for i, (limit, slack) in enumerate(zip(problem.limits, slacks, strict=True))
        ],
    }


def _moved(view: View, belief: SeveralOutcomes, place: int, limit: Limit, slack: Array) -> Plain:
    """Return the stops of one limit, what breaking limits costs at each, and the draws of its slack."""
    side = 1.0 if limit.sense == "<=" else -1.0  # a larger bound: more slack, or less
    kept = np.ones(slack.shape[1:], bool) if view.ruled_out is None else ~view.ruled_out
    response = view.problem.responses.index(limit.sum.names[0]) if len(limit.sum.terms) == 1 else None
    rate = response is not None and limit.sum.terms[0][1] == 1.0 and view.is_rate(response)
    found = stops(limit.bound - side * slack[:, kept], limit.bound, rate=rate)
    return {
        "text": str(limit),
        "sum": str(limit.sum),
        "sense": limit.sense,
        "stops": found,
        "own": found.index(limit.bound),
        "shift": [side * (stop - limit.bound) for stop in found],
        "prices": values(
            rounded(np.array([_prices(view, belief, place, side * (s - limit.bound)) for s in found]))
        ),
        "slack": listed(slack),
    }


def _prices(view: View, belief: SeveralOutcomes, place: int, shift: float) -> Array:
    """Return what it costs to break a limit if that of one place had so much more slack, [context]."""
    kept = np.ones_like(belief.mean)
    for i, slack in enumerate(belief.slacks):
        moved = with_mean(slack, slack.mean + shift) if i == place else slack
        kept = kept * ndtr(standardised(moved))
    return BestWithinLimits(view.problem.price).prices(belief.mean, kept)


def stops(drawn: Array, bound: float, *, rate: bool) -> list[float]:
    """Return bounds that are worth looking at, as round numbers in their order; one is the study's own.

    They lie as close as the draws of what is limited do, so that each of them changes something.
    """
    found = np.quantile(drawn, np.linspace(_TAIL, 1.0 - _TAIL, _STOPS)) if drawn.size else np.array([bound])
    span = float(found[-1] - found[0])
    if span > 0:
        # Two digits of the usual distance of neighbours: hopeless alternatives would make the range useless.
        usual = float(np.median(np.diff(found))) or span / _STOPS
        found = np.round(found, -math.floor(math.log10(usual)))
    found = np.clip(found, 0.0, 1.0) if rate else found
    return sorted({bound, *(float(each) + 0.0 for each in found)})


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
