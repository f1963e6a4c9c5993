"""The payloads of pages, and the file they end up in; tests/browser holds what a browser makes of it."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report.page_studies import HOSTILE, crowd, hostile, line, list_all, mixed, summary, told

from argbest import InputError, Problem, SpaceFilling, Study
from argbest.answers import model_check
from argbest.core import landmarks
from argbest.jsonable import table, value
from argbest.report import curves
from argbest.report.page import payload, studies, write_comparison, write_report
from argbest.report.page.document import document, embedded, script
from argbest.report.page.experiments import comparison_payload
from experiments.outcome_page import outcome_payload, write_outcome


class Reader(HTMLParser):
    """Collects the tags of a page, the addresses they name, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.scripts: list[str] = []
        self.policy = ""
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = {name: content or "" for name, content in attrs}
        self.addresses += [named[name] for name in ("src", "href") if name in named]
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"]
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.scripts[-1] += data


def test_of_too_many_pairs_a_page_holds_the_foremost_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    study = crowd(monkeypatch)
    data, selection, certificate = payload(study), study.selection(), study.certificate()
    kept = [study.problem.alternatives.index(label) for label in data["alternatives"]["labels"]]
    tabled, kit = data["contexts"]["tabled"], data["prediction"]
    assert (len(kept), len(tabled), data["alternatives"]["total"]) == (6, 3, 8)
    for found, table_ in (
        (data["certainty"]["probability"], certificate.best_probability),
        (data["allocation"]["mean"], study.tally.mean),
        (np.transpose(kit["probability"]), certificate.best_probability),
        (np.transpose(kit["mean"]), study._belief().mean),
    ):
        np.testing.assert_allclose(found, table_[np.ix_(kept, tabled)], rtol=1e-5, atol=1e-9)
    assert [kit["points"][i][0] for i in range(3)] == [
        study.problem.contexts.coordinates["x"][c] for c in tabled
    ]
    for c in tabled:
        assert {selection["selected"][c], selection["runner_up"][c]} <= set(data["alternatives"]["labels"])
        assert data["alternatives"]["labels"][data["selected"][c]] == selection["selected"][c]
    assert len(data["decisions"]["rows"]) == len(data["contexts"]["labels"]) == 6
    assert "6 of 8 alternatives, those most likely to be the best and 3 of 6 contexts" in data["left_out"]
    assert "argbest export STORAGE --table posterior" in data["left_out"]
    assert payload(line())["left_out"] == ""


def test_a_page_of_very_many_alternatives_says_what_its_probabilities_compare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(curves, "MOST_PAIRS", 60)
    said = "leading alternatives with each other"
    study = _even(40)
    assert said not in curves.excerpt(study, study.selection()).left_out
    monkeypatch.setattr(landmarks, "_FEWEST_FOLLOWED", 6)
    monkeypatch.setattr(landmarks, "_MOST_FOLLOWED", 6)
    study = _even(40)
    assert said in curves.excerpt(study, study.selection()).left_out


def _even(n: int) -> Study:
    """Return a study of n alternatives with coordinates, in two contexts; a few were simulated."""
    problem = Problem([float(i) for i in range(n)], [0.0, 1.0])
    study = Study(problem, model="additive-gp", initial=SpaceFilling(12))
    for trial in study.ask(study.n_queued):
        study.tell(trial, float(np.sin(0.1 * trial.pair[0]) + 0.1 * trial.pair[1]) + 0.01 * (trial.id % 3))
    return study


def test_the_numbers_of_the_payload_are_those_of_the_study() -> None:
    study = mixed()
    data, selection, certificate = payload(study), study.selection(), study.certificate()
    assert data["decisions"]["columns"] == list(selection.columns)
    shown = pd.DataFrame(data["decisions"]["rows"], columns=data["decisions"]["columns"])
    pd.testing.assert_frame_equal(shown, selection, check_dtype=False)
    np.testing.assert_array_equal(data["certainty"]["probability"], certificate.best_probability)
    for name in ("pcs_e", "pcs_m", "p_all", "p_all_se", "eoc"):
        assert data["certainty"][name] == getattr(certificate, name)
    np.testing.assert_array_equal(data["allocation"]["count"], study.tally.count)
    np.testing.assert_array_equal(data["allocation"]["mean"], study.tally.mean)
    assert data["allocation"]["total"] == study.n_replications == 162
    assert data["goal"] == "min"


