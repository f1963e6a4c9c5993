"""Griewank, Hartmann, Cosine8 and the variants: literal functions, the paper's contexts, ties and gaps."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from argbest.problems import synthetic
from argbest.problems.base import Problem


def branin(x: Sequence[float]) -> float:
    b, c, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return -((x[1] - b * x[0] ** 2 + c * x[0] - 6) ** 2 + 10 * (1 - t) * math.cos(x[0]) + 10)


def griewank(x: Sequence[float]) -> float:
    return -((x[0] ** 2 + x[1] ** 2) / 4000 - math.cos(x[0]) * math.cos(x[1] / math.sqrt(2.0)) + 1.0)


def hartmann3(x: Sequence[float]) -> float:
    bumps = [
        (1.0, (3.0, 10.0, 30.0), (0.3689, 0.1170, 0.2673)),
        (1.2, (0.1, 10.0, 35.0), (0.4699, 0.4387, 0.7470)),
        (3.0, (3.0, 10.0, 30.0), (0.1091, 0.8732, 0.5547)),
        (3.2, (0.1, 10.0, 35.0), (0.0381, 0.5743, 0.8828)),
    ]
    return sum(
        h * math.exp(-sum(a * (v - p) ** 2 for a, v, p in zip(steep, x, centre, strict=True)))
        for h, steep, centre in bumps
    )


def cosine8(x: Sequence[float]) -> float:
    return 0.1 * sum(math.cos(5 * math.pi * v) for v in x) - sum(v * v for v in x)


def cosine8_shifted(x: Sequence[float]) -> float:
    shift, *rest = x
    return cosine8([shift, *(v + shift for v in rest)])


CASES: dict[str, tuple[Callable[[], Problem], Callable[[Sequence[float]], float], float]] = {
    "branin": (synthetic.branin, branin, 0.370),
    "branin-text": (synthetic.branin_text, branin, 0.359),
    "branin-separated": (synthetic.branin_separated, branin, 0.370),
    "griewank": (synthetic.griewank, griewank, 49.5),
    "griewank-text": (synthetic.griewank_text, griewank, 49.5),
    "griewank-separated": (synthetic.griewank_separated, griewank, 49.5),
    "hartmann3": (synthetic.hartmann3, hartmann3, 26.25),
    "hartmann3-separated": (synthetic.hartmann3_separated, hartmann3, 26.25),
    "cosine8": (synthetic.cosine8, cosine8, 18.64),
    "cosine8-separated": (synthetic.cosine8_separated, cosine8_shifted, 18.64),
}


@pytest.mark.parametrize(
    ("function", "point", "value"),
    [
        (branin, (-math.pi, 12.275), -0.397887),
        (branin, (9.42478, 2.475), -0.397887),
        (griewank, (0.0, 0.0), 0.0),
        (hartmann3, (0.114614, 0.555649, 0.852547), 3.86278),
        (cosine8, (0.0,) * 8, 0.8),
    ],
)
def test_the_literal_functions_take_their_published_optima(
    function: Callable[[Sequence[float]], float], point: tuple[float, ...], value: float
) -> None:
    assert function(point) == pytest.approx(value, abs=5e-6)


@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_the_scaled_function_at_the_labelled_points(name: str) -> None:
    make, function, scale = CASES[name]
    problem = make()
    columns = problem.alternatives.columns | problem.contexts.columns
    order = sorted(columns)  # "shift" comes before x2, and x2 chosen is put in its place
    for k in range(problem.n_alternatives):
        for c in range(problem.n_contexts):
            point = dict(problem.alternatives.item(k)) | dict(problem.contexts.item(c))  # type: ignore[arg-type]
            expected = scale * function([float(point[column]) for column in order])
            assert problem.truth is not None
            assert problem.truth[k, c] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "shape", "bounds"),
    [
        ("branin-text", (10, 10), {"x2": (0.0, 10.0)}),
        ("griewank", (10, 20), {"x2": (-10.0, 10.0)}),
        ("hartmann3", (20, 20), {"x2": (0.0, 1.0), "x3": (0.0, 1.0)}),
        ("cosine8", (20, 40), {f"x{i}": (-1.0, 1.0) for i in range(2, 9)}),
    ],
)
def test_the_papers_problems_have_its_sizes_and_its_contexts(
    name: str, shape: tuple[int, int], bounds: dict[str, tuple[float, float]]
) -> None:
    problem = CASES[name][0]()
    assert problem.shape == shape
    assert problem.bounds == bounds
    lo, hi = np.array(list(bounds.values())).T
    rows = np.array([[float(v) for v in row] for row in zip(*problem.contexts.columns.values(), strict=True)])
    unit = ((rows - lo) / (hi - lo)).ravel()
    np.testing.assert_allclose(unit[:4], [0.970053, 0.707820, 0.459383, 0.920748], atol=5e-7)
    if name == "branin-text":
        np.testing.assert_array_equal(problem.weights, synthetic.branin().weights)
    else:
        np.testing.assert_allclose(problem.weights, 1 / shape[1])


def test_all_alternatives_of_griewank_but_the_last_are_moved() -> None:
    x1 = np.array(synthetic.griewank().alternatives.columns["x1"], dtype=float)
    even = np.array(synthetic.griewank_text().alternatives.columns["x1"], dtype=float)
    np.testing.assert_allclose(even, -10 + 20 * np.arange(10) / 9, atol=1e-14)
    np.testing.assert_allclose(x1 - even, [0.2] * 9 + [0.0], atol=1e-14)


def test_griewank_as_printed_is_tied_everywhere_and_as_run_nowhere() -> None:
    printed = synthetic.griewank_text()
    assert all(len(tie) == 2 and sum(tie) == 9 for tie in printed.ties)
    assert printed.pcs_ceiling == pytest.approx(0.5)
    assert printed.gap_over_noise.max() == 0.0
    assert synthetic.griewank().pcs_ceiling == pytest.approx(1.0)


def test_cosine8_ties_its_two_middle_alternatives_in_every_context() -> None:
    problem = synthetic.cosine8()
    assert problem.ties == ((9, 10),) * 40
    assert problem.pcs_ceiling == pytest.approx(0.5)


def test_hartmann_has_gaps_far_below_its_noise() -> None:
    problem = synthetic.hartmann3()
    assert problem.pcs_ceiling == pytest.approx(1.0)
    assert problem.gap_over_noise.min() == pytest.approx(0.002, abs=5e-4)
    assert problem.gap_over_noise.max() == pytest.approx(0.15, abs=5e-3)


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("-separated")])
def test_separated_problems_lead_clearly_and_their_best_follows_the_context(name: str) -> None:
    problem = CASES[name][0]()
    assert problem.pcs_ceiling == pytest.approx(1.0)
    assert problem.gap_over_noise.min() >= 0.3
    assert 0.5 < np.median(problem.gap_over_noise) < 1.5
    assert len(set(problem.best.tolist())) >= 2


def test_separated_contexts_are_the_clear_ones_of_the_sequence_in_order() -> None:
    x2 = synthetic.branin().contexts.columns["x2"]
    clear = [x for x, ratio in zip(x2, synthetic.branin().gap_over_noise, strict=True) if ratio >= 0.3]
    assert 3 <= len(clear) < 10
    assert synthetic.branin_separated().contexts.columns["x2"][: len(clear)] == tuple(clear)
