from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.problems.covid.parameters import Outbreak
from argbest.problems.covid.simulator import infections
from experiments import covid_drawing
from experiments.epidemic import SPLIT, epidemic, spread
from experiments.plan import Plan


def test_groups_are_sums_of_compartments_and_bands_hold_the_middle_of_the_runs() -> None:
    counts = np.zeros((101, 1, 2, 9), np.int64)
    counts[:, 0, 1] = np.arange(101)[:, None] * np.arange(9)  # run r, compartment i: r * i
    numbers = spread(counts, (1_000,)).query("day == 1").set_index("group")
    assert numbers.loc["exposed or pre-infectious", "mean"] == pytest.approx(50 * (1 + 2))
    assert numbers.loc["infectious and free", "mean"] == pytest.approx(50 * (3 + 4 + 5))
    assert numbers.loc["recovered", "low"] == pytest.approx(2.5 * 8)
    assert numbers.loc["recovered", "high"] == pytest.approx(97.5 * 8)
    assert numbers.loc["ever infected", "mean"] == pytest.approx(50 * (1 + 2 + 3 + 4 + 5 + 7 + 8))


@pytest.mark.slow
def test_the_curve_ends_with_the_infections_that_the_simulator_counts(tmp_path: Path) -> None:
    outcome = epidemic(Plan(tmp_path, macroreps=5, seed=2))
    numbers = pd.read_csv(tmp_path / "covid_epidemic.csv")
    last = numbers[(numbers["day"] == 14) & (numbers["group"] == "ever infected")]
    counted = infections(Outbreak(infection=0.03, contacts=12.0), SPLIT, np.arange(2, 7)).mean(axis=0)
    assert last["mean"].tolist() == pytest.approx(counted.tolist())
    first = numbers[(numbers["day"] == 0) & (numbers["group"] == "ever infected")]
    assert first["mean"].tolist() == [125, 300, 500]
    assert len(outcome.table) == 15
    assert (tmp_path / "covid_epidemic.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert all(len(ax.collections) == 5 for ax in covid_drawing.epidemic(numbers).axes)  # bands