def test_the_model_check_is_the_study_s() -> None:
    study = line()
    data, found = payload(study)["check"], model_check.of_study(study.view())
    assert (data["rms"], data["limit"], data["fits"]) == (found.rms, found.limit, found.fits)
    assert data["verdict"].lower() == str(found).lower()
    assert len(data["rows"]) == data["total"] == len(found.pairs)
    assert data["shown"] == ""


@pytest.mark.parametrize(
    ("n_flagged", "which"),
    [
        (0, "all that are flagged, and an even sample of the others."),
        (3, "all that are flagged, and an even sample of the others."),
        (5, "all that are flagged."),
        (9, "an even sample of the 9 that are flagged."),
    ],
)
def test_of_very_many_pairs_the_flagged_and_an_even_sample_are_kept_in_order(
    monkeypatch: pytest.MonkeyPatch, n_flagged: int, which: str
) -> None:
    monkeypatch.setattr(studies, "MOST_PAIRS", 5)
    study = line()
    found = model_check.of_study(study.view())
    size = found.pairs["z"].abs()
    pairs = found.pairs.assign(flagged=size.rank(ascending=False) <= n_flagged)
    monkeypatch.setattr(model_check, "of_sums", lambda _: (replace(found, pairs=pairs),))
    data = payload(study)["check"]
    kept = pd.DataFrame(data["rows"], columns=data["columns"])
    place = [int(np.flatnonzero(pairs["z"] == z)[0]) for z in kept["z"]]
    assert place == sorted(set(place))
    assert (len(kept), data["total"]) == (5, 20)
    assert kept["flagged"].sum() == min(n_flagged, 5)
    rest = pairs["z"][~pairs["flagged"]].sort_values().to_numpy()
    if n_flagged < 5:
        steps = np.diff(np.searchsorted(rest, np.sort(kept["z"][~kept["flagged"]])))
        assert steps.sum() == len(rest) - 1  # both ends
        assert steps.max() - steps.min() <= 1
    assert data["shown"] == f"Shown are 5 of 20 pairs: {which}"


def test_a_model_that_cannot_be_checked_says_why() -> None:
    check = payload(line("independent"))["check"]
    assert check == {"verdict": check["verdict"], "fits": True}
    assert check["verdict"].startswith("No evidence against the model: this model cannot predict a pair")


def test_failed_trials_are_listed_with_their_seeds_to_the_last_digit() -> None:
    study = line()
    trial = study.ask(1)[0]
    study.fail(trial, "exit code 3")
    pending = study.ask(2)
    data = payload(study)
    row = dict(zip(data["failures"]["columns"], data["failures"]["rows"][0], strict=True))
    assert data["failures"]["total"] == len(data["failures"]["rows"]) == 1
    assert (row["trial"], row["seed"], row["reason"]) == (trial.id, str(trial.seed), "exit code 3")
    assert data["allocation"]["pending"] == len(pending)


def test_how_it_was_computed_names_what_is_needed_to_do_it_again() -> None:
    how = dict(payload(line(), command="argbest report line.db")["how"])
    assert how["policy"].startswith("Equal(")
    assert how["model"].startswith("GP(kernel='matern52'")
    assert (how["seed"], how["replications"], how["refits"]) == ("0", 60, "every 10 replications")
    assert how["command"] == "argbest report line.db"
    assert how["versions"].startswith("argbest ")
    assert "command" not in dict(payload(line())["how"])


def test_hyperparameters_of_every_alternative_are_in_the_units_of_the_problem() -> None:
    study = mixed()
    shown, params = payload(study)["hyperparameters"], study._learned().params
    frame = pd.DataFrame(shown["rows"], columns=shown["columns"])
    np.testing.assert_allclose(frame["prior mean"], -params.constant)
    np.testing.assert_allclose(frame["prior sd"] ** 2, params.scale)
    np.testing.assert_allclose(frame["noise sd"] ** 2, params.noise[:, 0])
    np.testing.assert_allclose(frame["lengthscale of rate"], 3.5 * params.lengthscale[:, 0])
    np.testing.assert_allclose(frame["lengthscale of site"], params.lengthscale[:, 2])


def test_lines_show_their_coefficients() -> None:
    shown = payload(line("linear"))["hyperparameters"]
    assert shown["columns"][0] == "alternative"
    assert len(shown["rows"]) == 4
    assert {len(row) for row in shown["rows"]} == {len(shown["columns"])}


