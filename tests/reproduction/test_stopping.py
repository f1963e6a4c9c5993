"""Studies that end themselves: the lines by hand, one small run, and what is stored."""

from pathlib import Path

import pandas as pd
import pytest

from experiments import stopping

STORED = Path(stopping.__file__).parent / "stored" / "stopping.csv"


def test_only_studies_that_ended_themselves_are_judged() -> None:
    rows = pd.DataFrame(
        {
            "problem": ["branin", "branin", "branin", "gp-draws"],
            "replications": [300, 400, 2_000, 500],
            "ended": [True, True, False, True],
            "claimed": [0.951, 0.955, 0.9, 0.96],
            "right": [1.0, 0.9, 0.1, 0.5],
            "loss": [0.0, 0.01, 0.5, 0.2],
        }
    )
    found = stopping.summary(rows).set_index("problem")
    assert [found.loc["branin", name] for name in ("studies", "ended", "replications")] == [3, 2, 350]
    assert found.loc["branin", "right"] == pytest.approx(0.95)
    assert found.loc["branin", "right_se"] == pytest.approx(0.05)
    assert found.loc["all", "right"] == pytest.approx(0.8)
    assert found.loc["families", "ended"] == 1


@pytest.mark.slow
def test_a_study_is_run_until_it_ends_itself() -> None:
    row = stopping.ended("newsvendor", 0, most=150)
    assert row["replications"] == 150 or row["ended"]
    assert 0.0 <= float(str(row["right"])) <= 1.0


def test_what_is_stored_holds_on_the_families_and_on_all_problems() -> None:
    stored = pd.read_csv(STORED).set_index("problem")
    assert stored.loc[["families", "all"], "holds"].all()
