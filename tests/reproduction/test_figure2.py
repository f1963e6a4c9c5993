from pathlib import Path

import pandas as pd
import pytest

from argbest.errors import InputError
from argbest.experiment import Contender, Experiment, run
from experiments import papers
from experiments.figure2 import PANELS, POLICIES, PROBLEMS, figure2, runs
from experiments.papers import LOOKAHEAD
from experiments.plan import Outcome, Plan
from experiments.published import COLUMNS


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """Figure 2 of three short macro-replications, with one published point, and its folder."""
    out = tmp_path_factory.mktemp("paper")
    row = ("branin", "worst", "GP-C-OCBA", 0, 0.07, 0.026, 100, 0.5)
    pd.DataFrame([row], columns=list(COLUMNS)).to_csv(out / "published.csv", index=False)
    return figure2(Plan(out, macroreps=3, replications=20, seed=5, published=out / "published.csv")), out


@pytest.mark.slow
def test_every_panel_has_a_curve_of_every_policy_it_needs(done: tuple[Outcome, Path]) -> None:
    curves = pd.read_csv(done[1] / "fig2.csv")
    for panel in PANELS:
        own = curves[(curves["problem"] == panel.problem) & (curves["measure"] == panel.measure)]
        assert tuple(own["contender"].unique()) == PROBLEMS[panel.problem]
        assert own["replications"].tolist() == [0, 20] * len(PROBLEMS[panel.problem])
    assert len(curves) == 2 * (4 * 7 + 2 * 3)


@pytest.mark.slow
def test_the_numbers_are_those_of_the_experiment(done: tuple[Outcome, Path]) -> None:
    curves = pd.read_csv(done[1] / "fig2.csv")
    for weights, measure in (("problem", "pcs_e"), ("uniform", "p_all")):
        ikg = Contender("ikg", "gp")
        experiment = Experiment(
            "branin", ikg, replications=20, macroreps=3, seed=5, weights=weights, common_random_numbers=False
        )
        expected = run(experiment).summary()
        own = curves[
            (curves["problem"] == "branin") & (curves["measure"] == measure) & (curves["contender"] == "ikg")
        ]
        for column, name in (("value", measure), ("se", f"{measure}_se"), ("pcs_m", "pcs_m"), ("eoc", "eoc")):
            assert own[column].tolist() == pytest.approx(
                [expected[name].iloc[0], expected[name].iloc[-1]], rel=1e-12
            )


def test_every_policy_has_the_model_that_the_paper_gives_it() -> None:
    models = {policy: papers.contender(policy).model_name for policy in POLICIES}
    assert models == {
        **dict.fromkeys(("gp-c-ocba", "ikg", "ikg-noise-free"), "gp"),
        **dict.fromkeys(("c-ocba", "dsco"), "independent"),
        **dict.fromkeys(("ts", "ts-plus"), "linear"),
    }


def test_only_policies_that_use_weights_are_run_a_second_time() -> None:
    assert runs() == [
        *(("branin", "problem"), ("branin", "uniform"), ("griewank", "problem")),
        *(("hartmann3", "problem"), ("cosine8", "problem")),
    ]
    assert set(LOOKAHEAD) < set(POLICIES)


def test_policies_that_ignore_weights_decide_alike_under_both() -> None:
    others = [Contender(name) for name in POLICIES if name not in LOOKAHEAD]
    by_weights = [
        run(
            Experiment(
                "branin", others, replications=20, macroreps=2, weights=weights, common_random_numbers=False
            )
        ).summary()
        for weights in ("problem", "uniform")
    ]
    for column in ("p_all", "pcs_m"):
        assert by_weights[0][column].tolist() == by_weights[1][column].tolist()


@pytest.mark.slow
def test_the_published_point_is_compared(done: tuple[Outcome, Path]) -> None:
    outcome, out = done
    [row] = pd.read_csv(out / "fig2_comparison.csv").itertuples()
    assert (row.problem, row.measure, row.contender, row.replications) == ("branin", "p_all", "gp-c-ocba", 0)
    assert (row.published, row.published_pcs_m) == (0.07, 0.5)
    shown = outcome.table[outcome.table["largest difference"] != "-"]
    assert shown[["problem", "measure", "policy"]].to_numpy().tolist() == [["branin", "p_all", "gp-c-ocba"]]


@pytest.mark.slow
def test_the_picture_and_the_times_are_written(done: tuple[Outcome, Path]) -> None:
    outcome, out = done
    assert (out / "fig2.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert all(path.exists() for path in outcome.written)
    times = pd.read_csv(out / "fig2_seconds.csv")
    assert len(times) == 2 * 7 + 2 * 3 + 2
    assert (times["seconds"] > 0).all()


@pytest.mark.slow
def test_the_same_plan_goes_on_from_its_folder_and_another_is_refused(done: tuple[Outcome, Path]) -> None:
    out = done[1]
    before = (out / "fig2.csv").read_bytes()
    parts = {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*.csv")}
    again = figure2(Plan(out, macroreps=3, replications=20, seed=5))
    assert (out / "fig2.csv").read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in (out / "runs").rglob("*.csv")} == parts
    assert "largest difference" not in again.table.columns
    assert not (out / "fig2_comparison.csv").exists()  # it was another call's
    with pytest.raises(InputError, match="replications is 20, asked for 30"):
        figure2(Plan(out, macroreps=3, replications=30, seed=5))
