"""The variation of the additive model's parts, against sampling and against dense covariances."""

from typing import Any

import additive_cases
import numpy as np
import pytest
from additive_cases import Case, Scales

from argbest.core import findings, priors
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array
from argbest.core.setting import Coordinates

PARTS = ("trend", "offset", "joint", "own")
DRAWS = 20_000


def drawn(seed: int, *, names: bool) -> tuple[Case, Scales]:
    rng = np.random.default_rng(seed)
    case = additive_cases.case(rng, names=names)
    theta = additive_cases.random_theta(rng, case.prior())
    return case, Scales.of(theta, case.x.shape[1])


def prior(case: Case, scales: Scales, kernel: str = "matern52") -> AdditivePrior:
    setting = case.setting
    trend, one = np.array(scales.trend), np.ones(())
    return AdditivePrior(
        kernel=kernel,
        alternatives=setting.alternatives,
        alternative_lengthscale=scales.alternative_lengths,
        trend=priors.covariance(kernel, setting.separation, scales.trend_lengths, trend),
        nearness=priors.covariance(kernel, setting.separation, scales.lengths, one),
        offset=np.array(scales.offset),
        joint=np.array(scales.joint),
        own=np.array(scales.own),
    )


def of_part(case: Case, scales: Scales, part: str, kernel: str = "matern52") -> Array:
    """The dense covariance of one part over all cells, from the definition."""
    others: dict[str, Any] = dict.fromkeys(set(PARTS) - {part}, 0.0)
    return case.covariance(kernel, scales._replace(**others))


@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("part", PARTS)
def test_variation_is_the_variance_over_the_cells_of_functions_drawn_from_the_part(
    part: str, names: bool
) -> None:
    """False alarm below 1e-5 per case: six standard errors of the mean of 20,000 draws."""
    case, scales = drawn(4, names=names)
    values, vectors = np.linalg.eigh(of_part(case, scales, part))
    normal = np.random.default_rng(8).normal(size=(DRAWS, len(values)))
    tables = normal * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    spread = tables.var(axis=1)  # about each table's own mean
    found = findings.variation(prior(case, scales), case.shape[0])[part]
    assert abs(spread.mean() - found) < 6 * spread.std() / np.sqrt(DRAWS) + 1e-12


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kernel", ["matern52", "rbf", "matern12"])
def test_variation_is_the_centred_trace_of_the_dense_covariance(seed: int, kernel: str) -> None:
    case, scales = drawn(seed, names=seed % 2 == 1)
    found = findings.variation(prior(case, scales, kernel), case.shape[0])
    for part in PARTS:
        dense = of_part(case, scales, part, kernel)
        assert found[part] == pytest.approx(np.trace(dense) / len(dense) - dense.mean(), abs=1e-12)


def test_a_part_that_only_shifts_the_whole_table_is_no_variation() -> None:
    case, scales = drawn(2, names=False)
    flat = scales._replace(trend=9.0, trend_lengths=np.full(case.x.shape[1], 1e6))
    assert findings.variation(prior(case, flat), case.shape[0])["trend"] == pytest.approx(0.0, abs=1e-9)


def test_of_very_many_alternatives_some_rows_stand_for_all() -> None:
    side = np.linspace(0.0, 1.0, 60)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    assert len(grid) > findings._MOST_ROWS
    one = np.ones((1, 1))
    many = AdditivePrior(
        kernel="matern52",
        alternatives=Coordinates(grid, np.zeros(2, bool)),
        alternative_lengthscale=np.array([0.2, 0.5]),
        trend=one,
        nearness=one,
        offset=np.ones(()),
        joint=np.zeros(()),
        own=np.zeros(()),
    )
    rows = [many.relation(piece, len(grid)).mean() for piece in np.array_split(np.arange(len(grid)), 60)]
    exact = 1.0 - float(np.mean(rows))
    assert findings.variation(many, len(grid))["offset"] == pytest.approx(exact, rel=2e-3)
