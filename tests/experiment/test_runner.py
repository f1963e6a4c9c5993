"""Runs in parts: the same numbers however they are shared out, kept, interrupted, resumed or extended."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import small_problems

from argbest import Problem
from argbest.errors import InputError, SimulationError
from argbest.experiment import Contender, Experiment, Results, measures, run
from argbest.experiment.results import versions
from argbest.experiment.runner import chunk_size

POLICIES = ["gp-c-ocba", "equal:independent"]
QUICK = ["c-ocba", "equal:independent"]  # nothing compiled, which every new process would have to load


def experiment(
    macroreps: int = 10, problem: Any = None, policies: list[str] = POLICIES, **options: Any
) -> Experiment:
    given = {"replications": 12, "macroreps": macroreps, "seed": 5} | options
    return Experiment(small_problems.table() if problem is None else problem, policies, **given)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.experiment.runner._MOST_IN_A_PART", 4)


def numbers(results: Results) -> pd.DataFrame:
    return results.runs.drop(columns=list(measures.TIMES))


def assert_same(one: Results, other: Results) -> None:
    pd.testing.assert_frame_equal(numbers(one), numbers(other), check_exact=True)


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "runs").iterdir())


def test_all_contenders_get_on_side_by_side(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt, match="finished parts are kept"):
        run(experiment(policies=QUICK), out=tmp_path, progress=interrupt_at(8 * 12 + 1))
    assert {name.split(".")[0] for name in parts(tmp_path)} == {"c-ocba", "equal+independent"}


@pytest.mark.parametrize("policies", [QUICK, pytest.param(["gp-c-ocba", "ikg"], marks=pytest.mark.slow)])
def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path, policies: list[str]) -> None:
    seen: list[tuple[int, int]] = []
    asked = experiment(policies=policies)
    several = run(asked, jobs=2, out=tmp_path, progress=lambda *at: seen.append(at))
    assert_same(run(asked), several)
    assert {total for _, total in seen} == {2 * 10 * 12}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == 240
    assert parts(tmp_path) == [
        f"{label}.{span}.csv"
        for label in sorted(name.replace(":", "+") for name in policies)
        for span in ("000000-000003", "000004-000007", "000008-000009")
    ]


def test_a_finished_experiment_is_read_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(experiment(), out=tmp_path)
    monkeypatch.setattr("argbest.experiment.runner.run_part", lambda *_: pytest.fail("ran again"))
    again = run(experiment(), out=tmp_path)
    pd.testing.assert_frame_equal(first.runs, again.runs, check_exact=True)
    loaded = Results.load(tmp_path)
    pd.testing.assert_frame_equal(first.runs, loaded.runs, check_exact=True)
    assert loaded.macroreps == 10
    assert loaded.plain()["policies"] == first.plain()["policies"]
    fewer = run(experiment(6), out=tmp_path)
    assert_same(fewer, run_fresh(6, monkeypatch))


def run_fresh(macroreps: int, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.undo()
    return run(experiment(macroreps))


def test_more_macroreplications_are_added_to_those_there(tmp_path: Path) -> None:
    run(experiment(3), out=tmp_path)
    more = run(experiment(10), out=tmp_path)
    whole = run(experiment(10))
    left, right = numbers(more), numbers(whole)
    exact = [name for name in left.columns if left[name].dtype.kind != "f"]
    pd.testing.assert_frame_equal(left[exact], right[exact])
    np.testing.assert_allclose(left["claim"], right["claim"], rtol=1e-10)
    spans = {name.split(".")[1] for name in parts(tmp_path)}
    # Parts end at multiples of the chunk size, so later additions fall into step.
    assert "000000-000002" in spans
    header = json.loads((tmp_path / "header.json").read_text())
    assert [session["macroreps"] for session in header["sessions"]] == [3, 10]


def test_another_contender_may_join(tmp_path: Path) -> None:
    run(Experiment(small_problems.table(), "equal", replications=12, macroreps=3), out=tmp_path)
    both = run(
        Experiment(small_problems.table(), ["equal", "random"], replications=12, macroreps=3), out=tmp_path
    )
    assert list(both.models) == ["equal", "random"]
    assert Results.load(tmp_path).macroreps == 3


def test_a_folder_with_gaps_is_read_as_far_as_all_contenders_have_it(tmp_path: Path) -> None:
    whole = run(experiment(), out=tmp_path)
    (tmp_path / "runs" / "gp-c-ocba.000000-000003.csv").unlink()
    (tmp_path / "runs" / ".left.part").write_text("half a file")
    loaded = Results.load(tmp_path)
    assert sorted(set(loaded.runs["macroreplication"])) == list(range(4, 10))
    assert_same(run(experiment(), out=tmp_path), whole)
    for path in (tmp_path / "runs").glob("gp-c-ocba*"):
        path.unlink()
    with pytest.raises(InputError, match="has no runs yet of gp-c-ocba. Run its experiment first"):
        Results.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"replications": 13}, "replications is 12, asked for 13"),
        ({"seed": 6}, "seed is 5, asked for 6"),
        ({"delta": 0.5}, "delta is 0.0, asked for 0.5"),
        ({"weights": "uniform"}, "weights is 'problem', asked for 'uniform'"),
        ({"initial": 3}, "initial is None, asked for 'EveryPair"),
        ({"problem": small_problems.table(1)}, "problem is 'table [0-9a-f]+', asked for 'table [0-9a-f]+'"),
    ],
)
def test_a_folder_of_another_experiment_is_refused(
    tmp_path: Path, options: dict[str, Any], difference: str
) -> None:
    run(experiment(1), out=tmp_path)
    before = (tmp_path / "header.json").read_text()
    with pytest.raises(InputError, match=f"holds other runs of the experiment: {difference}"):
        run(experiment(1, **options), out=tmp_path)
    assert (tmp_path / "header.json").read_text() == before


def test_a_contender_under_the_same_label_but_with_another_model_is_refused(tmp_path: Path) -> None:
    run(Experiment(small_problems.table(), "equal", replications=2, macroreps=1), out=tmp_path)
    other = Contender("equal", "independent", label="equal")
    with pytest.raises(
        InputError, match="other runs of contender 'equal': model is 'additive-gp', asked for 'indep"
    ):
        run(Experiment(small_problems.table(), other, replications=2, macroreps=1), out=tmp_path)


def test_a_file_that_is_no_header_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", "{}"):
        (tmp_path / "header.json").write_text(text)
        with pytest.raises(InputError, match="is not the header of an experiment"):
            run(experiment(1), out=tmp_path)
        with pytest.raises(InputError, match="is not the header of an experiment"):
            Results.load(tmp_path)


def interrupt_at(limit: int) -> Callable[[int, int], None]:
    def report(done: int, _: int) -> None:
        if done >= limit:
            raise KeyboardInterrupt

    return report


def test_an_interruption_keeps_finished_parts_and_the_rest_is_run_later(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt, match="finished parts are kept in .*The same call continues there"):
        run(experiment(), out=tmp_path, progress=interrupt_at(5 * 12))
    assert parts(tmp_path) == ["gp-c-ocba.000000-000003.csv"]
    assert_same(run(experiment(), out=tmp_path), run(experiment()))


def test_without_a_folder_an_interruption_says_how_to_keep_work() -> None:
    with pytest.raises(KeyboardInterrupt, match="nothing is kept. Name a folder"):
        run(experiment(), progress=interrupt_at(1))


def test_a_simulator_that_fails_later_leaves_the_finished_parts(tmp_path: Path) -> None:
    calls = 0

    def fails_in_the_end(_: str, __: float, seed: int) -> float:
        nonlocal calls
        calls += 1
        if calls > 4 * (40 + 12):
            raise RuntimeError("worn out")
        return 0.0 + seed / 2**31

    plain = small_problems.plain()
    problem = Problem(
        plain.alternatives, plain.contexts, fails_in_the_end, truth=plain.truth, noise_sd=1.0, name="plain"
    )
    with pytest.raises(SimulationError, match="RuntimeError: worn out"):
        run(experiment(problem=problem), out=tmp_path)
    assert parts(tmp_path) == ["gp-c-ocba.000000-000003.csv"]


def test_what_other_processes_cannot_be_sent_is_refused_before_running() -> None:
    plain = small_problems.plain()
    problem = Problem(plain.alternatives, plain.contexts, lambda *_: 0.0, truth=plain.truth)
    with pytest.raises(InputError, match="cannot be sent to other processes .* or use jobs=1"):
        run(experiment(problem=problem), jobs=2)


@pytest.mark.slow
def test_an_error_in_another_process_is_the_error_here(tmp_path: Path) -> None:
    plain = small_problems.plain()
    problem = Problem(plain.alternatives, plain.contexts, small_problems.Broken(), truth=plain.truth)
    with pytest.raises(SimulationError, match="it returned .*nan"):
        run(experiment(problem=problem, policies=QUICK), jobs=2, out=tmp_path)
    assert parts(tmp_path) == []


@pytest.mark.parametrize("jobs", [0, 1.5, True])
def test_jobs_is_a_positive_whole_number(jobs: Any) -> None:
    with pytest.raises(InputError, match="jobs must be a whole number ≥ 1"):
        run(experiment(), jobs=jobs)


def test_what_is_no_experiment_is_refused() -> None:
    with pytest.raises(InputError, match="run\\(\\) needs an Experiment, got 'branin'"):
        run("branin")  # type: ignore[arg-type]


def test_a_contender_that_cannot_begin_is_refused_before_the_folder_is_touched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot begin on table"):
        run(experiment(initial=1), out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_header_says_with_what_the_numbers_were_made(tmp_path: Path) -> None:
    run(experiment(1), out=tmp_path)
    header = json.loads((tmp_path / "header.json").read_text())
    assert header["sessions"][0]["versions"] == versions()
    assert {"python", "argbest", "numpy", "scipy", "numba"} <= versions().keys()
    assert header["experiment"]["seed"] == 5
    assert header["contenders"]["equal:independent"] == {
        "policy": "equal",
        "model": "independent",
        "initial": None,
    }


def test_chunks_depend_on_the_problem_alone_and_bound_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert chunk_size((10, 10)) == 100
    assert chunk_size((20, 40)) == 16
    assert chunk_size((1000, 1000)) == 1
    for k in (1, 7, 40, 300):
        for c in (1, 9, 80, 400):
            size = chunk_size((k, c))
            assert size == 1 or size * k * c * c <= 2**19


def test_the_json_form_lists_curves_by_policy() -> None:
    found = run(experiment(3, problem="branin", replications=25))
    shown = json.loads(json.dumps(found.plain(), allow_nan=False))
    assert list(shown) == ["problem", "macroreps", "seed", "targets", "policies"]
    assert (shown["problem"], shown["macroreps"], shown["seed"]) == ("branin", 3, 5)
    assert list(shown["policies"]) == POLICIES
    own = shown["policies"]["gp-c-ocba"]
    assert list(own) == [
        *("model", "n_initial", "replications", "pcs_e", "pcs_e_se", "pcs_m", "p_all", "p_all_se"),
        *("eoc", "certificate", "replications_to_pcs", "replications_to_loss", "seconds"),
    ]
    assert (own["model"], own["n_initial"]) == ("gp", 200)
    assert own["replications"] == [0, 10, 20, 25]
    curves = ("pcs_e", "pcs_e_se", "pcs_m", "p_all", "p_all_se", "eoc", "certificate")
    assert all(len(own[name]) == 4 for name in curves)
    assert own["seconds"] > 0


def test_a_single_macroreplication_has_null_for_its_errors() -> None:
    own = run(experiment(1)).plain()["policies"]["gp-c-ocba"]
    assert own["pcs_e_se"] == [None] * 3
