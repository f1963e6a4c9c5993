"""How often forecasts are right: the rule by hand, one study, and the stored result."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import small_problems

from experiments import forecast

STORED = Path(forecast.__file__).parent / "stored" / "forecast.csv"


def rows(*right: bool) -> pd.DataFrame:
    given = [("branin", 10.0, 100.0, 50 if each else 200, 60 if each else 220, each) for each in right]
    return pd.DataFrame(given, columns=["problem", "low", "high", "after", "until", "right"])


def test_shares_say_how_often_and_on_which_side() -> None:
    found = forecast.shares(rows(True, True, False, True))
    assert found["problem"].tolist() == ["branin", "all"]
    assert found["right"].tolist() == [0.75, 0.75]
    assert (found["later"].tolist(), found["sooner"].tolist()) == ([1, 1], [0, 0])


@pytest.mark.parametrize(("wrong", "kept"), [(0, True), (7, True), (8, False)])
def test_the_promise_allows_two_standard_errors(wrong: int, kept: bool) -> None:
    """Of 40 forecasts 90 % less two standard errors are 32.2."""
    assert forecast.kept(forecast.shares(rows(*[True] * (40 - wrong), *[False] * wrong))) is kept


@pytest.mark.slow
def test_a_study_is_foreseen_and_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    small = small_problems.table()
    monkeypatch.setattr(forecast, "AHEAD", 40)
    monkeypatch.setattr(forecast, "BEGUN", 0)
    monkeypatch.setattr(forecast, "TARGET", 0.999)
    monkeypatch.setattr(forecast, "problem", lambda name, seed: small)
    row = forecast.trial("newsvendor", 7)
    assert row is not None
    assert row["begun"] == 4 * small.n_alternatives * small.n_contexts
    assert 0 < float(str(row["low"])) <= float(str(row["high"]))
    assert float(str(row["until"])) <= 40 or (row["after"], row["until"]) == (40, np.inf)


def test_the_stored_forecasts_keep_the_promise() -> None:
    stored = pd.read_csv(STORED)
    assert set(stored["problem"]) <= set(forecast.PROBLEMS)
    assert (stored["seed"] >= forecast.FIRST).all()
    right = (stored["low"] <= stored["until"]) & (stored["high"] >= stored["after"])
    assert (right == stored["right"]).all()
    assert forecast.kept(forecast.shares(stored))
