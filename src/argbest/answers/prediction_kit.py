"""Prediction kit: all that a prediction in any context follows from, as plain JSON-ready values.

The kit holds the tally and the hyper-parameters, not a posterior: a reader conditions them itself, at the
size of a table. Rewards are counted so that larger is better; ``sign`` turns them back. A model that is not
known here, or only speaks of simulated contexts, is listed: its predictions are worked out beforehand.
"""

import base64
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from argbest.answers import predicting
from argbest.core.arrays import IntArray
from argbest.core.belief import best
from argbest.core.correlated import SOBOL_POINTS, dimensions, sobol_points
from argbest.core.two_stage import completed, coordinates, ends, estimator
from argbest.jsonable import rounded, values
from argbest.study.study import Study

Plain: TypeAlias = dict[str, Any]

LISTED_POINTS = 201  # of an even grid along a single coordinate
MOST_CORRELATED = 128  # alternatives whose Sobol points are not too much to send along
_DIGITS = 30  # binary, of a Sobol point


def prediction_kit(study: Study) -> Plain:
    """Return what `Study.predict` and `Study.predict_proba` follow from, of a family named ``family``.

    ``coordinates`` describes the contexts: name, kind (number, boolean, category), the values of the
    simulated contexts in order, and for a metric one its bounds ``low`` and ``high``. ``ruled_out`` lists
    what cannot be selected ``at`` each context and ``elsewhere``, None where all can. The rest depends on the
    family: gp and additive hold ``count`` and ``mean`` [alternative][context] and the model's
    hyper-parameters, additive also Sobol points (`sobol`); linear holds coefficients and their covariance;
    listed holds ``points`` with the predictions there.
    """
    params = study._learned().params
    family = vars(type(study.model)).get("family")  # its own, for a derived model may predict otherwise
    make = None if family is None else _FAMILIES[family]
    crowded = make is _additive and study.problem.n_alternatives > MOST_CORRELATED
    correlation = getattr(params, "correlation", None)
    shares = correlation is not None and bool(np.any(correlation))  # then counts and means do not say all
    body = listed(study) if make is None or crowded or shares else make(study, params)
    return {**_frame(study), **body}


def kit_of_some(study: Study, alternatives: IntArray, contexts: IntArray) -> Plain:
    """Return a listed kit of some alternatives, at some of the simulated contexts: of very many pairs."""
    certificate, said = study.certificate(), study._learned().belief
    belief = certificate.belief
    tables = {
        "mean": said.mean,
        "sd": np.sqrt(belief.var),
        "difference_sd": np.sqrt(belief.difference_var(best(belief))),
        "probability": certificate.best_probability,
    }
    points = list(zip(*study.problem.contexts.coordinates.values(), strict=True))
    return {
        **_frame(study, alternatives),
        "family": "listed",
        "simulated": contexts.tolist(),
        "points": [list(points[c]) for c in contexts.tolist()],
        **{name: values(rounded(each[np.ix_(alternatives, contexts)].T)) for name, each in tables.items()},
        "p_best": values(certificate.pcs[contexts]),
        "expected_loss": values(certificate.expected_loss[contexts]),
    }


def _frame(study: Study, alternatives: IntArray | None = None) -> Plain:
    """Return what every kit has."""
    return {
        "sign": study.problem.sign,
        "coordinates": _coordinates(study),
        "ruled_out": _ruled_out(study, alternatives),
    }


