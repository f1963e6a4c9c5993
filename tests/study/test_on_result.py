"""`on_result`: called with every value once it is kept, and never able to lose one."""

import os
import runpy
from pathlib import Path

import pytest

import argbest
from argbest import InputError, Problem, Study
from argbest.errors import OutageNotice
from argbest.study.trial import Trial

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "tracking_mlflow.py"


def simulate(alternative: int, context: int, seed: int) -> float:
    if alternative == 2 and seed % 5 == 0:
        raise RuntimeError("bad luck")
    return float(alternative + context + seed % 7)


def a_study(**options: object) -> Study:
    problem = Problem([1, 2], [10, 20], simulate)
    return Study(problem, policy="equal", model="independent", **options)  # type: ignore[arg-type]


def test_every_value_is_told_once_and_is_kept_by_then(tmp_path: Path) -> None:
    seen: list[tuple[int, float]] = []

    def on_result(trial: Trial, value: float) -> None:
        kept = Study.load(tmp_path / "study.db").observations().set_index("trial")["value"]
        assert kept[trial.id] == value
        seen.append((trial.id, value))

    study = a_study(storage=tmp_path / "study.db").run(20, on_failure="record", on_result=on_result)
    observed = study.observations()
    assert seen == list(zip(observed["trial"], observed["value"], strict=True))
    assert (study.trials()["status"] == "failed").any()  # and these were not told


def test_an_exception_is_said_once_and_the_run_goes_on() -> None:
    def on_result(trial: Trial, value: float) -> None:
        raise ConnectionError("the server is down")

    words = "on_result raised ConnectionError: the server is down, for trial 0.*is kept and the run continues"
    with pytest.warns(OutageNotice, match=words) as said:
        study = a_study().run(20, on_failure="record", on_result=on_result)
    assert len(said) == 1
    assert study.n_replications == 20


def test_select_tells_of_results_too_and_refuses_what_is_no_function() -> None:
    seen: list[int] = []
    values = {"budget": 10, "policy": "equal", "model": "independent"}
    argbest.select(lambda a, c, s: a, [1, 2], [1], on_result=lambda t, _: seen.append(t.id), **values)  # type: ignore[arg-type]
    assert seen == list(range(10))
    with pytest.raises(InputError, match="on_result=7 cannot be called; give a function of"):
        a_study().run(20, on_result=7)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore")  # of packages that are not ours
def test_mlflow_shows_every_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="the package mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(os.environ, "MLFLOW_DISABLE_TELEMETRY", "true")
    study = runpy.run_path(str(EXAMPLE))["main"](30)
    [run] = mlflow.search_runs(output_format="list")
    client = mlflow.MlflowClient()
    shown = [
        (each.step, each.value)
        for demand in (25, 45)
        for each in client.get_metric_history(run.info.run_id, f"profit at demand {demand}")
    ]
    observed = study.observations()
    assert sorted(shown) == sorted(zip(observed["trial"], observed["value"], strict=True))
    assert run.data.metrics["PCS_E"] == pytest.approx(study.certificate().pcs_e)
