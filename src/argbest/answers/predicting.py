"""What a study can say of any contexts, simulated or not, each by itself: arrays [row, alternative, 1].

The prediction kit holds all that this follows from, as plain JSON-ready values: the tally and the
hyper-parameters, not a posterior, which a reader conditions itself, at the size of a table. Rewards count so
that larger is better; ``sign`` turns them back, and means of a ``rate`` are then reported within 0 and 1. A
model that is not known here, or only speaks of simulated contexts, is listed: its predictions are worked out
beforehand.
"""

import base64
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from argbest.answers.reported import reported_interval, reported_mean
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.certainty import Certainty
from argbest.core.certificate import Certificate
from argbest.core.correlated import SOBOL_POINTS, dimensions, sobol_points
from argbest.core.setting import among_the_rest
from argbest.core.two_stage import completed, coordinates, ends, estimator
from argbest.errors import ExtrapolationNotice
from argbest.jsonable import rounded, values
from argbest.models import base as models
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.labels import never_seen
from argbest.study.view import View

Plain: TypeAlias = dict[str, Any]

LISTED_POINTS = 201  # of an even grid along a single coordinate
MOST_CORRELATED = 128  # alternatives whose Sobol points are not too much to send along
_SOBOL_DIGITS = 30  # binary, of a Sobol point
_MOST_NUMBERS = 2**20  # of alternatives by observed pairs, over the contexts that are looked at together


class Prediction(NamedTuple):
    """The contexts asked for, how sure selections there are, and what cannot be selected there."""

    rows: Axis
    certificate: Certificate
    ruled_out: BoolArray | None


