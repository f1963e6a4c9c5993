"""Versions of problems, and their table: what was published under a pinned name stays what it was."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import problem_versions
import pytest

import argbest
from argbest import InputError, Problem, registry
from argbest.experiment import Experiment
from argbest.problems import catalogue
from argbest.problems.inventory import newsvendor
from argbest.simulators.function import Function
from argbest.studyfile import read, shipped
from argbest.table_files import read_table, write_csv

STORED = problem_versions.stored()


def assert_unchanged(now: list[dict[str, Any]], then: list[dict[str, Any]]) -> None:
    """Numbers may differ by 1e-8 of their size: other processors round otherwise."""
    assert len(now) == len(then)
    for new, old in zip(now, then, strict=True):
        assert new["words"] == old["words"]
        for what in ("truth", "truth_se", "noise_sd", "draws"):
            if old[what] is None:
                assert new[what] is None
            else:
                size = np.max(np.abs(old[what]), initial=0.0)
                np.testing.assert_allclose(new[what], old[what], rtol=1e-8, atol=1e-8 * size, err_msg=what)


@pytest.mark.parametrize("name", STORED)
def test_the_truth_and_the_draws_of_a_version_never_change(name: str) -> None:
    assert_unchanged(problem_versions.described(name), STORED[name])


def test_every_shipped_problem_has_its_numbers_stored() -> None:
    missing = [name for name in map(catalogue.pinned, catalogue.PROBLEMS) if name not in STORED]
    assert missing == [], "call `python tests/problem_versions.py`"


@pytest.mark.parametrize("what", ["one mean", "one context", "the noise", "a weight"])
def test_a_small_change_of_a_problem_is_noticed(what: str) -> None:
    problem = newsvendor()
    assert problem.truth is not None
    assert problem.noise_sd is not None
    truth, noise, weights = problem.truth.copy(), problem.noise_sd.copy(), problem.weights.copy()
    contexts: Any = problem.contexts
    if what == "one mean":
        truth[3, 5] += 1e-4
    elif what == "the noise":
        noise[0, 1] += 1e-4
    elif what == "a weight":
        weights[0] *= 1.001
    else:
        contexts = [{"demand": float(d) + (i == 2)} for i, d in enumerate(problem.contexts.columns["demand"])]
    changed = Problem(
        problem.alternatives, contexts, problem.simulate, truth=truth, noise_sd=noise, weights=weights
    )
    with pytest.raises(AssertionError):
        assert_unchanged([problem_versions.fingerprint(changed)], STORED["newsvendor@1"])


def test_other_replications_are_noticed() -> None:
    problem = newsvendor()
    simulate: Any = problem.simulate
    other = replace(simulate, chances=np.minimum(1.05 * simulate.chances, 1.0))
    changed = problem_versions.fingerprint(newsvendor()) | {
        "draws": other.many(np.arange(8), np.arange(8), np.arange(8)).tolist() * 6
    }
    with pytest.raises(AssertionError, match="draws"):
        assert_unchanged([changed], STORED["newsvendor@1"])


def toy(value: float) -> Problem:
    return Problem(["A", "B"], [1], lambda _a, _c, _s: value, name="toy", truth=[[value], [0]])


def test_a_name_is_the_latest_version_and_a_pinned_name_always_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = (toy(value) for value in (1.0, 2.0))
    monkeypatch.setitem(catalogue.PROBLEMS, "toy", registry.ProblemEntry(lambda: second, version=2))
    monkeypatch.setitem(catalogue.PROBLEMS, "toy@1", registry.ProblemEntry(lambda: first))
    assert registry.problem("toy") is second
    assert registry.problem("toy@2") is second
    assert registry.problem("toy@1") is first
    assert [argbest.problems.pinned(name) for name in ("toy", "toy@2", "toy@1")] == [
        "toy@2",
        "toy@2",
        "toy@1",
    ]
    assert [catalogue.lasting(name) for name in ("toy", "toy@2", "toy@1")] == ["toy@2", "toy@2", "toy"]
    with pytest.raises(InputError, match="the latest version of 'toy' is 2, and there is no version 3"):
        registry.problem("toy@3")
    named = {name: Experiment(name, "equal", replications=5).plain()["problem"] for name in ("toy", "toy@1")}
    assert named == {"toy": "toy@2", "toy@1": "toy"}  # what version 1 stored is not gone on with by version 2
    simulators = [shipped.simulator(name) for name in ("toy", "toy@1")]
    assert [each and each.name for each in simulators] == [
        "argbest.studyfile.shipped:toy__2", "argbest.studyfile.shipped:toy",
    ]  # fmt: skip
    values = [each("A", 1, 0) for each in simulators if each is not None]
    assert values == [2.0, 1.0]


def test_a_pinned_name_works_wherever_a_name_does(tmp_path: Path) -> None:
    np.testing.assert_array_equal(registry.problem("newsvendor@1").truth, newsvendor().truth)
    assert Experiment("newsvendor@1", "equal", replications=5).plain() == (
        Experiment("newsvendor", "equal", replications=5).plain()
    )
    file = tmp_path / "study.toml"
    file.write_text('problem = "newsvendor@1"\n[run]\nbudget = 130\n', encoding="utf-8")
    assert read(file).problem.simulate == Function("argbest.studyfile.shipped:newsvendor")
    with pytest.raises(InputError, match="Did you mean 'newsvendor'"):
        registry.problem("newsvender@1")
    with pytest.raises(AttributeError, match="nothing"):
        _ = shipped.nothing


def test_the_table_has_a_row_per_problem_that_says_what_it_is_and_where_it_is_from() -> None:
    table = argbest.problems.table().set_index("problem")
    assert table.index.tolist() == [argbest.problems.pinned(name) for name in registry.problems()]
    for name, row in table.loc[[argbest.problems.pinned(each) for each in registry.PROBLEMS]].iterrows():
        problem = registry.problem(str(name))
        assert (row["alternatives"], row["contexts"]) == problem.shape
        assert row["pairs"] == problem.n_alternatives * problem.n_contexts
        assert row["noise"]
        assert row["source"]
        assert row["description"] == problem.description
    assert table["truth"].value_counts().to_dict() == {"exact": len(table) - 2, "estimated": 2}
    assert table.loc["covid@1", "truth"] == "estimated"
    assert list(table[["responses", "limits"]].loc["call-lines@1"]) == [
        "profit, lost, late", "lost <= 0.05, late <= 0.1",
    ]  # fmt: skip
    assert table.index[table["drawn"]].tolist() == [
        *("gp-draws@1", "trend-draws@1", "metric-draws@1", "most-probable-best@1", "most-probable-noisy@1")
    ]
    assert list(table[["noise_sd_min", "noise_sd_max"]].loc["branin@1"]) == [3.0, 3.0]


def test_the_truth_comes_as_a_table_that_tells_the_best_of_every_context(tmp_path: Path) -> None:
    problem = registry.problem("queue-staffing")
    assert problem.truth is not None
    frame = argbest.problems.truth("queue-staffing@1")
    assert frame.columns.tolist() == [
        *("alternative.servers", "context.rate", "weight", "mean", "se", "noise_sd", "best", "loss")
    ]
    wide = frame.pivot(index="alternative.servers", columns="context.rate", values="mean")
    np.testing.assert_array_equal(wide.to_numpy(), problem.truth)
    smallest = frame.groupby("context.rate")["mean"].transform("min")
    np.testing.assert_array_equal(frame["best"], frame["mean"] == smallest)
    np.testing.assert_allclose(frame["loss"], frame["mean"] - smallest)
    again = read_table(write_csv(tmp_path / "truth.csv", frame))
    pd.testing.assert_frame_equal(again, frame, check_column_type=False)


def test_the_truth_of_several_responses_says_which_pairs_keep_the_limits() -> None:
    frame = argbest.problems.truth("call-rush")
    assert [name for name in frame.columns if "." in name] == [
        *("alternative.servers", "context.rate", "mean.cost", "mean.late", "se.cost", "se.late"),
        *("noise_sd.cost", "noise_sd.late"),
    ]
    assert frame["noise_sd.cost"].isna().all()
    np.testing.assert_array_equal(frame["feasible"], frame["mean.late"] <= 0.05)
    assert not (frame["best"] & ~frame["feasible"]).any()
    best = frame[frame["best"]].groupby("context.rate").size()
    assert best.max() == 1
    assert len(best) < 10  # in the busiest hours none keeps the limit


def test_the_truth_of_a_family_is_that_of_a_seed_and_ties_are_all_best() -> None:
    drawn = argbest.problems.truth("gp-draws", seed=3)["mean"]
    truth = registry.problem("gp-draws", seed=3).truth
    assert truth is not None
    np.testing.assert_array_equal(drawn, truth.ravel())
    assert not np.array_equal(drawn, argbest.problems.truth("gp-draws")["mean"])
    assert argbest.problems.truth("cosine8").groupby("context.x2")["best"].sum().tolist() == [2] * 40


def test_a_problem_without_truth_has_no_table_of_it() -> None:
    with pytest.raises(InputError, match="the truth of problem 'dark' is not known"):
        argbest.problems.truth(Problem(["A", "B"], [1], name="dark"))


def test_the_page_on_benchmarks_has_a_row_per_problem() -> None:
    page = (Path(__file__).parents[2] / "docs" / "benchmark.md").read_text("utf-8")
    paper = "Cakmak, Gao and Zhou, Contextual Ranking and Selection with Gaussian Processes"
    expected = []
    for row in argbest.problems.table().to_dict("records"):
        size = f"{row['alternatives']:,} \N{MULTIPLICATION SIGN} {row['contexts']}"
        limits, source = row["limits"] or "\N{EN DASH}", row["source"].replace(paper, "the paper")
        cells = (f"`{row['problem']}`", size, row["truth"], row["noise"], limits, source)
        expected.append(f"| {' | '.join(cells)} |")
    assert [line for line in page.splitlines() if line.startswith("| `") and "@1` |" in line] == expected
