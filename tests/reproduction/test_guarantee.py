"""The experiment on the guarantee: its oracle KN, its runs, and what it stored."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import guarantee, guarantee_laws
from experiments.guarantee import ALPHA, DELTA, FIRST_STAGE, K

STORED = Path(guarantee.__file__).parent / "stored"


def kn_in_loops(means: list[float], seed: int) -> tuple[int, int]:
    """The procedure KN of one run, step by step, with the numbers of one generator."""
    rng = np.random.default_rng(seed)
    first = np.array(means)[:, None] + rng.standard_normal((1, K, FIRST_STAGE))[0]
    eta = ((2 * ALPHA / (K - 1)) ** (-2 / (FIRST_STAGE - 1)) - 1) / 2
    h2 = 2 * eta * (FIRST_STAGE - 1)
    sums, left, spent, r = first.sum(axis=1).tolist(), list(range(K)), K * FIRST_STAGE, FIRST_STAGE
    while True:
        kept = []
        for i in left:
            beaten = False
            for j in left:
                if i != j:
                    s2 = float(np.var(first[i] - first[j], ddof=1))
                    width = max(0.0, DELTA / 2 * (h2 * s2 / DELTA**2 - r))
                    beaten = beaten or sums[i] - sums[j] < -width
            if not beaten:
                kept.append(i)
        left = kept
        if len(left) == 1:
            return left[0], spent
        draws = rng.standard_normal((1, K))[0]
        for i in left:
            sums[i] += means[i] + draws[i]
            spent += 1
        r += 1


@pytest.mark.parametrize("seed", range(4))
def test_kn_is_the_procedure_step_by_step(seed: int) -> None:
    means = guarantee.slippage(1.0)
    chosen, spent = guarantee.kn(
        means[None], np.ones((1, K)), np.random.default_rng(seed), alpha=ALPHA, delta=DELTA
    )
    assert (int(chosen[0]), int(spent[0])) == kn_in_loops(means.tolist(), seed)


def test_runs_end_with_a_certificate_and_leave_separated_rivals_alone() -> None:
    mean = np.tile(np.linspace(2.0, 0.0, K), (20, 1))
    rng = np.random.default_rng(0)
    loss, spent, certified = guarantee.stopped(
        mean, np.ones_like(mean), guarantee.missing, rng, alpha=ALPHA, delta=DELTA
    )
    assert certified.all()
    assert np.all(loss <= DELTA)
    _, evenly, _ = guarantee.stopped(
        mean, np.ones_like(mean), guarantee.evenly, rng, alpha=ALPHA, delta=DELTA
    )
    assert spent.mean() < 0.8 * evenly.mean()


def test_what_was_stored_meets_the_rule() -> None:
    shares, costs = (pd.read_csv(STORED / f"{name}.csv") for name in ("guarantee", "guarantee_cost"))
    assert set(shares["contexts"]) == {1, 10}
    assert set(shares["configuration"]) == {*guarantee.CONFIGURATIONS, "success rates"}
    assert (shares["macroreps"] == guarantee.MACROREPS).all()
    assert (shares["right"] >= 1 - ALPHA - 2 * shares["right_se"]).all()
    assert costs["gap"].tolist() == list(guarantee.GAPS)
    assert costs["ratio"][costs["gap"] == DELTA].item() <= 2
    assert (costs["ratio"][costs["gap"] != DELTA] <= 1.5).all()
    assert (costs[["kn_right", "guaranteed_right", "strictly_best_right"]] >= 1 - ALPHA).all(axis=None)


def test_what_was_stored_of_other_laws_meets_the_rule() -> None:
    alarms, checks = (pd.read_csv(STORED / f"guarantee_{name}.csv") for name in ("laws", "checks"))
    assert set(zip(alarms["differences"], alarms["alpha"], strict=True)) == {
        (law, alpha) for law in guarantee_laws.LAWS for alpha in guarantee_laws.ALPHAS
    }
    assert (alarms["runs"] == guarantee_laws.RUNS).all()
    assert (alarms["with_checks"] <= alarms["without_checks"]).all()
    allowed = 2 * alarms["with_checks_se"] + alarms["alpha"] * np.where(alarms["alpha"] < ALPHA, 3, 1)
    allowed[alarms["differences"] == "normal"] = alarms["alpha"] + 2 * alarms["with_checks_se"]
    assert (alarms["with_checks"] <= allowed)[alarms["differences"] != "2 % disasters"].all()
    ranged = alarms.dropna()
    assert (ranged["with_range"] <= ranged["alpha"] + 2 * np.sqrt(ranged["alpha"] / ranged["runs"])).all()
    assert checks["lead"].tolist() == list(guarantee_laws.LEADS)
    assert (checks["ratio"][checks["without_checks"] > 30] <= 1.125).all()


@pytest.mark.parametrize("law", list(guarantee_laws.LAWS))
def test_differences_of_every_law_have_mean_0_and_their_range(law: str) -> None:
    draw, width = guarantee_laws.LAWS[law]
    values = np.asarray(draw(np.random.default_rng(0), (400, 500)), float)
    error = values.std() / np.sqrt(values.size)
    assert abs(values.mean()) < 4 * error
    if width is not None:
        assert np.all(np.abs(values) <= width)


def test_the_bound_without_checks_is_that_of_the_library_where_nothing_is_in_doubt() -> None:
    values = np.random.default_rng(1).normal(0.3, 1.0, (50, 80))
    with_, without = (f(values, ALPHA) for f in (guarantee_laws.checked, guarantee_laws.unchecked))
    given = np.isfinite(with_)
    assert given.mean() > 0.5
    assert np.all(with_[given] <= without[given] + 1e-12)
    assert np.isclose(with_[given], without[given]).mean() > 0.3  # no negative skewness, no correction


def test_small_tables_of_other_laws_have_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarantee_laws, "LENGTH", 60)
    found = guarantee_laws.false_alarms(20).set_index(["differences", "alpha"])
    assert found["with_range"].notna().sum() == 4
    assert found.loc[("equal until a rare shortage", ALPHA), "with_checks"] == 0
    assert (guarantee_laws.costs_of_checks(20)["ratio"] >= 1).all()
