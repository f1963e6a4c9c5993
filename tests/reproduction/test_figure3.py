from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest import registry
from argbest.experiment import Contender, Experiment, run
from argbest.problems.design import ExtremeContexts
from experiments import covid_runs
from experiments.figure3 import SUBTITLES, figure3
from experiments.plan import Outcome, Plan


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """Figure 3 of two short macro-replications, and its folder."""
    out = tmp_path_factory.mktemp("paper")
    return figure3(Plan(out, macroreps=2, replications=12, seed=5)), out


def test_a_full_run_has_the_authors_replications_and_macro_replications() -> None:
    plan = covid_runs.usual(Plan(Path()))
    everywhere = covid_runs.experiment(plan, "covid-paper", covid_runs.EVERYWHERE)
    corners = covid_runs.experiment(plan, "covid-paper", covid_runs.CORNERS)
    assert (everywhere.macroreps, 384 + everywhere.replications, 96 + corners.replications) == (
        50,
        5_000,
        5_000,
    )
    assert covid_runs.usual(Plan(Path(), macroreps=7)).runs == 7


def test_the_corners_are_the_four_extreme_contexts_twice() -> None:
    problem = registry.problem("covid-regional")
    design = covid_runs.design("ts")
    assert design is not None
    pairs = design.pairs(problem, np.random.default_rng(0))
    assert len(pairs) == 96
    assert {c for _, c in pairs} == {0, 3, 12, 15}
    assert covid_runs.design("dsco") is None


@pytest.mark.slow
def test_all_policies_are_scored_at_equal_totals(done: tuple[Outcome, Path]) -> None:
    numbers = pd.read_csv(done[1] / "fig3.csv")
    for (_, policy), own in numbers.groupby(["problem", "contender"]):
        corner = policy in covid_runs.CORNERS
        assert own["total"].iloc[0] == own["n_initial"].iloc[0] == (96 if corner else 384)
        assert own["total"].iloc[-1] == 396
        assert {384, 396} <= set(own["total"])
    assert numbers.groupby("problem")["contender"].nunique().tolist() == [7, 7]


@pytest.mark.slow
def test_the_numbers_are_those_of_the_experiment(done: tuple[Outcome, Path]) -> None:
    numbers = pd.read_csv(done[1] / "fig3.csv")
    cases = {
        "gp-c-ocba": (Contender("gp-c-ocba", initial=2), 12),
        "ts": (Contender("ts", initial=ExtremeContexts(2)), 300),
    }
    for policy, (contender, replications) in cases.items():
        expected = run(
            Experiment(
                "covid-regional",
                contender,
                replications=replications,
                macroreps=2,
                seed=5,
                delta=30.0,
                certify=True,
                common_random_numbers=False,
            )
        ).summary()
        own = numbers[(numbers["problem"] == "covid-regional") & (numbers["contender"] == policy)]
        for name in ("pcs_e", "pcs_e_se", "pgs", "eoc", "certificate"):
            assert own[name].iloc[-1] == pytest.approx(expected[name].iloc[-1], rel=1e-12)


@pytest.mark.slow
def test_the_notes_say_what_is_true_of_each_edition(done: tuple[Outcome, Path]) -> None:
    true, paper, regional = covid_runs.truths()
    truth = registry.problem("covid").truth
    assert truth is not None
    assert (np.argmin(truth, axis=0) == 0).all()  # what the first note says
    assert "alternative 0 (0.2, 0.3, 0.5) is best in all 16 contexts, by 0.052 to 0.15" in true
    pooled = registry.problem("covid-paper").truth
    assert pooled is not None
    assert f"truly best alternative in {(np.argmin(pooled, axis=0) == 0).sum()} of 16 contexts" in paper
    assert "7 of 12 alternatives are best somewhere" in regional
    assert set(covid_runs.truths()) <= set(done[0].notes)


@pytest.mark.slow
def test_the_picture_is_drawn_and_the_table_lists_every_policy(done: tuple[Outcome, Path]) -> None:
    outcome, out = done
    assert (out / "fig3.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert tuple(SUBTITLES) == tuple(covid_runs.PROBLEMS)
    assert outcome.table["policy"].tolist() == [*covid_runs.POLICIES] * 2
