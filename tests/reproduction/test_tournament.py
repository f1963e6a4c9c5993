"""The rule of the tournament, on made-up frames, and one small run of it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.experiment import Experiment, run
from argbest.options import POLICY
from experiments import tournament
from experiments.tournament import Match

STORED = tournament.STORED
PAGE = STORED.parents[1] / "docs" / "tournament.md"


def relative(contender: str, *losses: float) -> pd.DataFrame:
    """The relative losses of a contender on the first problems."""
    problems = [f"p{i}" for i in range(len(losses))]
    return pd.DataFrame({"problem": problems, "contender": contender, "relative": losses})


def test_losses_are_means_over_checkpoints_and_runs_beside_the_smallest_of_the_problem() -> None:
    rows = pd.DataFrame(
        [
            ("p", "a", 0, 3.0, 2.0, 1.0),
            ("p", "a", 1, 6.0, 4.0, 2.0),
            ("p", "b", 0, 9.0, 6.0, 3.0),
            ("p", "b", 1, 9.0, 6.0, 3.0),
            ("q", "a", 0, 0.5, 0.5, 0.5),
            ("q", "a", 1, 0.5, 0.5, 0.5),
            ("q", "b", 0, 0.3, 0.2, 0.1),
            ("q", "b", 1, 0.3, 0.2, 0.1),
        ],
        columns=["problem", "contender", "macroreplication", "quarter", "half", "end"],
    )
    found = tournament.losses(rows).set_index(["problem", "contender"])
    assert found["loss"].to_dict() == pytest.approx(
        {("p", "a"): 3.0, ("p", "b"): 6.0, ("q", "a"): 0.5, ("q", "b"): 0.2}
    )
    assert found["relative"].to_dict() == pytest.approx(
        {("p", "a"): 1.0, ("p", "b"): 2.0, ("q", "a"): 2.5, ("q", "b"): 1.0}
    )
    assert found["loss_se"].tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0])  # of 2 and 4: sqrt(2) / sqrt(2)


def test_the_smallest_worst_relative_loss_wins() -> None:
    found = pd.concat([relative("steady", 1.5, 1.5), relative("moody", 1.0, 2.0)])
    order = tournament.standing(found)
    assert order["contender"].tolist() == ["steady", "moody"]
    assert order["score"].tolist() == [1.5, 2.0]
    assert order["geometric_mean"].tolist() == pytest.approx([1.5, np.sqrt(2.0)])
    assert order["eligible"].tolist() == [True, False]


def test_within_a_tenth_of_the_smallest_score_the_geometric_mean_decides() -> None:
    found = pd.concat(
        [
            relative("smallest-score", 1.5, 1.4, 1.0),  # product 2.1
            relative("beyond-a-tenth", 1.0, 1.0, 1.66),  # product 1.66, the smallest of all
            relative("within-a-tenth", 1.0, 1.3, 1.6),  # product 2.08
        ]
    )
    order = tournament.standing(found)
    assert order["contender"].tolist() == ["within-a-tenth", "smallest-score", "beyond-a-tenth"]
    assert order["eligible"].tolist() == [True, True, False]


def test_who_was_not_run_everywhere_neither_wins_nor_sets_the_mark() -> None:
    found = pd.concat([relative("partial", 1.0), relative("whole", 2.0, 1.0), relative("other", 2.1, 1.0)])
    order = tournament.standing(found).set_index("contender")
    assert order["problems"].to_dict() == {"whole": 2, "other": 2, "partial": 1}
    assert order["eligible"].to_dict() == {"whole": True, "other": True, "partial": False}
    assert order.index[0] == "whole"


def test_every_contender_but_the_slow_is_run_and_scored_at_three_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tournament, "POLICIES", ("equal", "dvr-loss", "ikg"))
    rows = tournament.play(Match("newsvendor", 2, 8, too_slow=("ikg",)), tmp_path, jobs=1)
    assert rows["problem"].eq("newsvendor").all()
    asked = [f"{policy}:{tournament.MODEL}" for policy in ("equal", "dvr-loss")]
    runs = run(
        Experiment(
            "newsvendor",
            asked,
            replications=8,
            macroreps=2,
            seed=tournament.SEED,
            checkpoint_every=1,
            common_random_numbers=False,
        )
    ).runs
    assert len(rows) == 4
    for row in rows.itertuples():
        own = runs[
            (runs["contender"] == f"{row.contender}:{tournament.MODEL}")
            & (runs["macroreplication"] == row.macroreplication)
        ].set_index("replications")["cost"]
        assert (row.quarter, row.half, row.end) == pytest.approx((own[2], own[4], own[8]), rel=1e-9)


def test_whoever_pours_budget_into_ties_cannot_win() -> None:
    found = pd.DataFrame({"problem": ["p", "p"], "contender": ["a", "b"], "relative": [1.0, 3.0]})
    assert tournament.standing(found)["contender"].tolist() == ["a", "b"]
    order = tournament.standing(found, barred=("a",))
    assert order["contender"].tolist() == ["b", "a"]
    assert order["eligible"].tolist() == [True, False]


@pytest.mark.parametrize("kind", ["", "_common"])
def test_the_default_policy_won_each_stored_tournament(kind: str) -> None:
    """The standing follows from the stored losses, by the rule."""
    kept = pd.read_csv(STORED / f"tournament{kind}.csv")
    order = tournament.standing(kept, tournament.BARRED)
    stored = pd.read_csv(STORED / f"tournament{kind}_standing.csv")
    pd.testing.assert_frame_equal(order, stored, rtol=1e-3, atol=1e-4, check_dtype=False)
    assert order["contender"].iloc[0] == POLICY


def test_the_page_shows_the_stored_tournaments() -> None:
    first, second = (
        [*tournament.on_page(pd.read_csv(STORED / f"tournament{kind}.csv"))] for kind in ("", "_common")
    )
    shown = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line in (*first, *second)]
    assert shown == [*first, *second]


def test_another_run_of_a_problem_takes_the_place_of_the_stored_one(tmp_path: Path) -> None:
    old = pd.read_csv(STORED / "tournament.csv")
    (tmp_path / "tournament.csv").write_bytes((STORED / "tournament.csv").read_bytes())
    (tmp_path / "page.md").write_bytes(PAGE.read_bytes())
    found = old[old["problem"] == "newsvendor"].assign(relative=7.125)
    every = tournament.stored(found, "", tmp_path)
    assert every["problem"].unique().tolist() == old["problem"].unique().tolist()
    assert every.loc[every["problem"] == "newsvendor", "relative"].eq(7.125).all()
    assert every[every["problem"] != "newsvendor"].equals(old[old["problem"] != "newsvendor"])
    assert pd.read_csv(tmp_path / "tournament_standing.csv")["score"].min() >= 7.125
    tournament.rewrite(tmp_path / "page.md", "", every)
    lines, before = ((tmp_path / "page.md").read_text().splitlines(), PAGE.read_text().splitlines())
    [changed] = [line for line, other in zip(lines, before, strict=True) if line != other]
    assert changed == "| `newsvendor` |" + 8 * " 7.12 |"
