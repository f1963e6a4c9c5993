"""`argbest analyze`: a table of runs in, what they say and where the next ones should go out."""

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from argbest import Study
from argbest.cli import main
from argbest.texts import chance
from argbest.theory import contention, forecast

pytestmark = pytest.mark.usefixtures("few_draws")

WAITING = Path(__file__).resolve().parent.parent / "examples" / "data" / "waiting_times.csv"
COLUMNS = ("--alternative", "rule", "--context", "arrivals", "--value", "waiting", "--goal", "min")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["analyze", *arguments])


def by_hand(**options: Any) -> Study:
    names: dict[str, Any] = {"alternative": "rule", "context": "arrivals", "value": "waiting", "goal": "min"}
    return Study.from_observations(pd.read_csv(WAITING), **names, **options)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    out = tmp_path_factory.mktemp("analyze") / "deep"
    return call(str(WAITING), *COLUMNS, "--out", str(out)), out


def test_the_tables_say_what_the_library_finds(written: tuple[Result, Path]) -> None:
    result, _ = written
    assert result.exit_code == 0, result.output
    study = by_hand()
    lines = result.stdout.splitlines()
    assert lines[0] == "waiting_times: 80 replications of 3 alternatives x 5 contexts"
    head = next(i for i, line in enumerate(lines) if "runner-up" in line)
    for line, row in zip(lines[head + 2 :], study.selection().to_dict("records"), strict=False):
        assert line.split()[0] == str(row["context.arrivals"])
        assert row["selected"] in line
        assert line.split()[-2:] == [chance(row["p_best"]).split()[-1], row["state"]]
    text = " ".join(result.stdout.split())
    assert f"certificate: {study.certificate()}" in text
    assert f"without a model: {study.guarantee()}" in text
    unsure = (study.selection()["state"] != "sure").to_numpy()
    assert f"contexts: {(~unsure).sum()} sure (P(best) at least 0.95)" in text
    assert f"within {study.indifference():.3g} of the best" in text
    for row in contention(study)[unsure].to_dict("records"):
        assert (
            f"{row['context.arrivals']} {', '.join(row['contenders'])} {chance(row['probability'])}" in text
        )


def test_the_next_replications_are_those_the_study_asks_for(written: tuple[Result, Path]) -> None:
    result, out = written
    study = by_hand()
    asked = [trial.pair for trial in study.ask(20)]
    rows = pd.read_csv(out / "next.csv")
    assert rows["next"].sum() == 20
    assert rows["next"].is_monotonic_decreasing
    for row in rows.to_dict("records"):
        pair = (
            study.problem.alternatives.index(row["alternative.rule"]),
            study.problem.contexts.index(row["context.arrivals"]),
        )
        assert asked.count(pair) == row["next"]
        line = [row["alternative.rule"], row["context.arrivals"], row["n"], row["next"]]
        assert " ".join(map(str, line)) in " ".join(result.stdout.split())
    assert "where the next 20 replications should go:" in result.stdout
    assert "forecast: 20 more" in result.stdout


def test_out_holds_the_tables_and_the_pictures(written: tuple[Result, Path]) -> None:
    result, out = written
    names = ["allocation.csv", "allocation.png", "next.csv", "policy_map.png", "selection.csv"]
    assert sorted(path.name for path in out.iterdir()) == names
    selection, study = pd.read_csv(out / "selection.csv"), by_hand()
    np.testing.assert_allclose(selection["p_best"], study.selection()["p_best"], rtol=1e-12)
    assert selection["selected"].tolist() == study.selection()["selected"].tolist()
    assert pd.read_csv(out / "allocation.csv")["n"].sum() == 80
    for name in names:
        assert str(out / name) in result.stdout
    assert max(map(len, result.stdout.split("written:")[0].splitlines())) <= 80


