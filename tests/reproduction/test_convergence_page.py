from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from argbest import theory
from experiments.convergence import (
    INITIAL,
    TRUTH,
    adaptive,
    allocations,
    convergence,
    false_selection,
    toy,
    verdict,
)
from experiments.plan import Plan


def test_the_static_curves_are_what_simulation_gives() -> None:
    frame = false_selection(toy(), 60, 20, seed=0)
    for name, share in (
        ("static p*", theory.optimal_allocation(toy()).allocation["share"]),
        ("equal", 1 / 6),
    ):
        own = frame[frame["allocation"] == name].iloc[-1]
        p = np.broadcast_to(np.asarray(share, float).reshape(-1), 6).reshape(TRUTH.shape)
        draws = np.random.default_rng(1).standard_normal((20_000, *TRUTH.shape))
        means = TRUTH + draws / np.sqrt(own["n"] * p)
        wrong = np.any(np.argmax(means, axis=1) != np.argmax(TRUTH, axis=0), axis=1).mean()
        # Four standard errors: a false alarm in 16,000.
        assert abs(wrong - own["pfs"]) < 4 * np.sqrt(own["pfs"] / 20_000)


def test_the_reference_falls_with_half_the_optimal_rate() -> None:
    frame = false_selection(toy(), 24, 10, seed=0)
    rate = theory.optimal_allocation(toy()).rate
    np.testing.assert_allclose(frame["reference"], np.exp(-frame["n"] * rate / 2), rtol=1e-12)


def test_the_adaptive_tallies_hold_every_sample() -> None:
    for n, tally in zip((12, 20, 31), adaptive(toy(), np.array([12, 20, 31]), 4, seed=3), strict=True):
        assert (tally.count.sum(axis=(-2, -1)) == n).all()
        assert tally.count.min() >= INITIAL


def test_residuals_are_those_of_the_theory() -> None:
    shares, residuals = allocations(toy(), 50, 1, seed=2)
    last = shares[shares["n"] == shares["n"].max()]
    state = theory.convergence(toy(), last["share"].to_numpy().reshape(TRUTH.shape))
    end = residuals.iloc[-1]
    assert end["distance"] == pytest.approx(float(state.distance), rel=1e-12)
    assert end["efficiency"] == pytest.approx(float(state.efficiency), rel=1e-12)
    assert end["balance"] == pytest.approx(float(np.abs(state.balance).max()), rel=1e-12)
    assert last["share"].sum() == pytest.approx(1.0)
    assert last["optimal"].sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_the_adaptive_policy_selects_wrong_more_often_than_the_static_optimum() -> None:
    runs = 40_000
    last = {
        row["allocation"]: row["pfs"] for row in false_selection(toy(), 300, runs, seed=0).to_dict("records")
    }
    wrong, static = last["gp-c-ocba"] * runs, last["static p*"]
    # Were the two equal, so many would be seen in one experiment of 10,000.
    assert wrong > scipy.stats.binom(runs, static).ppf(1 - 1e-4)


def test_the_verdict_depends_on_the_numbers() -> None:
    rows = [("gp-c-ocba", 1e-3, 1e-4), ("static p*", 5e-4, 0.0), ("equal", 2e-3, 0.0)]
    frame = pd.DataFrame(rows, columns=["allocation", "pfs", "pfs_se"])
    assert "does not attain eta*" in verdict(frame)
    frame.loc[0, "pfs_se"] = 2e-4
    assert "no contradiction" in verdict(frame)


@pytest.mark.slow
def test_the_part_writes_its_numbers_and_picture(tmp_path: Path) -> None:
    outcome = convergence(Plan(tmp_path, macroreps=2, replications=40))
    assert outcome.table["allocation"].tolist() == ["gp-c-ocba", "static p*", "equal"]
    assert (tmp_path / "convergence.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert pd.read_csv(tmp_path / "convergence_pfs.csv")["n"].max() == 52
    assert any("max |p - p*|" in note for note in outcome.notes)