@pytest.mark.parametrize("model", ["independent", "additive-gp"])
def test_without_numbers_of_single_alternatives_there_is_no_table_of_them(model: str) -> None:
    assert payload(line(model))["hyperparameters"] is None


def test_the_page_says_what_the_model_found() -> None:
    study = line("additive-gp")
    shown = payload(study)["model"]
    assert shown["sentences"] == list(study.model_summary().sentences)
    assert [row[0] for row in shown["parts"]["rows"]] == ["trend", "offset", "joint", "own", "noise"]
    assert shown["parts"]["rows"][-1][1] is None


def test_a_page_holds_its_payload_and_asks_for_nothing_else(tmp_path: Path) -> None:
    study = line()
    path = write_report(study, tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    page = Reader(path.read_text(encoding="utf-8"))
    assert json.loads(page.scripts[0]) == json.loads(json.dumps(payload(study, ahead=True)))
    assert all(address.startswith("#") for address in page.addresses)
    assert page.tags.count("script") == 2


def test_the_policy_of_a_page_allows_its_own_script_alone() -> None:
    page = Reader(document(payload(line())))
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.policy
    assert "default-src 'none'" in page.policy


def test_the_same_study_gives_the_same_page() -> None:
    assert document(payload(line())) == document(payload(line()))


@pytest.mark.parametrize("model", ["gp", "additive-gp"])
@pytest.mark.fast_cases("gp")
def test_a_page_of_ten_by_ten_is_small(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list_all(monkeypatch)
    truth = np.random.default_rng(0).normal(0.0, 1.0, (10, 10))
    problem = Problem(list("abcdefghij"), np.linspace(0.0, 1.0, 10).tolist())
    path = write_report(told(problem, truth, model=model), tmp_path / f"{model}.html")
    assert path.stat().st_size < 260_000


def test_labels_cannot_leave_the_data_element() -> None:
    study = hostile()
    text = document(payload(study))
    page = Reader(text)
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert json.loads(page.scripts[0])["alternatives"]["labels"] == list(HOSTILE)
    assert html.escape(study.problem.name) in text
    assert study.problem.name not in text


def test_json_in_a_page_has_no_character_that_ends_its_element() -> None:
    text = embedded({"label": "</script> & \u2028 <!-- "})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"label": "</script> & \u2028 <!-- "}


def test_braces_in_a_label_are_no_placeholder() -> None:
    data = payload(line()) | {"title": "{{payload}}", "answer": ["{{script}}"], "choices": []}
    page = document(data)
    assert "<title>{{payload}}</title>" in page
    assert '<p id="answer">{{script}}</p>' in page


def test_a_label_that_is_no_valid_text_does_not_stop_the_report(tmp_path: Path) -> None:
    data = payload(line()) | {"title": "half a pair \ud800"}
    from argbest.report.page.document import write

    assert "half a pair \\ud800" in write(data, tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_vendored_chart_library_comes_with_its_licence() -> None:
    folder = files("argbest.report.page").joinpath("vendor/uplot")
    assert folder.joinpath("LICENSE").read_text(encoding="utf-8").startswith("The MIT License")
    assert (
        folder.joinpath("uPlot.iife.min.js").read_text(encoding="utf-8").startswith("/*! https://github.com")
    )
    assert "</script" not in script()


def test_a_study_without_any_value_has_no_report() -> None:
    study = Study(Problem(["a", "b"], [1.0, 2.0]))
    with pytest.raises(InputError, match="nothing is known yet: tell the value of at least one trial"):
        payload(study)


def test_a_report_of_a_study_just_begun_names_the_next_step(tmp_path: Path) -> None:
    study = Study(Problem(["a", "b"], [1.0, 2.0], lambda a, c, seed: c))
    with pytest.raises(
        InputError, match=r"Nothing is simulated yet; a report needs .* Next: study\.run\(\d+\)"
    ):
        study.report(tmp_path / "page.html")
    asked = Study(Problem(["a", "b"], [1.0, 2.0]), storage=tmp_path / "asked.db")
    with pytest.raises(InputError, match=r"Next: argbest ask \S+asked\.db -n \d+$"):
        asked.report(tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["", "no/such/folder/report.html"])
def test_a_page_needs_a_folder_that_exists(tmp_path: Path, name: str) -> None:
    study = Study(Problem(["a", "b"], [1.0, 2.0]))  # which has no report: the place is checked first
    with pytest.raises(InputError, match="expected the name of a file in a folder that exists"):
        write_report(study, tmp_path / name)
    with pytest.raises(InputError, match="Create the folder, or give another name"):
        write_comparison(summary(), tmp_path / name, title="t")
    with pytest.raises(InputError, match="such as 'report.html'"):
        write_outcome(tmp_path / name, title="t", table=summary())


def test_plain_values_are_what_json_can_hold() -> None:
    given = [np.float64(1.5), np.int64(2), np.bool_(True), np.nan, -np.inf, None, "a", ("b", 1)]
    assert [value(each) for each in given] == [1.5, 2, True, None, None, None, "a", "('b', 1)"]
    frame = pd.DataFrame({"x": [1, 2], "y": [0.5, np.nan], 3: ["a", "b"]})
    assert table(frame) == {"columns": ["x", "y", "3"], "rows": [[1, 0.5, "a"], [2, None, "b"]]}


def test_a_page_shows_what_the_data_alone_certify() -> None:
    study = told(
        Problem(["a", "b"], [0, 1]), np.array([[0.0, 5.0], [5.0, 0.0]]), model="independent", policy="equal"
    )
    noise = np.random.default_rng(0).normal(0.0, 0.3, 100)
    for trial, each in zip(study.ask(100), noise.tolist(), strict=True):
        study.tell(trial, 5.0 * (trial.pair[0] != trial.pair[1]) + each)
    found, data = study.guarantee(), payload(study)["guarantee"]
    shown = pd.DataFrame(data["rows"], columns=data["columns"])
    expected = found.frame[data["columns"]].replace(-np.inf, None)
    pd.testing.assert_frame_equal(shown, expected, check_dtype=False)
    assert shown["certified"].any()
    assert data["sentence"].lower() == f"{found}.".lower()


def test_a_comparison_shows_claims_in_bins(tmp_path: Path) -> None:
    claims = pd.DataFrame(
        {"contender": ["a"], "claimed": [0.9], "achieved": [0.8], "low": [0.7], "high": [0.85], "looks": [40]}
    )
    page = write_comparison(summary(), tmp_path / "index.html", title="branin", claims=claims).read_text()
    assert '"claims":{"columns":["contender","claimed","came true","low","high","looks"]' in page
    assert '"rows":[["a",0.9,0.8,0.7,0.85,40]]' in page


def test_a_comparison_shows_curves_with_bands_and_what_was_reached() -> None:
    data = comparison_payload(summary(), title="branin", how={"seed": 3}, notes=["a remark"])
    assert data["answer"] == [
        "Of 2 contenders gp-c-ocba has the largest PCS_E after 10 replications: 0.900 ± 0.020."
    ]
    assert [panel["name"] for panel in data["panels"]] == ["pcs_e", "p_all", "eoc"]
    curve = data["panels"][0]["curves"][1]
    assert (curve["label"], curve["replications"], curve["value"]) == ("gp-c-ocba", [0.0, 10.0], [0.5, 0.9])
    np.testing.assert_allclose(curve["low"], [0.5 - 1.96 * 0.05, 0.9 - 1.96 * 0.02])
    np.testing.assert_allclose(curve["high"], [0.5 + 1.96 * 0.05, 0.9 + 1.96 * 0.02])
    assert data["table"]["columns"][:3] == ["contender", "PCS_E", "se of PCS_E"]
    assert data["table"]["rows"][1][:3] == ["gp-c-ocba", 0.9, 0.02]
    assert data["table"]["rows"][1][4] is None
    assert (data["how"], data["notes"]) == ([["seed", "3"]], ["a remark"])


def test_the_error_of_a_single_macro_replication_is_left_out() -> None:
    frame = summary()
    frame["pcs_e_se"] = np.nan
    assert comparison_payload(frame, title="t")["answer"][0].endswith("replications: 0.900.")


def test_contenders_that_chance_may_have_put_second_are_named() -> None:
    frame = summary()
    frame.loc[1, ["pcs_e", "pcs_e_se"]] = [0.85, 0.02]  # 0.05 behind; 1.96 √(0.02² + 0.02²) = 0.055
    assert comparison_payload(frame, title="t")["answer"][1:] == ["Within 1.96 standard errors of it: equal."]


def test_an_outcome_of_the_paper_has_a_panel_per_problem_and_measure() -> None:
    curves = pd.concat(
        [
            pd.DataFrame(
                {
                    "problem": p,
                    "measure": m,
                    "contender": "dsco",
                    "replications": [0, 5],
                    "value": v,
                    "se": 0.1,
                }
            )
            for p, m, v in (("branin", "pcs_e", [0.2, 0.95]), ("cosine8", "eoc", [2.0, 1.0]))
        ]
    )
    data = outcome_payload(
        title="Figure 2", shown=pd.DataFrame({"policy": ["dsco"]}), notes=("first", "second"), curves=curves
    )
    assert [panel["title"] for panel in data["panels"]] == [
        "branin: PCS_E",
        "cosine8: expected opportunity cost",
    ]
    assert data["panels"][0]["curves"][0]["high"] == pytest.approx([0.396, 1.0])
    assert data["panels"][1]["curves"][0]["high"] == pytest.approx([2.196, 1.196])
    assert (data["answer"], data["notes"]) == (["first"], ["second"])


def test_measures_side_by_side_give_a_panel_each() -> None:
    curves = summary().rename(columns={"contender": "policy", "replications": "total"}).assign(model="gp")
    panels = outcome_payload(title="t", shown=pd.DataFrame(), curves=curves)["panels"]
    assert [panel["name"] for panel in panels] == ["pcs_e", "p_all", "eoc"]
    assert {panel["along"] for panel in panels} == {"replications in all"}
    assert [curve["label"] for curve in panels[2]["curves"]] == ["equal:gp", "gp-c-ocba:gp"]
    assert panels[2]["curves"][1]["value"] == [1.0, 0.2]


def test_the_first_file_with_curves_is_drawn(tmp_path: Path) -> None:
    shown = pd.DataFrame({"policy": ["dsco"], "value": ["0.9"]})
    names = ("hours.csv", "curves.csv", "picture.png")
    pd.DataFrame({"contender": ["a"], "hours": [1.0]}).to_csv(tmp_path / names[0], index=False)
    pd.DataFrame({"contender": ["a"], "replications": [1], "value": [0.5], "se": [0.1]}).to_csv(
        tmp_path / names[1], index=False
    )
    path = write_outcome(
        tmp_path / "fig.html", title="Figure", table=shown, written=[tmp_path / name for name in names]
    )
    data = json.loads(Reader(path.read_text(encoding="utf-8")).scripts[0])
    assert [panel["title"] for panel in data["panels"]] == ["PCS_E"]
    assert data["table"] == {"columns": ["policy", "value"], "rows": [["dsco", "0.9"]]}
    path = write_outcome(tmp_path / "fig.html", title="Figure", table=shown, written=[tmp_path / names[0]])
    assert json.loads(Reader(path.read_text(encoding="utf-8")).scripts[0])["panels"] == []


def test_curves_without_errors_are_refused() -> None:
    curves = pd.DataFrame({"contender": ["a"], "replications": [1], "value": [0.5]})
    with pytest.raises(
        InputError, match="expected contender, replications, and value and se or measures such as"
    ):
        outcome_payload(title="t", shown=pd.DataFrame(), curves=curves)


def test_a_comparison_is_written_as_a_page(tmp_path: Path) -> None:
    path = write_comparison(summary(), tmp_path / "index.html", title="<b>branin</b>")
    page = Reader(path.read_text(encoding="utf-8"))
    assert json.loads(page.scripts[0])["kind"] == "experiment"
    assert "b" not in page.tags


def test_large_tables_are_written_with_six_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([[1 / 3, 0.0], [np.nan, -123456.789]])
    assert studies._brief(table) is table
    monkeypatch.setattr(studies, "_LONG_TABLE", 3)
    np.testing.assert_array_equal(studies._brief(table), [[0.333333, 0.0], [np.nan, -123457.0]])


@pytest.mark.slow
def test_the_page_of_ten_thousand_pairs_stays_small(tmp_path: Path) -> None:
    study = Study(
        Problem(range(100), np.linspace(0.0, 1.0, 100).tolist()),
        policy="equal",
        model="independent",
        initial=1,
    )
    rng = np.random.default_rng(0)
    for trial in study.ask(10_000):
        study.tell(trial, (trial.pair[0] / 25 + rng.standard_normal(2)).tolist())
    assert (
        study.report(tmp_path / "report.html").stat().st_size < 1_100_000
    )  # of which the answers to other questions are about 75,000