def test_json_is_one_object_and_nothing_else() -> None:
    result = call(str(WAITING), *COLUMNS, "--json", "--next", "5", "--delta", "2")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert len(result.stdout.splitlines()) == 1
    assert list(shown) == [
        *("problem", "goal", "limits", "price", "replications", "alternatives", "contexts", "notes"),
        *("selection", "certificate", "guarantee", "contention", "until", "forecast", "next"),
    ]
    study = by_hand()
    certificate = study.certificate(2.0)
    assert [row["p_right"] for row in shown["selection"]] == certificate.pcs.tolist()
    assert shown["certificate"]["pcs_e"] == float(certificate.pcs_e)
    bounds = study.guarantee(delta=2.0)
    assert shown["guarantee"]["said"] == str(bounds)
    lower = [-np.inf if row["lower"] is None else row["lower"] for row in shown["guarantee"]["rows"]]
    assert lower == bounds.frame["lower"].tolist()
    assert len(shown["contention"]) == int(np.sum(certificate.pcs < 0.95))
    assert sum(row["next"] for row in shown["next"]) == 5
    now, then = forecast(study, [0, 5], draws=20, delta=2.0)["mean"]
    assert shown["forecast"]["gain"] == pytest.approx(then - now)
    assert shown["forecast"]["pcs_e"] == pytest.approx(float(certificate.pcs_e) + then - now)


def test_without_next_nothing_is_placed() -> None:
    shown = json.loads(call(str(WAITING), *COLUMNS, "--json", "--next", "0").stdout)
    assert shown["next"] == []
    assert shown["forecast"] is None
    printed = call(str(WAITING), *COLUMNS, "--next", "0").stdout
    assert "next" not in printed


def test_bins_weights_models_and_policies_reach_the_study(tmp_path: Path) -> None:
    r = np.random.default_rng(2)
    frame = pd.DataFrame({"plan": np.tile(["a", "b"], 60), "load": r.uniform(0, 1, 120), "w": 1.0})
    frame["value"] = r.normal(size=120) + frame["load"]
    frame.to_csv(tmp_path / "r.csv", index=False)
    names = ("--alternative", "plan", "--context", "load")
    options = ("--weights", "w", "--model", "additive-gp", "--policy", "dvr", "--seed", "3", "--next", "4")
    result = call(str(tmp_path / "r.csv"), *names, "--bins", "load=4", *options, "--json")
    assert result.exit_code == 0, result.output
    study = Study.from_observations(
        frame,
        alternative="plan",
        context="load",
        bins=4,
        weights="w",
        model="additive-gp",
        policy="dvr",
        seed=3,
    )
    shown = json.loads(result.stdout)
    assert [row["p_best"] for row in shown["selection"]] == study.selection()["p_best"].tolist()
    placed = {(t.alternative["plan"], t.context["load"]) for t in study.ask(4)}  # type: ignore[index]
    assert {(row["alternative.plan"], row["context.load"]) for row in shown["next"]} == placed
    assert any("load is in 4 bins" in note for note in shown["notes"])
    assert "argbest: load is in 4 bins" in result.stderr
    assert call(str(tmp_path / "r.csv"), *names, "--bins", "4", *options, "--json").stdout == result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--bins", "eight"), "--bins eight is not understood"),
        (("--bins", "4", "--bins", "5"), "--bins 4 is not understood"),
        (("--bins", "load=4"), "unknown context column with bins 'load'; known are arrivals"),
        (("--value", "wating"), "unknown value column 'wating'.*Did you mean 'waiting'"),
        (("--policy", "gpcocba"), "unknown policy 'gpcocba'"),
        (("--goal", "most"), "goal 'most' begins with 'most'; expected max or min"),
        (("--delta", "-1"), "-1.0 is not in the range"),
    ],
)
def test_misuse_ends_with_code_2_and_a_line_of_text(arguments: tuple[str, ...], message: str) -> None:
    import re

    result = call(str(WAITING), *COLUMNS, *arguments)
    assert result.exit_code == 2
    assert re.search(message, result.stderr), result.stderr
    assert not result.stdout