def predicted(
    view: View, contexts: object, made: Callable[[Prediction], pd.DataFrame], *, integrate: bool
) -> pd.DataFrame:
    """Return the frame ``made`` of any contexts, some at a time; see `warn_of_the_unknown`."""
    rows = view.problem.contexts.rows(contexts)
    observed = int(np.count_nonzero(view.tally.count))
    frames = [
        made(Prediction(some, certificate_at(view, some, integrate=integrate), ruled_out_at(view, some)))
        for some in rows.blocks(max(1, _MOST_NUMBERS // (view.problem.n_alternatives * max(observed, 1))))
    ]
    warn_of_the_unknown(view, rows)
    return frames[0] if len(frames) == 1 else pd.concat(frames)


def posterior(view: View, contexts: object = None, *, level: float | None = None) -> pd.DataFrame:
    """Return one row per alternative and context: mean and sd of the mean reward, noise_sd, P(best).

    Contexts vary fastest. ``contexts`` may be new to the study; by default they are its own. ``noise_sd`` is
    the standard deviation of one replication. Numbers are in the user's unit and sign. What cannot be
    selected has P(best) 0, and NaN where there is no answer. With a ``level`` the columns low and high are
    the ends of an interval that holds the mean reward with that probability.
    """
    problem = view.problem
    if contexts is None:
        rows, belief = problem.contexts, view.knowledge.belief
        chance = view.certificate().best_probability
        tables = [belief.mean, belief.var, belief.noise, chance]
    else:
        rows = problem.contexts.rows(contexts)
        belief = model_at(view, rows)
        chance = certificate_at(view, rows).best_probability
        given = (belief.mean, belief.var, belief.noise, chance)
        tables = [np.moveaxis(each[..., 0], 0, -1) for each in given]  # of [context, alternative, 1]
        warn_of_the_unknown(view, rows)
    mean, var, noise, chance = (each.ravel() for each in tables)
    k, c = np.indices((problem.n_alternatives, len(rows))).reshape(2, -1)
    frame = pd.concat([problem.alternatives.frame(k), rows.frame(c)], axis=1)
    mean, sd = problem.sign * mean, np.sqrt(var)
    frame["mean"], frame["sd"] = reported_mean(mean, sd, rate=view.rate), sd
    if level is not None:
        frame["low"], frame["high"] = reported_interval(mean, sd, level, rate=view.rate)
    frame["noise_sd"], frame["p_best"] = np.sqrt(noise), chance
    return frame


def knows_new_contexts(view: View) -> bool:
    """Return whether the model of a study can speak of contexts that were never simulated."""
    return models.knows_new_contexts(view.model)


def coordinate(problem: Problem) -> str | None:
    """Return the name of the contexts' one coordinate if it is a number that varies."""
    names = list(problem.contexts.coordinates)
    if len(names) != 1 or isinstance(problem.contexts.coordinates[names[0]][0], bool):
        return None
    low, high = problem.bounds.get(names[0], (0.0, 0.0))
    return names[0] if low < high else None


def evenly(problem: Problem, points: int) -> list[Any]:
    """Return contexts on an even grid over the bounds of that coordinate; none where there is no such."""
    name = coordinate(problem)
    if name is None:
        return []
    grid: list[Any] = np.linspace(*problem.bounds[name], points).tolist()
    return [{name: x} for x in grid] if problem.contexts.columns else grid


def warn_of_the_unknown(view: View, rows: Axis) -> None:
    """Warn of categories that no simulated context has, in the name of whoever called the study."""
    if said := never_seen(view.problem.contexts, rows):
        warnings.warn(said, ExtrapolationNotice, stacklevel=4)


def certificate_at(view: View, rows: Axis, *, integrate: bool = True) -> Certificate:
    """Return how sure the selections are, [row, 1]; what cannot be selected is far below all others."""
    out, points = ruled_out_at(view, rows), view.inference.integrated if integrate else None
    mixture = None if points is None else points.at(_separation(view, rows), out)
    belief = among_the_rest(model_at(view, rows), out)
    answered = None if out is None else np.any(~out, axis=-2)
    own = OwnContexts(
        belief if mixture is None else mixture,
        view.certificate(integrate=integrate),
        _own_context(view, rows),
    )
    return Certificate(belief, np.ones(1), np.empty((0, *belief.mean.shape)), 0.0, answered, mixture, own)


@dataclass(frozen=True)
class OwnContexts:
    """How sure one may be in any contexts, each by itself, [row, alternative, 1]; a `Certainty`.

    Where a row is a context of the study it is what the study says of it, whatever else is asked for.
    """

    anywhere: Certainty
    study: Certificate
    context: IntArray  # [row]: its position in the study, -1 for another

    def best_probability(self) -> Array:
        """Return P(each alternative is best)."""
        found, (here, there) = self.anywhere.best_probability().copy(), self._same()
        found[here, :, 0] = self.study.best_probability[:, there].T
        return found

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(the selected alternative is within delta of the best), [row, 1]."""
        return self._as_in_the_study(
            self.anywhere.good_probability(selected, delta), selected, self.study.within(delta)
        )

    def expected_loss(self, selected: IntArray) -> Array:
        """Return E[best reward − selected reward], [row, 1]."""
        return self._as_in_the_study(
            self.anywhere.expected_loss(selected), selected, self.study.expected_loss
        )

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return a closed-form lower bound of `good_probability`."""
        return self.anywhere.lower_bound(selected, delta)

    def draw(self, normals: Array) -> Array:
        """Return draws of all rewards."""
        return self.anywhere.draw(normals)

    def _same(self) -> tuple[IntArray, IntArray]:
        """Return the rows that are contexts of the study, and which these are."""
        here = np.flatnonzero(self.context >= 0)
        return here, self.context[here]

    def _as_in_the_study(self, found: Array, selected: IntArray, own: Array) -> Array:
        """Return the numbers, the study's ``own`` [context] where the same alternative is selected."""
        here, there = self._same()
        same = self.study.selected[there] == selected[here, 0]
        found = found.copy()
        found[here[same], 0] = own[there[same]]
        return found


def _own_context(view: View, rows: Axis) -> IntArray:
    """Return which contexts of the study the rows are, -1 for those that are none."""
    same = np.all(_separation(view, rows) == 0, axis=0)
    return np.where(same.any(axis=1), np.argmax(same, axis=1), -1)


def model_at(view: View, rows: Axis) -> Belief:
    """Return what the model says of the contexts, whether or not all of it can be selected."""
    params, setting = view.knowledge.params, view.setting
    return view.model.predict(view.tally, setting, params, _separation(view, rows))


def _separation(view: View, rows: Axis) -> Array:
    """Return the squared scaled distances to the contexts of the study, [coordinate, row, context]."""
    return view.problem.contexts.separation(view.problem.bounds, rows)


def ruled_out_at(view: View, rows: Axis) -> BoolArray | None:
    """Return which alternatives cannot be selected; None where all can.

    At a context of the study those ruled out there, at any other those that are ruled out `elsewhere`.
    """
    out = view.ruled_out
    if out is None:
        return None
    own = _own_context(view, rows)
    at = np.where(own[:, None] >= 0, out.T[own], elsewhere(view))
    return np.asarray(at[..., None])


def elsewhere(view: View) -> BoolArray:
    """Return [alternative] whether it has no value anywhere, and pairs that were set aside."""
    return np.asarray(view.set_aside.any(axis=1) & (view.tally.count.sum(axis=1) == 0))


def prediction_kit(view: View) -> Plain:
    """Return what `Study.predict` and `Study.predict_proba` follow from, of a family named ``family``.

    ``coordinates`` describes the contexts: name, kind (number, boolean, category), the values of the
    simulated contexts in order, and for a metric one its bounds ``low`` and ``high``. ``ruled_out`` lists
    what cannot be selected ``at`` each context and ``elsewhere``, None where all can. The rest depends on the
    family: gp and additive hold ``count`` and ``mean`` [alternative][context] and the model's
    hyper-parameters, additive also Sobol points (`sobol`); linear holds coefficients and their covariance;
    listed holds ``points`` with the predictions there.
    """
    params = view.knowledge.params
    family = vars(type(view.model)).get("family")  # its own, for a derived model may predict otherwise
    make = None if family is None else _FAMILIES[family]
    crowded = make is _additive and view.problem.n_alternatives > MOST_CORRELATED
    correlation = getattr(params, "correlation", None)
    shares = correlation is not None and bool(np.any(correlation))  # then counts and means do not say all
    body = listed(view) if make is None or crowded or shares else make(view, params)
    return {**_frame(view), **body}


def kit_of_some(view: View, alternatives: IntArray, contexts: IntArray) -> Plain:
    """Return a listed kit of some alternatives, at some of the simulated contexts: of very many pairs."""
    certificate = view.certificate()
    tables = _tables(view.knowledge.belief, certificate)
    points = list(zip(*view.problem.contexts.coordinates.values(), strict=True))
    return {
        **_frame(view, alternatives),
        "family": "listed",
        "simulated": contexts.tolist(),
        "points": [list(points[c]) for c in contexts.tolist()],
        **{name: values(rounded(each[np.ix_(alternatives, contexts)].T)) for name, each in tables.items()},
        "p_best": values(certificate.pcs[contexts]),
        "expected_loss": values(certificate.expected_loss[contexts]),
    }


def _frame(view: View, alternatives: IntArray | None = None) -> Plain:
    """Return what every kit has."""
    return {
        "sign": view.problem.sign,
        "rate": view.rate,
        "coordinates": _coordinates(view),
        "ruled_out": _ruled_out(view, alternatives),
    }


def listed(view: View) -> Plain:
    """Return predictions at the simulated contexts and, along a single coordinate, on an even grid.

    Of the grid only where the model can speak of contexts never simulated. ``simulated`` [point] is the
    position of a simulated context, None on the grid.
    """
    rows: list[Any] = [view.problem.contexts.item(c) for c in range(view.problem.n_contexts)]
    known: list[int | None] = list(range(len(rows)))
    grid = evenly(view.problem, LISTED_POINTS) if knows_new_contexts(view) else []
    axis = view.problem.contexts.rows(rows + grid)
    said, certificate = model_at(view, axis), certificate_at(view, axis)
    return {
        "family": "listed",
        "simulated": known + [None] * len(grid),
        "points": [list(point) for point in zip(*axis.coordinates.values(), strict=True)],
        **{name: values(each[..., 0]) for name, each in _tables(said, certificate).items()},
        "p_best": values(certificate.pcs[..., 0]),
        "expected_loss": values(certificate.expected_loss[..., 0]),
    }


def _tables(said: Belief, certificate: Certificate) -> dict[str, Array]:
    """Return what a listed kit tells of every alternative in every context."""
    belief = certificate.belief
    return {
        "mean": said.mean,
        "sd": np.sqrt(belief.var),
        "difference_sd": np.sqrt(belief.difference_var(certificate.choice)),
        "probability": certificate.best_probability,
    }


def sobol(n_alternatives: int) -> dict[str, str]:
    """Return the Sobol points behind correlated probabilities, by the number of their coordinates.

    That is a power of 2: k contenders use the first k coordinates of the points that have just enough.
    A digital net is affine in the bits of its index: point n is p₀ ⊕ (p_{2^i} ⊕ p₀) over the bits i of n.
    So p₀ and the p_{2^i} say all: little-endian 32-bit whole numbers [i, dimension], as base64; a coordinate
    is (number + ½) / 2³⁰.
    """
    kept = np.array([0, *(2**i for i in range(int(np.log2(SOBOL_POINTS))))])
    found = {}
    for k in sorted({dimensions(k) for k in range(2, n_alternatives + 1)}):
        whole = np.rint(sobol_points(k)[kept] * 2.0**_SOBOL_DIGITS).astype("<u4")
        found[str(k)] = base64.b64encode(whole.tobytes()).decode("ascii")
    return found


def _gp(view: View, params: Any) -> Plain:
    return {
        "family": "gp",
        "kernel": view.model.kernel,  # type: ignore[attr-defined]
        **_data(view),
        **{name: values(getattr(params, name)) for name in ("lengthscale", "scale", "constant", "noise")},
    }


def _additive(view: View, params: Any) -> Plain:
    names = ("trend_lengthscale", "lengthscale", "trend", "offset", "joint", "own", "noise", "shift")
    every = np.arange(view.problem.n_alternatives)
    related = view.knowledge.belief.foundation.prior.relation(every, len(every))  # type: ignore[attr-defined]
    return {
        "family": "additive",
        "kernel": view.model.kernel,  # type: ignore[attr-defined]
        **_data(view),
        **{name: values(getattr(params, name)) for name in names},
        "relation": values(related),
        "sobol": sobol(view.problem.n_alternatives),
    }


def _linear(view: View, params: Any) -> Plain:
    """Return β and its covariance A diag(v/N) Aᵀ, and the ends (a, b) from which coordinates are counted.

    The regressors at x are 1 and, for every entry of ``ends``, (s(x, a) − s(x, b)) / (2 s(a, b)) + ½ with the
    squared separations s along that coordinate.
    """
    setting = view.setting
    separation, (tally, _) = setting.separation, completed(view.tally, setting.excluded)
    observed = tally.count > 0
    design = estimator(coordinates(separation), observed)
    var = np.where(observed, params.noise[:, None] / np.maximum(tally.count, 1), 0.0)
    return {
        "family": "linear",
        "ends": [{"coordinate": j, "from": a, "to": b} for j, a, b in ends(separation)],
        "coefficients": values(np.einsum("kpc,kc->kp", design, np.where(observed, tally.mean, 0.0))),
        "covariance": values((design * var[:, None, :]) @ np.swapaxes(design, -1, -2)),
    }


_FAMILIES: dict[str, Callable[[View, Any], Plain]] = {"additive": _additive, "gp": _gp, "linear": _linear}


def _data(view: View) -> Plain:
    return {"count": values(view.tally.count), "mean": values(view.tally.mean)}


def _ruled_out(view: View, alternatives: IntArray | None = None) -> Plain | None:
    """Return which alternatives cannot be selected, by position: at each context, and anywhere else."""
    out = view.ruled_out
    if out is None:
        return None
    some = slice(None) if alternatives is None else alternatives
    out, never = out[some], elsewhere(view)[some]
    return {
        "at": [np.flatnonzero(row).tolist() for row in out.T],
        "elsewhere": np.flatnonzero(never).tolist(),
    }


def _coordinates(view: View) -> list[Plain]:
    described = []
    for name, held in view.problem.contexts.coordinates.items():
        column: Plain = {"name": name, "kind": "category", "values": list(held)}
        if name in view.problem.bounds:
            column["kind"] = "boolean" if isinstance(held[0], bool) else "number"
            column["low"], column["high"] = (float(end) for end in view.problem.bounds[name])
        described.append(column)
    return described