def listed(study: Study) -> Plain:
    """Return predictions at the simulated contexts and, along a single coordinate, on an even grid.

    Of the grid only where the model can speak of contexts never simulated. ``simulated`` [point] is the
    position of a simulated context, None on the grid.
    """
    rows: list[Any] = [study.problem.contexts.item(c) for c in range(study.problem.n_contexts)]
    known: list[int | None] = list(range(len(rows)))
    known_beyond = predicting.knows_new_contexts(study)
    grid = predicting.evenly(study.problem, LISTED_POINTS) if known_beyond else []
    axis = study.problem.contexts.rows(rows + grid)
    said = predicting.model_at(study, axis)
    certificate = predicting.certificate_at(study, axis)
    belief = certificate.belief
    reference = best(belief)
    return {
        "family": "listed",
        "simulated": known + [None] * len(grid),
        "points": [list(point) for point in zip(*axis.coordinates.values(), strict=True)],
        "mean": values(said.mean[..., 0]),
        "sd": values(np.sqrt(belief.var[..., 0])),
        "difference_sd": values(np.sqrt(belief.difference_var(reference)[..., 0])),
        "probability": values(certificate.best_probability[..., 0]),
        "p_best": values(certificate.pcs[..., 0]),
        "expected_loss": values(certificate.expected_loss[..., 0]),
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
        whole = np.rint(sobol_points(k)[kept] * 2.0**_DIGITS).astype("<u4")
        found[str(k)] = base64.b64encode(whole.tobytes()).decode("ascii")
    return found


def _gp(study: Study, params: Any) -> Plain:
    return {
        "family": "gp",
        "kernel": study.model.kernel,  # type: ignore[attr-defined]
        **_data(study),
        "lengthscale": values(params.lengthscale),
        "scale": values(params.scale),
        "constant": values(params.constant),
        "noise": values(params.noise),
    }


def _additive(study: Study, params: Any) -> Plain:
    names = ("trend_lengthscale", "lengthscale", "trend", "offset", "joint", "own", "noise", "shift")
    every = np.arange(study.problem.n_alternatives)
    related = study._learned().belief.foundation.prior.relation(every, len(every))  # type: ignore[attr-defined]
    return {
        "family": "additive",
        "kernel": study.model.kernel,  # type: ignore[attr-defined]
        **_data(study),
        **{name: values(getattr(params, name)) for name in names},
        "relation": values(related),
        "sobol": sobol(study.problem.n_alternatives),
    }


def _linear(study: Study, params: Any) -> Plain:
    """Return β and its covariance A diag(v/N) Aᵀ, and the ends (a, b) from which coordinates are counted.

    The regressors at x are 1 and, for every entry of ``ends``, (s(x, a) − s(x, b)) / (2 s(a, b)) + ½ with the
    squared separations s along that coordinate.
    """
    setting = study._journal.open_setting()
    separation, (tally, _) = setting.separation, completed(study._tally, setting.excluded)
    observed = tally.count > 0
    design = estimator(coordinates(separation), observed)
    var = np.where(observed, params.noise[:, None] / np.maximum(tally.count, 1), 0.0)
    return {
        "family": "linear",
        "ends": [{"coordinate": j, "from": a, "to": b} for j, a, b in ends(separation)],
        "coefficients": values(np.einsum("kpc,kc->kp", design, np.where(observed, tally.mean, 0.0))),
        "covariance": values((design * var[:, None, :]) @ np.swapaxes(design, -1, -2)),
    }


_FAMILIES: dict[str, Callable[[Study, Any], Plain]] = {"additive": _additive, "gp": _gp, "linear": _linear}


def _data(study: Study) -> Plain:
    return {"count": values(study._tally.count), "mean": values(study._tally.mean)}


def _ruled_out(study: Study, alternatives: IntArray | None = None) -> Plain | None:
    """Return which alternatives cannot be selected, by position: at each context, and anywhere else."""
    out = study._ruled_out
    if out is None:
        return None
    some = slice(None) if alternatives is None else alternatives
    out, elsewhere = out[some], predicting.elsewhere(study)[some]
    return {
        "at": [np.flatnonzero(row).tolist() for row in out.T],
        "elsewhere": np.flatnonzero(elsewhere).tolist(),
    }


def _coordinates(study: Study) -> list[Plain]:
    described = []
    for name, held in study.problem.contexts.coordinates.items():
        column: Plain = {"name": name, "kind": "category", "values": list(held)}
        if name in study.problem.bounds:
            column["kind"] = "boolean" if isinstance(held[0], bool) else "number"
            column["low"], column["high"] = (float(end) for end in study.problem.bounds[name])
        described.append(column)
    return described
