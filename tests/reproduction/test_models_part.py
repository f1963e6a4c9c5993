from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.experiment import Experiment, run
from experiments import models as part
from experiments.plan import Plan


def curve(model: str, costs: list[float]) -> pd.DataFrame:
    row = {"problem": "p", "policy": "dvr", "model": model}
    return pd.DataFrame([row | {"replications": 50 * i, "eoc": cost} for i, cost in enumerate(costs)])


def test_needed_replications_are_interpolated_on_the_running_minimum() -> None:
    replications, cost = np.array([0.0, 10.0, 20.0, 30.0]), np.array([4.0, 2.0, 3.0, 1.0])
    assert part.first_below(replications, cost, 3.0) == pytest.approx(5.0)
    assert part.first_below(replications, cost, 1.5) == pytest.approx(25.0)  # the bump at 20 does not count
    assert part.first_below(replications, cost, 5.0) == 0.0
    assert part.first_below(replications, cost, 0.5) == np.inf


def test_costs_that_differ_by_rounding_are_the_same() -> None:
    assert part.first_below(np.array([0.0, 10.0]), np.array([2.0, 1e-14]), 0.0) == pytest.approx(10.0)


def test_savings_ask_what_the_papers_model_needs_for_the_others_cost_at_100() -> None:
    numbers = pd.concat([curve("gp", [8.0, 6.0, 4.0, 2.0]), curve("additive-gp", [5.0, 4.0, 3.0, 2.5])])
    [row] = part.savings(numbers).itertuples()
    assert (row.model, row.at, row.eoc) == ("additive-gp", 100, 3.0)
    assert row.needed == pytest.approx(125.0)


def test_without_the_papers_model_nothing_is_saved() -> None:
    assert part.savings(curve("additive-gp", [5.0, 4.0, 3.0])).empty


def test_impossible_pairs_are_left_out_with_a_reason(tmp_path: Path) -> None:
    plan = Plan(tmp_path, macroreps=1, replications=1)
    found, skipped = part.contenders(plan, "cosine8")
    assert "gp-c-ocba:gp" in [each.label for each in found]
    reasons = {(policy, model): reason for _, policy, model, reason in skipped}
    assert "800 pairs, more than 400" in reasons["dvr", "additive-gp"]
    assert "800 pairs, more than 100" in reasons["ikg", "additive-gp"]
    assert len(found) + len(skipped) == len(part.MODELS) * len(part.POLICIES)


@pytest.mark.slow
def test_the_part_writes_the_numbers_of_its_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "problems", lambda: ["newsvendor"])
    monkeypatch.setattr(part, "MODELS", ("gp", "independent"))
    outcome = part.models(Plan(tmp_path, macroreps=2, replications=20, seed=4))
    assert len(outcome.table) == 6
    numbers = pd.read_csv(tmp_path / "models.csv")
    expected = run(
        Experiment(
            "newsvendor", "dvr:independent", replications=20, macroreps=2, seed=4, common_random_numbers=False
        )
    ).summary()
    own = numbers[(numbers["policy"] == "dvr") & (numbers["model"] == "independent")]
    for name in ("pcs_e", "eoc", "eoc_se"):
        assert own[name].tolist() == pytest.approx(
            [expected[name].iloc[0], expected[name].iloc[-1]], rel=1e-12
        )
    assert (tmp_path / "models.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_all_shipped_problems_but_the_studies_of_their_own_are_asked() -> None:
    names = part.problems()
    assert {"branin", "cosine8", "gp-draws", "classical"} <= set(names)
    assert not [name for name in names if name.startswith("covid")]