def test_contexts_that_never_repeat_are_summed_up_first(tmp_path: Path) -> None:
    r = np.random.default_rng(2)
    load, plan = r.uniform(0, 1, 60), np.tile(["a", "b"], 30)
    value = np.where(plan == "a", load, 0.5) + r.normal(0, 0.1, 60)
    pd.DataFrame({"plan": plan, "load": load, "value": value}).to_csv(tmp_path / "r.csv", index=False)
    pd.DataFrame({"load": [0.1, 0.9]}).to_csv(tmp_path / "asked.csv", index=False)
    columns = "--alternative", "plan", "--context", "load", "--next", "0"
    result = call(str(tmp_path / "r.csv"), *columns)
    assert result.exit_code == 0, result.stderr
    assert "60 contexts that hardly repeat are taken for a population" in " ".join(result.stderr.split())
    rule = result.stdout.index("The rule costs")
    assert result.stdout.index("load < ") < rule < result.stdout.index("runner-up")
    asked = call(str(tmp_path / "r.csv"), *columns, "--contexts", str(tmp_path / "asked.csv"), "--json")
    assert asked.exit_code == 0, asked.stderr
    assert json.loads(asked.stdout)["contexts"] == 62


def test_a_missing_file_is_misuse_too(tmp_path: Path) -> None:
    result = call(str(tmp_path / "none.csv"), *COLUMNS)
    assert result.exit_code == 2
    assert "no such file" in result.stderr


def test_without_an_extra_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name in ("pyarrow", "openpyxl"):
            raise ImportError(name)
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    for name, extra in (("runs.parquet", "argbest[parquet]"), ("runs.xlsx", "argbest[excel]")):
        (tmp_path / name).write_bytes(b"")
        result = call(str(tmp_path / name))
        assert result.exit_code == 1
        assert extra in result.stderr


def test_without_matplotlib_the_tables_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    result = call(str(WAITING), *COLUMNS, "--out", str(tmp_path), "--next", "2")
    assert result.exit_code == 0, result.output
    assert "argbest[plot]" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["allocation.csv", "next.csv", "selection.csv"]


def test_a_forecast_without_a_gain_does_not_speak_of_one(tmp_path: Path) -> None:
    rows = [(name, 1, k + 0.1 * i) for k, name in enumerate("abc") for i in range(6)]
    file = tmp_path / "clear.csv"
    pd.DataFrame(rows, columns=["alternative", "context", "value"]).to_csv(file, index=False)
    said = " ".join(call(str(file)).stdout.split())
    assert "forecast: 20 more replications in the best places would leave PCS_E at about >0.999" in said
    assert "(-0.000)" not in said


def test_a_forecast_that_would_take_long_is_left_out(tmp_path: Path) -> None:
    rows = [(k, c, k * c + i) for k in (1, 2) for c in range(280) for i in (0.0, 1.0)]
    pd.DataFrame(rows, columns=["alternative", "context", "value"]).to_csv(tmp_path / "l.csv", index=False)
    result = call(str(tmp_path / "l.csv"), "--policy", "c-ocba", "--next", "1", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["forecast"] is None


def test_notes_come_before_what_the_model_refuses(tmp_path: Path) -> None:
    text = "alternative,context,value\na,1,2\na,1,3\nb,1,4\nb,1,5\na,2,6\n"
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    result = call(str(tmp_path / "r.csv"), "--policy", "c-ocba")
    assert result.exit_code == 2
    notes, error = result.stderr.split("Error: ")
    assert "1 of 4 pairs were never run" in notes
    assert "a sample variance needs 2 of every pair" in error


def test_exports_of_a_study_need_no_names_of_columns(tmp_path: Path) -> None:
    by_hand().observations().to_csv(tmp_path / "o.csv", index=False)
    shown = json.loads(call(str(tmp_path / "o.csv"), "--goal", "min", "--json", "--next", "3").stdout)
    named = json.loads(call(str(WAITING), *COLUMNS, "--json", "--next", "3").stdout)
    assert shown["problem"] == "o"
    assert {**shown, "problem": ""} == {**named, "problem": ""}


def test_labels_with_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    hostile = ["[red]x[/red]", "<b>'; drop --", ":smile:"]
    rows = [(k, c, float(i)) for i, (k, c) in enumerate((k, c) for k in hostile for c in "pq" for _ in "12")]
    pd.DataFrame(rows, columns=["alternative", "context", "value"]).to_csv(tmp_path / "h.csv", index=False)
    result = call(str(tmp_path / "h.csv"), "--next", "2")
    assert result.exit_code == 0, result.output
    assert ":smile:" in result.stdout
    assert "<b>'; drop --" in result.stdout


def test_tables_longer_than_a_screen_are_cut_and_say_so(tmp_path: Path) -> None:
    rows = [(k, c, k * c + i) for k in (1, 2) for c in range(45) for i in (0.0, 1.0)]
    pd.DataFrame(rows, columns=["alternative", "context", "value"]).to_csv(tmp_path / "l.csv", index=False)
    result = call(str(tmp_path / "l.csv"), "--model", "independent", "--next", "1")
    assert result.exit_code == 0, result.output
    assert "... and 5 more contexts; --out and --json show all." in result.stdout


def test_a_column_of_numbers_may_be_declared_to_be_names() -> None:
    result = call(str(WAITING), *COLUMNS, "--categorical", "arrivals", "--json", "--next", "0")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)["selection"]
    ours = by_hand(categorical=["arrivals"]).selection()
    assert [row["p_best"] for row in shown] == pytest.approx(ours["p_best"].tolist(), abs=1e-12)
    assert not np.allclose(ours["p_best"], by_hand().selection()["p_best"], atol=1e-3)
    assert call(str(WAITING), *COLUMNS, "--categorical", "arrival").exit_code == 2


