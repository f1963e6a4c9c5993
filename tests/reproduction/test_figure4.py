import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.errors import InputError
from experiments import covid_runs
from experiments.figure4 import GOALS, by_time, decision_seconds, figure4, hours, verdict
from experiments.plan import Plan


def curve(pcs: list[float], *, n_initial: int = 100, contender: str = "dsco") -> pd.DataFrame:
    own = {"problem": "p", "contender": contender, "n_initial": n_initial, "pcs_e_se": 0.01}
    return pd.DataFrame([own | {"total": n_initial + 100 * i, "pcs_e": value} for i, value in enumerate(pcs)])


def measured(seconds: float) -> pd.DataFrame:
    row = {"problem": "p", "contender": "dsco", "decisions": 1, "seconds": seconds}
    return pd.DataFrame([row])


def test_a_point_takes_its_simulations_and_the_decisions_after_the_initial_design() -> None:
    timed = by_time(curve([0.2, 0.4, 0.6]), measured(0.5))
    assert timed["simulation_seconds"].tolist() == [1.0] * 3 + [10.0] * 3
    assert timed["seconds"].tolist() == [100.0, 250.0, 400.0, 1000.0, 2050.0, 3100.0]


def test_hours_are_interpolated_and_infinite_where_the_level_is_never_reached() -> None:
    reached = hours(by_time(curve([0.2, 0.4, 0.65]), measured(0.0)))
    first = reached[reached["simulation_seconds"] == 1.0].set_index("goal")["hours"]
    assert first[0.5] * 3600 == pytest.approx(200 + 100 * 0.1 / 0.25)
    assert first[0.6] * 3600 == pytest.approx(200 + 100 * 0.2 / 0.25)
    assert np.isinf(first[0.7])
    assert tuple(first.index) == GOALS


def test_a_level_reached_at_the_start_takes_the_initial_design() -> None:
    reached = hours(by_time(curve([0.9, 0.8]), measured(3.0)))
    assert reached["hours"].tolist() == pytest.approx([100 / 3600] * 3 + [1000 / 3600] * 3)


def test_the_verdict_says_whether_decisions_matter() -> None:
    assert "at most 0.1 % of the time" in verdict(measured(0.001))
    assert "those of Figure 3" in verdict(measured(0.001))
    assert verdict(measured(1.0)).endswith(
        "50 % of the time at 1 s per simulation, most of all those of dsco."
    )


def test_the_measured_time_is_that_of_decisions_and_not_of_simulations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(1_000))
    monkeypatch.setattr(time, "process_time", lambda: float(next(clock)))
    # Every interval of this clock is one second: asking is one, telling is another.
    assert decision_seconds("covid-paper", "c-ocba", 3, seed=0) == pytest.approx(2.0)


def test_a_problem_without_simulator_has_no_decisions_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    from argbest import Problem, registry

    monkeypatch.setattr(registry, "problem", lambda _: Problem(["A", "B"], [1, 2]))
    with pytest.raises(InputError, match="has no simulator"):
        decision_seconds("mine", "dsco", 1, seed=0)


@pytest.mark.slow
def test_figure_4_takes_the_runs_of_figure_3_and_draws_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(covid_runs, "PROBLEMS", {"covid-paper": 10.0})  # the quick one
    outcome = figure4(Plan(tmp_path, macroreps=2, replications=10, seed=1))
    assert (tmp_path / "fig4.png").read_bytes().startswith(b"\x89PNG\r\n")
    timed = pd.read_csv(tmp_path / "fig4.csv")
    runs = covid_runs.curves(Plan(tmp_path, macroreps=2, replications=10, seed=1))  # kept, so only read
    assert len(timed) == 2 * len(runs)
    assert timed["pcs_e"].tolist() == pytest.approx(runs["pcs_e"].tolist() * 2, rel=1e-12)
    found = pd.read_csv(tmp_path / "fig4_decisions.csv")
    assert ((found["seconds"] > 0) & (found["seconds"] < 1)).all()
    assert (found["decisions"] == 10).all()
    assert outcome.table["policy"].tolist() == [*covid_runs.POLICIES]
    assert any("counted for all later decisions too" in note for note in outcome.notes)
