"""What a study can say of any contexts, simulated or not, each by itself: arrays [row, alternative, 1].

The prediction kit lists such answers for a page, as plain JSON-ready values: at the simulated contexts and at
many others between them. A page only shows them, and interpolates between those listed.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from argbest import streams
from argbest.answers.reported import reported_interval, reported_mean
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, SeveralOutcomes, of_selected
from argbest.core.certainty import Certainty
from argbest.core.certificate import Certificate, DrawnOptions, averaged
from argbest.core.question import HasLimits
from argbest.core.questions.contexts import of_table
from argbest.core.setting import among_the_rest, not_lowered
from argbest.core.two_stage import completed, coordinates, ends, estimator
from argbest.errors import ExtrapolationNotice
from argbest.jsonable import rounded, values
from argbest.models import base as models
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.labels import never_seen
from argbest.study.view import View

Plain: TypeAlias = dict[str, Any]

LISTED_POINTS = 49  # contexts along a single coordinate, at most: each takes some 5 ms
_MOST_POINTS = 150  # contexts of several coordinates
_MOST_CELLS = 12_000  # alternatives by contexts: what a page has room for
_FEWEST_POINTS = 33  # contexts, however many alternatives there are
_FEWEST_STOPS = 4  # values of a number between which a page may interpolate
_DRAWS = 2048  # joint draws at every context by itself, with limits
_MOST_NUMBERS = 2**20  # of alternatives by observed pairs, over the contexts that are looked at together


class Prediction(NamedTuple):
    """The contexts asked for, how sure selections there are, and what cannot be selected there."""

    rows: Axis
    certificate: Certificate
    ruled_out: BoolArray | None


def predicted(
    view: View, contexts: object, frame_of: Callable[[Prediction], pd.DataFrame], *, integrate: bool
) -> pd.DataFrame:
    """Return the frame of any contexts, made by ``frame_of`` of some at a time; warns of new categories."""
    rows = view.problem.contexts.rows(contexts)
    frames = [
        frame_of(Prediction(some, certificate_at(view, some, integrate=integrate), ruled_out_at(view, some)))
        for some in rows.blocks(_at_a_time(view))
    ]
    warn_of_new_categories(view, rows)
    return frames[0] if len(frames) == 1 else pd.concat(frames)


def _at_a_time(view: View) -> int:
    """Return how many contexts to predict together, so that they fit into memory; none affects another."""
    observed = int(np.count_nonzero(view.tally.count))
    return max(1, _MOST_NUMBERS // (view.problem.n_alternatives * max(observed, 1)))


def posterior(view: View, contexts: object = None, *, level: float | None = None) -> pd.DataFrame:
    """Return one row per alternative and context: mean and sd of the mean reward, noise_sd, P(best).

    Contexts vary fastest. ``contexts`` may be new to the study; by default they are its own. ``noise_sd`` is
    the standard deviation of one replication. Numbers are in the user's unit and sign. What cannot be
    selected has P(best) 0, and NaN where there is no answer. With a ``level`` the columns low and high are
    the ends of an interval that holds the mean reward with that probability.
    """
    problem = view.problem
    if contexts is None:
        rows, belief = problem.contexts, view.believed
        certificate = view.certificate()
        tables = [belief.mean, belief.var, belief.noise, *_chances(certificate)]
    else:
        rows = problem.contexts.rows(contexts)
        belief = believed_at(view, rows)
        given = (belief.mean, belief.var, belief.noise, *_chances(certificate_at(view, rows)))
        tables = [np.moveaxis(each[..., 0], 0, -1) for each in given]  # of [context, alternative, 1]
        warn_of_new_categories(view, rows)
    mean, var, noise, chance, kept = (each.ravel() for each in tables)
    k, c = np.indices((problem.n_alternatives, len(rows))).reshape(2, -1)
    frame = pd.concat([problem.alternatives.frame(k), rows.frame(c)], axis=1)
    mean, sd = problem.sign * mean, np.sqrt(var)
    frame["mean"], frame["sd"] = reported_mean(mean, sd, rate=view.rate), sd
    if level is not None:
        frame["low"], frame["high"] = reported_interval(mean, sd, level, rate=view.rate)
    frame["noise_sd"], frame["p_best"] = np.sqrt(noise), chance
    if problem.limits:
        frame["p_feasible"] = kept
    return frame


def _chances(certificate: Certificate) -> tuple[Array, Array]:
    """Return P(best), and P(all limits are kept), of every alternative."""
    chance, options = certificate.best_probability, certificate.options
    return chance, np.ones(chance.shape) if options is None else options.feasible[..., :-1, :]


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
    """Return contexts on an even grid over the bounds of that coordinate; an empty list if there is none."""
    name = coordinate(problem)
    if name is None:
        return []
    grid: list[Any] = np.linspace(*problem.bounds[name], points).tolist()
    return [{name: x} for x in grid] if problem.contexts.columns else grid


def warn_of_new_categories(view: View, rows: Axis) -> None:
    """Warn of categories that no simulated context has; the warning names the line that called the study."""
    if words := never_seen(view.problem.contexts, rows):
        warnings.warn(words, ExtrapolationNotice, stacklevel=4)


def certificate_at(view: View, rows: Axis, *, integrate: bool = True) -> Certificate:
    """Return how sure the selections are, [row, 1]; what cannot be selected is far below all others.

    With limits they follow from joint draws at every row by itself, in which errors of different responses
    are taken for independent. At contexts of the study they are the study's own.
    """
    ruled_out, points = ruled_out_at(view, rows), view.inference.integrated_sums if integrate else None
    mixture = None if points is None else models.together_at(points, _separation(view, rows), ruled_out)
    belief = averaged(among_the_rest(outcomes_at(view, rows), ruled_out), mixture)
    answered = None if ruled_out is None else np.any(~ruled_out, axis=-2)
    study = view.certificate(integrate=integrate)
    question, normals = of_table(view.question), np.empty((0, *belief.mean.shape))
    if offers(question, HasLimits):
        question = question.elsewhere(study.belief)
        normals = _normals(view, belief, len(rows))
    own = OwnContexts(belief if mixture is None else mixture, study, _own_context(view, rows))
    return Certificate(belief, np.ones(1), normals, 0.0, answered, mixture, own, question=question)


def _normals(view: View, belief: Belief, n_rows: int) -> Array:
    """Return the normals of joint draws, the same at every row, [draw, row, layer, alternative, 1]."""
    layers = belief.layers if offers(belief, SeveralOutcomes) else 1
    shape = (_DRAWS, 1, layers, belief.mean.shape[-2], 1)
    numbers = streams.generator(view.seed, streams.Purpose.CERTIFICATE).standard_normal(shape)
    return np.broadcast_to(numbers, (shape[0], n_rows, *shape[2:]))


def outcomes_at(view: View, rows: Axis) -> Belief:
    """Return what the model says of the contexts: of the goal, with limits of all outcomes."""
    separation, params = _separation(view, rows), view.knowledge.learned.params
    sums = [
        view.model.predict(tally, view.setting, params_of_sum, separation)
        for tally, params_of_sum in zip(view.tallies, params, strict=True)
    ]
    return view.setting.basis.belief(sums)


@dataclass(frozen=True)
class OwnContexts:
    """How sure one may be in any contexts, each by itself, [row, alternative, 1]; a `Certainty`.

    A row that is a context of the study has the figures of the study, whatever other rows are asked for.
    """

    anywhere: Certainty
    study: Certificate
    context: IntArray  # [row]: its position in the study, -1 for another

    def best_probability(self) -> Array:
        """Return P(each alternative is best)."""
        probability, (rows, contexts) = self.anywhere.best_probability().copy(), self._of_study()
        probability[rows, :, 0] = self.study.best_probability[:, contexts].T
        return probability

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

    def options(self, found: DrawnOptions) -> DrawnOptions:
        """Return, with limits, the figures of all options, [row, option, 1]."""
        rows, contexts = self._of_study()
        of_study = self.study.options
        if of_study is None or not len(rows):
            return found
        tables = []
        for table, known in zip(found, of_study, strict=True):
            table = table.copy()
            table[rows, :, 0] = known[:, contexts].T
            tables.append(table)
        return DrawnOptions(*tables)

    def within(self, found: Array, choice: IntArray, delta: float) -> Array:
        """Return, with limits, P(the choice is within delta of the best), [row, 1]."""
        return self._as_in_the_study(found, choice, self.study.within(delta))

    def _of_study(self) -> tuple[IntArray, IntArray]:
        """Return the rows that are contexts of the study, and the positions of these contexts."""
        rows = np.flatnonzero(self.context >= 0)
        return rows, self.context[rows]

    def _as_in_the_study(self, figures: Array, selected: IntArray, of_study: Array) -> Array:
        """Return the figures [row, 1], with those ``of_study`` [context] where it selects the same."""
        rows, contexts = self._of_study()
        same = self.study.choice[contexts] == selected[rows, 0]
        figures = figures.copy()
        figures[rows[same], 0] = of_study[contexts[same]]
        return figures


def _own_context(view: View, rows: Axis) -> IntArray:
    """Return which contexts of the study the rows are, -1 for those that are none, or are retired."""
    same = np.all(view.problem.contexts.separation(view.problem.bounds, rows) == 0, axis=0)
    same &= view.problem.contexts.active
    return np.where(same.any(axis=1), np.argmax(same, axis=1), -1)


def model_at(view: View, rows: Axis) -> Belief:
    """Return what the model says of the goal at the contexts, whether or not all of it can be selected."""
    params, setting = view.knowledge.params, view.setting
    return view.model.predict(view.tally, setting, params, _separation(view, rows))


def believed_at(view: View, rows: Axis, *, integrate: bool = True) -> Belief:
    """Return the belief that selects at the contexts, with what the model says of all that is ruled out."""
    belief = certificate_at(view, rows, integrate=integrate).belief
    return not_lowered(belief, model_at(view, rows), ruled_out_at(view, rows))


def _separation(view: View, rows: Axis) -> Array:
    """Return the squared scaled distances that `Model.predict` takes, [coordinate, row, context]."""
    return view.problem.separation_of(rows)


def ruled_out_at(view: View, rows: Axis) -> BoolArray | None:
    """Return which alternatives cannot be selected; None where all can.

    At a context of the study those ruled out there, at any other those `ruled_out_at_new_contexts`.
    """
    in_study = view.ruled_out
    if in_study is None:
        return None
    context = _own_context(view, rows)
    at_rows = np.where(context[:, None] >= 0, in_study.T[context], ruled_out_at_new_contexts(view))
    return np.asarray(at_rows[..., None])


def ruled_out_at_new_contexts(view: View) -> BoolArray:
    """Return [alternative] whether it is retired, or has pairs set aside and no value in any context."""
    failed = view.set_aside.any(axis=1) & (view.tally.count.sum(axis=1) == 0)
    return np.asarray(failed | ~view.problem.alternatives.active)


def prediction_kit(view: View) -> Plain:
    """Return what a page shows of any context: predictions that are computed here, for many contexts.

    ``coordinates`` describes the contexts: name, kind (number, boolean, category), the values of the
    simulated contexts in order, and for a metric one its bounds ``low`` and ``high``. Predictions are listed
    for every combination of the values ``stops`` [coordinate], the first coordinate varying slowest, and then
    for ``points``, the simulated contexts that are no such combination; ``stops`` is None where only points
    are listed. Of every listed context there are ``selected``, ``runner_up`` (positions), ``gap_sd`` and
    ``expected_loss``, and [context][alternative] ``mean``, ``sd`` and ``probability`` of being the best.
    Means count so that larger is better; ``sign`` turns them back. Those of a rate are shown within 0 and 1,
    as ``reported``. ``ruled_out`` lists what cannot be selected, context by context; None where all can.
    With limits ``feasible`` [context][alternative] is P(all are kept), ``none`` [context] P(by none), and
    ``selected`` -1 where none is chosen; without limits both are None.
    """
    stops = _stops(view) if knows_new_contexts(view) else None
    axis = view.problem.contexts
    own = {row: c for c, row in enumerate(zip(*axis.coordinates.values(), strict=True))}
    grid = list(itertools.product(*stops)) if stops is not None else []
    on_grid = set(grid)
    points = [row for row in own if row not in on_grid]
    new = [row for row in grid if row not in own]
    answers = [_at_own_contexts(view)]
    if new:
        rows = axis.rows([_context(axis, row) for row in new])
        answers += [_at_new_contexts(view, some) for some in rows.blocks(_at_a_time(view))]
    place = own | {row: len(axis) + i for i, row in enumerate(new)}
    return _kit(view, stops, points, answers, [place[row] for row in grid + points])


def kit_of_some(view: View, alternatives: IntArray, contexts: IntArray) -> Plain:
    """Return a kit of some alternatives, at some of the simulated contexts: of very many pairs."""
    points = list(zip(*view.problem.contexts.coordinates.values(), strict=True))
    some = [points[c] for c in contexts.tolist()]
    return _kit(view, None, some, [_at_own_contexts(view)], contexts.tolist(), alternatives)


class _Answers(NamedTuple):
    """What the study predicts for some contexts."""

    selected: IntArray  # [context]
    runner_up: IntArray
    gap_sd: Array
    expected_loss: Array
    mean: Array  # [context, alternative]
    sd: Array
    probability: Array
    ruled_out: BoolArray
    feasible: Array  # P(all limits are kept), [context, alternative]
    none: Array  # P(no alternative keeps them), [context]


def _at_own_contexts(view: View) -> _Answers:
    certificate = view.certificate()
    return _answers(view.believed.mean, certificate, view.ruled_out, lambda table: table.T)


def _at_new_contexts(view: View, rows: Axis) -> _Answers:
    mean, certificate = believed_at(view, rows).mean, certificate_at(view, rows)
    return _answers(mean, certificate, ruled_out_at(view, rows), lambda table: table[..., 0])


def _answers(
    mean: Array, certificate: Certificate, out: BoolArray | None, by_row: Callable[[Any], Any]
) -> _Answers:
    """Return answers from tables that ``by_row`` turns into [context, alternative] or [context]."""
    belief, options = certificate.belief, certificate.options
    chosen, rival = certificate.choice, certificate.runner_up
    tables = mean, np.sqrt(belief.var), certificate.best_probability
    gap_sd = np.sqrt(of_selected(belief.difference_var(np.maximum(chosen, 0)), rival))
    never = np.zeros(mean.shape, bool) if out is None else out
    kept = np.ones(mean.shape) if options is None else options.feasible[..., :-1, :]
    limited = kept, certificate.p_none_feasible
    return _Answers(
        *map(by_row, (chosen, rival, gap_sd, certificate.expected_loss, *tables, never, *limited))
    )


def _kit(
    view: View,
    stops: list[list[Any]] | None,
    points: list[tuple[Any, ...]],
    answers: list[_Answers],
    order: list[int],
    alternatives: IntArray | None = None,
) -> Plain:
    """Return the kit of the answers in this order, about all alternatives or some."""
    found = _Answers(*(np.concatenate(parts)[order] for parts in zip(*answers, strict=True)))
    if alternatives is not None:
        place = np.full(view.problem.n_alternatives, -1)
        place[alternatives] = np.arange(len(alternatives))
        tables = {
            name: getattr(found, name)[:, alternatives]
            for name in ("mean", "sd", "probability", "ruled_out", "feasible")
        }
        selected = np.where(found.selected < 0, -1, place[found.selected])
        found = found._replace(selected=selected, runner_up=place[found.runner_up], **tables)
    tables = {"mean": found.mean, "sd": found.sd, "probability": found.probability}
    if view.rate:
        tables["reported"] = reported_mean(view.problem.sign * found.mean, found.sd, rate=True)
    return {
        "sign": view.problem.sign,
        "rate": view.rate,
        "coordinates": _coordinates(view),
        "stops": stops,
        "points": [list(row) for row in points],
        "selected": found.selected.tolist(),
        "runner_up": found.runner_up.tolist(),
        "gap_sd": values(found.gap_sd),
        "expected_loss": values(found.expected_loss),
        **{name: values(rounded(each)) for name, each in tables.items()},
        "ruled_out": _positions(found.ruled_out) if found.ruled_out.any() else None,
        "feasible": values(rounded(found.feasible)) if view.problem.limits else None,
        "none": values(rounded(found.none)) if view.problem.limits else None,
    }


def _context(axis: Axis, row: tuple[Any, ...]) -> Any:
    """Return a context of these coordinates as a study takes it."""
    return dict(zip(axis.coordinates, row, strict=True)) if axis.columns else row[0]


def _stops(view: View) -> list[list[Any]] | None:
    """Return values of every coordinate whose combinations a page has room for; None if these are too few.

    These are all categories, and of a number the simulated values, the ends of its range, and even steps
    between two of them, as many as there is room for. Where the simulated values are too many already, they
    are even steps over the whole range.
    """
    problem = view.problem
    held = problem.contexts.coordinates
    ranges = {
        name: problem.bounds[name]
        for name in held
        if name in problem.bounds
        and not isinstance(held[name][0], bool)
        and problem.bounds[name][0] < problem.bounds[name][1]
    }
    found: dict[str, list[Any]] = {name: list(dict.fromkeys(each)) for name, each in held.items()}
    for name, bounds in ranges.items():
        found[name] = sorted({*map(float, found[name]), *map(float, bounds)})
    most = min(
        max(_MOST_CELLS // problem.n_alternatives, _FEWEST_POINTS),
        LISTED_POINTS if len(held) == 1 else _MOST_POINTS,
    )

    def number(columns: Iterable[list[Any]]) -> int:
        return math.prod(map(len, columns))

    if number(found.values()) > max(most, 2 * problem.n_contexts):  # the contexts are listed in any case
        room = most // number(found[name] for name in held if name not in ranges)
        steps = math.floor(room ** (1 / len(ranges)) + 1e-9) if ranges else 0
        if steps < _FEWEST_STOPS:
            return None
        return [
            np.linspace(*ranges[name], steps).tolist() if name in ranges else each
            for name, each in found.items()
        ]
    parts, finer = 1, found
    while ranges and number(finer.values()) <= most:
        parts += 1
        finer = {name: _divided(each, parts) if name in ranges else each for name, each in found.items()}
    return [_divided(each, max(parts - 1, 1)) if name in ranges else each for name, each in found.items()]


def _divided(levels: list[float], parts: int) -> list[float]:
    """Return the levels, with so many even steps from each to the next."""
    between = (np.linspace(low, high, parts, endpoint=False) for low, high in itertools.pairwise(levels))
    return [*np.concatenate(list(between)).tolist(), levels[-1]]


def _positions(given: BoolArray) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in given]


def parameters(view: View) -> Plain | None:
    """Return what models of the families "gp" and "linear" learned of every alternative; None of others.

    Of gp these are arrays [alternative, ...]; of linear the coefficients β, and the ``ends`` (a, b) from
    which coordinates are counted: the regressors at x are 1 and, for every entry of ``ends``, (s(x, a) − s(x,
    b)) / (2 s(a, b)) + ½ with the squared separations s along that coordinate.
    """
    params = view.knowledge.params
    family = vars(type(view.model)).get("family")  # its own, for a derived model may predict otherwise
    if family == "gp":
        names = ("constant", "scale", "noise", "lengthscale")
        return {"family": family, **{name: np.asarray(getattr(params, name)) for name in names}}
    if family != "linear":
        return None
    setting = view.setting
    separation, (tally, _) = setting.separation, completed(view.tally, setting.excluded)
    observed = tally.count > 0
    design = estimator(coordinates(separation), observed)
    return {
        "family": family,
        "ends": ends(separation),
        "coefficients": np.einsum("kpc,kc->kp", design, np.where(observed, tally.mean, 0.0)),
    }


def _coordinates(view: View) -> list[Plain]:
    """Return the description of every coordinate of the contexts for `prediction_kit`."""
    described = []
    for name, held in view.problem.contexts.coordinates.items():
        column: Plain = {"name": name, "kind": "category", "values": list(held)}
        if name in view.problem.bounds:
            column["kind"] = "boolean" if isinstance(held[0], bool) else "number"
            column["low"], column["high"] = (float(end) for end in view.problem.bounds[name])
        described.append(column)
    return described
