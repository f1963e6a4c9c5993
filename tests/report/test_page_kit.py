"""Prediction kits, read by slow literal code that knows nothing but the kit."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from report.page_studies import CONDITIONED, Named, anywhere, line, mixed, values
from scipy.special import ndtri

from argbest import GP, Study, jsonable
from argbest.answers import predicting
from argbest.answers.predicting import prediction_kit
from argbest.core import correlated
from argbest.core.arrays import Array


def correlation(kernel: str, r: float) -> float:
    if kernel == "rbf":
        return float(np.exp(-(r**2) / 2))
    a = {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}[kernel] ** 0.5 * r
    rest = {"matern12": 0.0, "matern32": a, "matern52": a + a * a / 3}[kernel]
    return float((1 + rest) * np.exp(-a))


def distance(kit: dict[str, Any], lengths: list[float], one: list[Any], two: list[Any]) -> float:
    total = 0.0
    for column, length, x, y in zip(kit["coordinates"], lengths, one, two, strict=True):
        apart = float(x != y) if column["kind"] == "category" else (x - y) / (column["high"] - column["low"])
        total += (apart / length) ** 2
    return float(np.sqrt(total))


def prior(kit: dict[str, Any], k: int, x: list[Any], j: int, y: list[Any]) -> float:
    """Cov(f_k(x), f_j(y)) before any data."""
    kernel = kit["kernel"]
    if kit["family"] == "gp":
        if k != j:
            return 0.0
        return float(kit["scale"][k]) * correlation(kernel, distance(kit, kit["lengthscale"][k], x, y))
    trend = kit["trend"] * correlation(kernel, distance(kit, kit["trend_lengthscale"], x, y))
    own = correlation(kernel, distance(kit, kit["lengthscale"], x, y))
    alike = kit["relation"][k][j] * (kit["offset"] + kit["joint"] * own)
    return float(trend + alike + (k == j) * kit["own"] * own)


def literal(kit: dict[str, Any], at: list[Any]) -> tuple[Array, Array]:
    """Mean and covariance of all alternatives at a context, by textbook conditioning on all cell averages."""
    contexts = [list(row) for row in zip(*(column["values"] for column in kit["coordinates"]), strict=True)]
    cells = [(k, c) for k, counts in enumerate(kit["count"]) for c, n in enumerate(counts) if n]
    gram = np.array([[prior(kit, k, contexts[c], j, contexts[e]) for j, e in cells] for k, c in cells])
    gram += np.diag([kit["noise"][k][c] / kit["count"][k][c] for k, c in cells])
    who = range(len(kit["count"]))
    cross = np.array([[prior(kit, k, at, j, contexts[e]) for j, e in cells] for k in who])
    own = np.array([[prior(kit, k, at, j, at) for j in who] for k in who])
    average, cov = (
        np.array([kit["mean"][k][c] for k, c in cells]),
        own - cross @ np.linalg.solve(gram, cross.T),
    )
    if kit["family"] == "additive":  # whose constant is integrated
        ones = np.linalg.solve(gram, np.ones(len(cells)))
        constant = np.full(len(own), ones @ average / ones.sum())
        cov += np.outer(1 - cross @ ones, 1 - cross @ ones) / ones.sum()
    else:
        constant = np.array(kit["constant"], float)
    surprise = average - np.array([constant[k] for k, _ in cells])
    return constant + cross @ np.linalg.solve(gram, surprise), cov


def predicted(study: Study, rows: list[dict[str, Any]]) -> tuple[Array, Array]:
    """The library's own mean and variance [row, alternative]; larger is better."""
    belief = predicting.certificate_at(
        study.view(), study.problem.contexts.rows(rows), integrate=False
    ).belief
    return belief.mean[..., 0], belief.var[..., 0]


@pytest.mark.parametrize("model", CONDITIONED, ids=str)
def test_textbook_conditioning_of_the_kit_gives_the_study_s_prediction(model: Named) -> None:
    for study in (line(model), mixed(model), line(model, names=True)):
        kit = json.loads(json.dumps(prediction_kit(study.view()), allow_nan=False))
        rows = anywhere(study, 4, seed=1)
        mean, var = predicted(study, rows)
        for i, row in enumerate(rows):
            expected, cov = literal(kit, values(row))
            np.testing.assert_allclose(mean[i], expected, atol=1e-8)
            np.testing.assert_allclose(var[i], np.diag(cov), atol=1e-8)


