from pathlib import Path

import pandas as pd
import pytest

from argbest import InputError
from argbest.experiment import Experiment
from experiments.figure1 import figure1
from experiments.figure2 import PANELS, PROBLEMS
from experiments.page import markdown, side_by_side, write_page
from experiments.plan import Plan
from experiments.table1 import table1


def curves() -> pd.DataFrame:
    """Made-up numbers of Figure 2: two checkpoints per curve."""
    rows = [
        (panel.problem, panel.measure, policy, n, 0.25 + n / 200, 0.01, 7, 0.125, 0.5)
        for panel in PANELS
        for policy in PROBLEMS[panel.problem]
        for n in (0, 100)
    ]
    names = ["problem", "measure", "contender", "replications", "value", "se", "n", "pcs_m", "eoc"]
    return pd.DataFrame(rows, columns=names)


def test_a_table_of_texts_becomes_markdown() -> None:
    frame = pd.DataFrame({"a": ["1", "2"], "b": ["x", "y"]})
    assert markdown(frame) == "| a | b |\n| --- | --- |\n| 1 | x |\n| 2 | y |"


def test_our_numbers_stand_beside_the_published_ones() -> None:
    table = side_by_side({"fig2": curves()})
    row = table[(table["panel"] == "Branin, worst case") & (table["policy"] == "ts")].iloc[0]
    assert (row["ours"], row["published"], row["PCS_M"]) == (
        "0.250/0.750",
        "0.16/0.21/0.38/0.54/0.56",
        "0.12",
    )
    assert (row["replications"], row["± se"], row["largest difference"]) == ("0/100", "0.010", "-")


def test_differences_are_shown_where_they_are_known() -> None:
    row = ("branin", "pcs_e", "dsco", 100, 0.75, 0.80, -3.5)
    names = ["problem", "measure", "contender", "replications", "ours", "published", "difference"]
    comparison = pd.DataFrame([row], columns=names)
    table = side_by_side({"fig2": curves(), "fig2_comparison": comparison})
    own = table[(table["panel"] == "Branin, expected") & (table["policy"] == "dsco")]
    assert own["largest difference"].tolist() == ["-3.5 se"]
    assert (table["largest difference"] != "-").sum() == 1


def test_the_page_holds_what_was_run_its_origin_and_every_correction(tmp_path: Path) -> None:
    plan, docs = Plan(tmp_path / "out", macroreps=1, replications=10, seed=3), tmp_path / "docs"
    figure1(plan)
    table1(plan)
    plan.run("some", Experiment("branin", "equal:independent", replications=1, macroreps=1, seed=3))
    curves().to_csv(plan.out / "fig2.csv", index=False)
    text = write_page(plan.out, docs).read_text(encoding="utf-8")
    assert (docs / "images" / "reproduction" / "fig1.png").exists()
    assert "images/reproduction/fig1.png" in text
    assert "Seed 3; python 3" in text
    assert "numpy" in text
    for part in ("## Figure 1", "## Figure 2: 7 macro-replications", "## Table 1"):
        assert part in text
    assert "## Convergence" not in text
    for what in ("IKG's noise", "Worst case", "Griewank", "Cosine8", "Hartmann", "Branin's domain", "Scale"):
        assert f"**{what}.**" in text
    for what in ("Rate of convergence", "Cost of IKG", "Wall clock", "Priors", "Initial design", "Index"):
        assert f"**{what}.**" in text
    assert "tied with its mirror image in 20 of 20 contexts" in text
    assert "PCS cannot exceed about 0.50" in text
    assert "P_all 0.75, PCS_M 0.12" in text
    assert str(tmp_path) not in text


@pytest.fixture(scope="module")
def tabled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    table1(Plan(folder, macroreps=2, replications=10))
    return folder


@pytest.mark.slow
def test_table_1_scales_to_a_thousand_iterations(tabled: Path) -> None:
    table = pd.read_csv(tabled / "table1.csv")
    assert table["iterations"].unique().tolist() == [10]
    assert len(table) == 8
    pd.testing.assert_series_equal(
        table["paper/study"] * table["study"], table["paper"], check_names=False, rtol=1e-9
    )
    branin = table[(table["problem"] == "branin") & (table["policy"] == "ikg")].iloc[0]
    assert branin["paper"] == 1218
    assert 0.01 < branin["in a batch"] < 100


def test_the_seconds_of_table_1_are_all_of_this_session(tabled: Path) -> None:
    assert not (tabled / "runs").exists()


def test_an_unknown_error_is_a_dash() -> None:
    table = side_by_side({"fig2": curves().assign(se=float("nan"))})
    assert set(table["± se"]) == {"-"}


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        (["/some/clone/experiments/__main__.py"], "python -m experiments"),
        (["/some/bin/argbest", "paper"], "python -m experiments"),  # kept by version 0.1
        (["/some/script.py"], "script.py"),
    ],
)
def test_a_command_is_shown_whole_but_for_where_it_was_run(
    called: list[str], shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(tmp_path / "here" / "out", macroreps=1, replications=1)
    here = str(tmp_path / "here")
    words = ["fig2", "--out", f"{here}/a b/out", f"--docs={here}/docs"]
    words += ["--published", "/elsewhere/curves.csv", "--policy", "dvr:gp", "rel/ative/x"]
    monkeypatch.setattr("sys.argv", [*called, *words])
    plan.run("some", Experiment("branin", "equal:independent", replications=1, macroreps=1))
    curves().to_csv(plan.out / "fig2.csv", index=False)
    monkeypatch.chdir(here)
    text = write_page(plan.out, tmp_path / "docs").read_text(encoding="utf-8")
    options = "--out 'a b/out' --docs=docs --published curves.csv --policy dvr:gp rel/ative/x"
    assert f"\n    {shown} fig2 {options}\n" in text


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="holds no results. Make them first: python -m experiments all --out"
    ):
        write_page(tmp_path, tmp_path)