def test_a_range_of_rewards_reaches_the_study_and_sorted_runs_are_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"plan": np.repeat(["a", "b"], 60), "day": 1, "won": rng.random(120) < np.repeat([0.2, 0.9], 60)}
    )
    frame["won"] = frame["won"].astype(int)
    frame.to_csv(tmp_path / "won.csv", index=False)
    names = ("--alternative", "plan", "--context", "day", "--value", "won", "--model", "independent")
    result = call(
        str(tmp_path / "won.csv"), *names, "--policy", "ocba", "--reward-range", "0,1", "--next", "0"
    )
    assert "without a model: the selection is certified best, confidence 0.95" in " ".join(
        result.stdout.split()
    )
    declared = call(str(tmp_path / "won.csv"), *names, "--policy", "ocba", "--rate", "--next", "0")
    assert declared.stdout == result.stdout
    refused = call(str(tmp_path / "won.csv"), *names, "--rate", "--reward-range", "0,2")
    assert "got rate=True and reward_range=(0, 2)" in " ".join(refused.stderr.split())
    for given, message in (
        ("0.5,1", "0 is outside the reward_range 0.5 to 1"),
        ("all", "give numbers as in 0,1"),
    ):
        refused = call(str(tmp_path / "won.csv"), *names, "--reward-range", given)
        assert refused.exit_code
        assert message in " ".join(refused.stderr.split())
    frame["won"] = np.concatenate([np.sort(rng.normal(mean, 1, 60)) for mean in (0, 5)])
    frame.to_csv(tmp_path / "sorted.csv", index=False)
    result = call(str(tmp_path / "sorted.csv"), *names, "--policy", "ocba", "--next", "0")
    assert "The values of 2 pairs are sorted." in " ".join(result.stdout.split())
    assert "the selection is not yet certified best" in " ".join(result.stdout.split())


def test_runs_with_several_responses_are_asked_for_those_that_no_other_one_beats(tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    table.write_text(
        "plan,day,cost,wait\n"
        + "".join(f"{p},1,{c + 0.1 * i},{9 - c}\n" for p, c in (("A", 1), ("B", 2)) for i in range(3))
    )
    result = call(
        str(table), "--alternative", "plan", "--context", "day", "--value", "cost", "--value", "wait",
        "--goal", "min cost", "--question", "pareto:min cost,min wait", "--next", "0", "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)["answer"]
    assert answer["question"] == "pareto:min cost,min wait"
    assert [sorted(each) for each in answer["choice"]] == [["A", "B"]]