@pytest.mark.parametrize("study", [line("linear"), mixed("linear")], ids=["line", "mixed"])
def test_the_line_of_the_kit_is_the_study_s_prediction(study: Study) -> None:
    kit = json.loads(json.dumps(prediction_kit(study.view()), allow_nan=False))
    rows = anywhere(study, 4, seed=2)
    mean, var = predicted(study, rows)
    for i, row in enumerate(rows):
        z = [1.0]
        for end in kit["ends"]:
            column = kit["coordinates"][end["coordinate"]]
            a, b = column["values"][end["from"]], column["values"][end["to"]]
            x = row[column["name"]]
            if column["kind"] == "category":  # any other category lies half-way
                z.append(0.0 if x == a else 1.0 if x == b else 0.5)
            else:
                z.append((x - a) / (float(b) - a))
        np.testing.assert_allclose(mean[i], np.array(kit["coefficients"]) @ z, atol=1e-10)
        np.testing.assert_allclose(var[i], np.einsum("p,kpq,q->k", z, kit["covariance"], z), atol=1e-10)


def test_a_kit_describes_the_coordinates_of_the_contexts() -> None:
    rate, night, site = prediction_kit(mixed().view())["coordinates"]
    assert (rate["name"], rate["kind"], rate["low"], rate["high"]) == ("rate", "number", 0.5, 4.0)
    assert (night["kind"], night["low"], night["high"]) == ("boolean", 0.0, 1.0)
    assert site == {"name": "site", "kind": "category", "values": list("abc") * 6}


def test_rewards_in_a_kit_grow_with_their_quality_and_the_sign_turns_them_back() -> None:
    most, least = prediction_kit(line().view()), prediction_kit(line(goal="min").view())
    assert (most["sign"], least["sign"]) == (1, -1)
    np.testing.assert_allclose(least["mean"], -np.array(most["mean"]))


def test_independent_pairs_are_listed_where_they_were_simulated() -> None:
    study = line("independent")
    kit = prediction_kit(study.view())
    assert kit["family"] == "listed"
    assert kit["simulated"] == [0, 1, 2, 3, 4]
    assert kit["points"] == [[x] for x in (0.0, 2.0, 3.0, 7.0, 10.0)]
    np.testing.assert_array_equal(kit["mean"], study.tally.mean.T)
    np.testing.assert_allclose(kit["p_best"], study.selection()["p_best"], rtol=1e-10)
    np.testing.assert_allclose(kit["expected_loss"], study.selection()["expected_loss"], rtol=1e-10)


@dataclass(frozen=True, eq=False)
class Own(GP):
    """Somebody else's model."""


def test_a_model_of_one_s_own_is_listed_on_a_grid() -> None:
    study = line(Own())
    kit = prediction_kit(study.view())
    assert kit["family"] == "listed"
    assert len(kit["points"]) == 5 + predicting.LISTED_POINTS
    assert kit["simulated"][4:6] == [4, None]
    rows = [{"x": point[0]} for point in kit["points"]]
    np.testing.assert_array_equal(kit["probability"], study.predict_proba(rows))
    frame = study.predict(rows)
    np.testing.assert_array_equal(kit["p_best"], frame["p_best"])
    labels = study.problem.alternatives.labels
    places = [[labels.index(label) for label in frame[name]] for name in ("selected", "runner_up")]
    first, second = (np.array(kit["mean"])[np.arange(len(frame)), place] for place in places)
    np.testing.assert_allclose(first - second, frame["gap"], rtol=1e-12)


def test_too_many_correlated_alternatives_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicting, "MOST_CORRELATED", 3)
    assert prediction_kit(line("additive-gp").view())["family"] == "listed"
    assert prediction_kit(line("gp").view())["family"] == "gp"


@pytest.mark.parametrize("k", [2, 3, 7, 20])
def test_a_few_sobol_points_span_those_behind_the_library_s_probabilities(k: int) -> None:
    import base64

    sent = predicting.sobol(k)
    assert list(sent) == [str(2**i) for i in range(1, 1 + (k - 1).bit_length())]
    coordinates, raw = list(sent.items())[-1]
    base = np.frombuffer(base64.b64decode(raw), "<u4").reshape(-1, int(coordinates))[:, :k].astype(np.int64)
    points = np.repeat(base[:1], correlated.SOBOL_POINTS, axis=0)
    for n in range(correlated.SOBOL_POINTS):
        for bit in range(len(base) - 1):
            if n >> bit & 1:
                points[n] ^= base[bit + 1] ^ base[0]
    np.testing.assert_array_equal(ndtri((points + 0.5) / 2.0**30), correlated._normals(k))


def test_what_is_not_finite_becomes_none() -> None:
    assert jsonable.values(np.array([[1.0, np.nan], [np.inf, 2.0]])) == [[1.0, None], [None, 2.0]]
