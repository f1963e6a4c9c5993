"""The report page as its readers use it: by mouse, by keyboard, on paper, and with labels that mean harm."""

import csv
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report.page_studies import DAYS, HOSTILE, crowd, hostile, line, mixed, summary, told
from watching import eventually

from argbest import Problem, Study
from argbest.report.page import write_comparison, write_report
from argbest.theory import contention

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def study() -> Study:
    return line()


@pytest.fixture(scope="module")
def written(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(study, tmp_path_factory.mktemp("written") / "report.html")


@pytest.fixture
def page(open_page: Open, written: Path) -> Iterator[Any]:
    opened = open_page(written)
    yield opened
    opened.context.close()


def column(page: Any, section: str, place: int) -> list[str]:
    found: list[str] = page.locator(f"#{section} tbody tr > :nth-child({place})").all_inner_texts()
    return found


def unfold(page: Any, part: str) -> None:
    """Open what is behind a summary line."""
    page.locator(f"#{part} > summary").click()
    page.wait_for_selector(f"#{part} table")


def saved(page: Any, section: str) -> pd.DataFrame:
    with page.expect_download() as waiting:
        page.locator(f"#{section}").get_by_role("button", name="Download CSV").first.click()
    with waiting.value.path().open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return pd.DataFrame([[number(cell) for cell in row] for row in rows], columns=head)


def number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def until(page: Any, predicate: str) -> None:
    """Wait until the page says so. (Playwright's own waiting may evaluate text, which our pages forbid.)"""
    assert eventually(lambda: bool(page.evaluate(predicate)))


def slide(page: Any, value: float) -> None:
    """Put the first slider where a reader would drag it."""
    page.evaluate(
        "(value) => { const s = document.getElementById('slider-0'); s.value = value;"
        " s.dispatchEvent(new Event('input', {bubbles: true})); }",
        value,
    )
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_a_page_of_too_many_pairs_shows_some_and_says_which(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    study = crowd(monkeypatch)
    page = open_page(write_report(study, tmp_path / "crowd.html"))
    assert page.heard == []
    assert sorted(column(page, "decisions", 2)) == sorted(study.selection()["selected"])
    for part in ("chances", "allocation"):
        unfold(page, part)
        assert "6 of 8 alternatives" in page.locator(f"#{part}").inner_text()
        assert page.locator(f"#{part} tbody tr").count() == 3
    page.context.close()


def test_the_page_opens_in_silence_and_asks_for_nothing(page: Any, study: Study) -> None:
    assert page.heard == []
    assert page.title() == "line"
    assert page.locator("#answer").inner_text().startswith("After 60 replications")
    assert page.locator(".choices li").first.inner_text().startswith("x 0")
    titles = page.locator("h2").all_inner_texts()
    assert titles == [
        "What to choose",
        "Decisions",
        "Any context",
        "How sure is it?",
        "The model",
        "How it was computed",
    ]
    assert page.locator("#contents a").all_inner_texts() == titles


def test_the_page_says_in_sentences_what_the_model_found(page: Any, study: Study) -> None:
    page.locator("#model-words > summary").click()
    page.locator("#model-words li").first.wait_for()
    assert page.locator("#model-words li").all_inner_texts() == list(study.model_summary().sentences)
    unfold(page, "model-numbers")
    captions = page.locator("#model-numbers caption").all_inner_texts()[:2]
    assert [each.split(":")[0] for each in captions] == ["Parts of the model and the noise", "Lengthscales"]


def test_headings_sort_upwards_then_downwards_then_back(page: Any, study: Study) -> None:
    heading = page.locator("#decisions thead th", has_text="P(best)")
    before = column(page, "decisions", 1)
    ordered = study.selection().sort_values("p_best", kind="stable")["context.x"]
    shown = [f"{x:g}" for x in ordered]
    heading.get_by_role("button").click()
    assert column(page, "decisions", 1) == shown
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.get_by_role("button").press("Enter")
    assert column(page, "decisions", 1) == shown[::-1]
    assert heading.get_attribute("aria-sort") == "descending"
    heading.get_by_role("button").press("Space")
    assert column(page, "decisions", 1) == before
    assert heading.get_attribute("aria-sort") == "none"


def test_the_filter_keeps_rows_with_all_its_words(page: Any, study: Study) -> None:
    page.locator("#decisions input[type=search]").fill("no such context")
    assert column(page, "decisions", 1) == []
    assert page.locator("#decisions output").inner_text() == "0 of 5 rows"
    page.locator("#decisions input[type=search]").fill("")
    page.get_by_label("only what is equal or open").check()
    open_ones = study.selection().query("p_best < 0.95")["context.x"]
    assert 0 < len(open_ones) < 5
    assert column(page, "decisions", 1) == [f"{x:g}" for x in open_ones]


def test_the_decisions_can_be_taken_away_to_the_last_digit(page: Any, study: Study) -> None:
    found = saved(page, "decisions")
    states = found["state"].tolist()
    assert states == sorted(states, key=["open", "equal", "sure"].index)  # what is open comes first
    found = found.sort_values("context.x", ignore_index=True)
    pd.testing.assert_frame_equal(found, study.selection(), check_exact=True, check_dtype=False)


def test_texts_that_a_spreadsheet_would_work_out_are_kept_from_it(open_page: Open, tmp_path: Path) -> None:
    labels = ["=1+1", "+a", "-b", "@c", "\td", "\re", "plain", "-1.5", "a=b"]
    truth = -9.0 * np.eye(9)[:, :1] - np.arange(9.0)[:, None] * np.array([[1.0, 2.0]])
    study = told(Problem(labels, [-1.0, 2.0]), truth, model="gp", policy="equal")
    page = open_page(write_report(study, tmp_path / "report.html"))
    unfold(page, "chances")
    frame = saved(page, "chances")
    safe = ["'=1+1", "'+a", "'-b", "'@c", "'\td", "'\re", "plain", "-1.5", "a=b"]
    assert list(frame.columns[1:]) == safe
    decided = saved(page, "decisions").sort_values("context", ignore_index=True)
    assert decided["context"].tolist() == [-1.0, 2.0]  # numbers stay as they are
    assert decided["mean"].tolist() == study.selection()["mean"].tolist()
    assert decided["mean"].max() < 0.0


def test_probabilities_and_allocation_can_be_taken_away(page: Any, study: Study) -> None:
    chance = study.certificate().best_probability
    unfold(page, "chances")
    unfold(page, "allocation")
    np.testing.assert_array_equal(saved(page, "chances").iloc[:, 1:].to_numpy(), chance.T)
    np.testing.assert_array_equal(saved(page, "allocation").iloc[:, 1:].to_numpy(), study.tally.count.T)


def test_the_slider_changes_the_recommendation_as_the_study_predicts(page: Any, study: Study) -> None:
    seen = set()
    for x in (0.0, 2.0, 2.5, 5.0, 7.0, 8.5, 10.0):  # listed, whether or not they were simulated
        slide(page, x)
        current = page.evaluate("argbest.current")
        assert current["context"] == [x]
        assert not current["interpolated"]
        frame, chance = study.predict([{"x": x}]), study.predict_proba([{"x": x}])
        assert page.locator("#predicted").inner_text() == f"a {frame['selected'][0]:g}"
        assert current["pBest"] == pytest.approx(frame["p_best"][0], abs=1e-6)
        assert current["expectedLoss"] == pytest.approx(frame["expected_loss"][0], abs=1e-6)
        assert current["probability"] == pytest.approx(chance.iloc[0].tolist(), abs=1e-6)
        shown = f"{frame['p_best'][0]:.3f}" if frame["p_best"][0] < 0.9995 else ">0.999"
        assert f"best with probability {shown}," in page.locator("#explore .verdict").inner_text()
        seen.add(page.locator("#predicted").inner_text())
    assert len(seen) > 1


def test_an_exact_value_may_be_typed_and_one_out_of_range_is_refused(page: Any, study: Study) -> None:
    box = page.locator("#box-0")
    box.fill("7.123456789")
    until(page, "argbest.current.context[0] === 7.123456789")
    frame = study.predict([{"x": 7.123456789}])
    assert page.evaluate("argbest.current.gap") == pytest.approx(frame["gap"][0], abs=5e-3)
    assert "At x 7.123, between listed contexts, choose a" in page.locator("#explore .verdict").inner_text()
    box.fill("999")
    assert box.get_attribute("aria-invalid") == "true"
    assert page.locator("#hint-0").inner_text() == "outside 0 to 10"
    assert page.evaluate("argbest.current.context") == [7.123456789]


def test_a_simulated_context_may_be_chosen_from_a_list(page: Any) -> None:
    page.get_by_label("A simulated context").select_option(label="7")
    until(page, "argbest.current.context[0] === 7")
    assert page.locator("#box-0").input_value() == "7"


@pytest.mark.parametrize("move", ["slider", "box", "chart"])
def test_the_list_of_simulated_contexts_names_none_that_is_no_longer_shown(page: Any, move: str) -> None:
    chosen = page.get_by_label("A simulated context")
    chosen.select_option(label="7")
    assert chosen.input_value() != ""
    if move == "slider":
        slide(page, 2.5)
    elif move == "box":
        page.locator("#box-0").fill("2.5")
    else:
        page.locator("#explore .u-over").click()
    assert chosen.input_value() == ""


def test_the_keyboard_reaches_the_slider_the_chart_and_its_table(page: Any) -> None:
    slider = page.locator("#slider-0")
    slider.focus()
    before = float(slider.input_value())
    slider.press("ArrowRight")
    assert float(slider.input_value()) == pytest.approx(before + 0.01)
    chart = page.locator("#explore .canvas")
    chart.focus()
    chart.press("Home")
    assert page.locator("#explore .readout").inner_text().startswith("x 0:")
    chart.press("End")
    assert page.locator("#explore .readout").inner_text().startswith("x 10:")
    page.locator("#explore summary", has_text="The profiles as a table").press("Enter")
    page.wait_for_selector("#explore details table")
    assert len(column(page, "explore details", 1)) > 30


def test_the_first_tab_leads_past_the_contents(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"


def test_charts_carry_names_and_tables_captions_for_those_who_listen(page: Any) -> None:
    assert all(
        name.startswith("Chart: ")
        for name in page.locator(".canvas").evaluate_all(
            "(all) => all.map((each) => each.getAttribute('aria-label'))"
        )
    )
    assert page.locator(".canvas").count() == 1
    unnamed = "(all) => all.filter((each) => !each.labels.length && !each.getAttribute('aria-label')).length"
    assert page.locator("input, select").evaluate_all(unnamed) == 0
    assert page.locator("table").count() == page.locator("table > caption").count()


def test_contexts_of_several_kinds_have_a_control_each(open_page: Open, tmp_path: Path) -> None:
    study = mixed("additive-gp")
    page = open_page(write_report(study, tmp_path / "report.html"))
    controls = page.locator("#explore .controls").first
    controls.get_by_label("site", exact=True).select_option(label="c")
    controls.get_by_label("night", exact=True).select_option(label="true")
    page.locator("#box-0").fill("2.5")
    until(page, "argbest.current.context[0] === 2.5")
    row = {"rate": 2.5, "night": True, "site": "c"}
    assert page.evaluate("argbest.current.context") == [2.5, True, "c"]
    found = page.evaluate("argbest.current")
    assert not found["interpolated"]
    assert found["probability"] == pytest.approx(study.predict_proba([row]).iloc[0].tolist(), abs=1e-6)
    assert found["expectedLoss"] == pytest.approx(study.predict([row])["expected_loss"][0], abs=1e-6)
    assert page.heard == []


def test_numbers_declared_to_be_categories_are_a_list_and_not_a_slider(
    open_page: Open, tmp_path: Path
) -> None:
    rows = [{"rate": r, "zone": z} for r in (1.0, 2.0, 4.0) for z in (3, 90, 17)]
    truth = np.random.default_rng(6).normal(size=(2, len(rows)))
    problem = Problem(["small", "large"], rows, categorical=["zone"])
    study = told(problem, truth, model="additive-gp", policy="equal")
    page = open_page(write_report(study, tmp_path / "report.html"))
    zone = page.locator("#explore .controls").first.get_by_label("zone", exact=True)
    assert zone.locator("option").all_inner_texts() == ["3", "90", "17"]
    zone.select_option(label="90")
    page.locator("#box-0").fill("2.5")
    until(page, "argbest.current.context[0] === 2.5")
    assert page.evaluate("argbest.current.context") == [2.5, 90]
    probability = study.predict_proba([{"rate": 2.5, "zone": 90}]).iloc[0].tolist()
    assert page.evaluate("argbest.current.probability") == pytest.approx(probability, abs=1e-6)
    assert page.heard == []


def test_a_listed_study_answers_for_the_nearest_context_and_says_so(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_report(line("independent"), tmp_path / "report.html"))
    slide(page, 6.0)
    assert page.locator(".verdict").inner_text().startswith("At the nearest listed context, x 7, choose")
    assert "move to the nearest" in page.locator("#explore").inner_text()
    words = "No evidence against the model: this model cannot predict a pair from the others"
    assert page.locator("#verdict").inner_text().startswith(words)
    assert page.heard == []


def test_a_combination_that_nobody_simulated_falls_back_on_the_nearest(
    open_page: Open, tmp_path: Path
) -> None:
    rows = [{"rate": 1.0, "site": "a"}, {"rate": 2.0, "site": "b"}, {"rate": 3.0, "site": "b"}]
    truth = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
    study = told(Problem(["small", "large"], rows), truth, model="independent", policy="equal")
    page = open_page(write_report(study, tmp_path / "report.html"))
    slide(page, 2.4)  # at site a: site b is 1 away, rate 1 only 0.7
    assert page.locator(".verdict").inner_text().startswith("At the nearest listed context, rate 1, site a,")
    page.locator("#explore .controls").first.get_by_label("site", exact=True).select_option(label="b")
    until(page, "argbest.current.context[1] === 'b'")
    assert page.locator("#predicted").inner_text() == "large"
    assert page.heard == []


def test_a_click_or_an_arrow_key_on_the_map_sets_the_context_of_the_predictor(
    page: Any, open_page: Open, tmp_path: Path
) -> None:
    for key, x in (("ArrowRight", 0), ("ArrowRight", 2), ("End", 10), ("ArrowLeft", 7)):
        page.locator(".map").press(key)
        until(page, f"argbest.current.context[0] === {x}")
        assert page.locator("#choices .readout").inner_text().startswith(f"x {x}: a ")
    page.locator(".hit[data-c='2']").click()
    until(page, "argbest.current.context[0] === 3")
    rows = [{"rate": r, "shift": s} for r in (1.0, 2.0, 4.0) for s in ("day", "night")]
    truth = np.array([[2.0, 0.0] * 3, [0.0, 2.0] * 3])
    grid = told(Problem(["small", "large"], rows), truth, model="gp", policy="equal")
    page = open_page(write_report(grid, tmp_path / "grid.html"))
    seen = []
    for key in ("Home", "ArrowRight", "ArrowUp"):
        page.locator(".map").press(key)
        seen.append(page.locator("#choices .readout").inner_text().partition(":")[0])
    assert seen == ["rate 1, shift day", "rate 2, shift day", "rate 2, shift night"]
    assert page.heard == []


def test_lines_of_the_profile_chart_look_different_and_what_is_left_out_is_said(
    open_page: Open, tmp_path: Path
) -> None:
    x = np.linspace(0.0, 1.0, 12)
    truth = -np.abs(np.arange(40)[:, None] / 39 - x[None, :])
    problem = Problem(list(range(40)), [{"x": float(v)} for v in x])
    study = told(problem, truth, model="gp", policy="equal", spread=0.001)
    page = open_page(write_report(study, tmp_path / "report.html"))
    drawn = page.locator("#explore .legend li").all_inner_texts()
    assert {str(k) for k in study.selection()["selected"]} <= set(drawn)
    looks = page.locator("#explore .swatch").evaluate_all("(all) => all.map((each) => each.style.cssText)")
    assert len(set(looks)) == len(drawn)
    assert f"Left out: {40 - len(drawn)} of 40 alternatives" in page.locator("#explore").text_content()


def test_profiles_draw_what_the_map_shows_in_the_same_order_of_colours(
    open_page: Open, tmp_path: Path
) -> None:
    rows = [{"rate": r, "shift": s} for r in (1.0, 2.0, 3.0) for s in ("day", "night")]
    truth = np.array([[0.0] * 6, [9.0, 9.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0, 9.0, 9.0], [-9.0] * 6])
    study = told(Problem(["a", "b", "c", "d"], rows), truth, model="independent", policy="equal")
    assert study.selection()["selected"].tolist() == ["b", "b", "c", "c", "c", "c"]
    page = open_page(write_report(study, tmp_path / "colours.html"))
    keys = page.locator("#explore .legend li")
    assert keys.all_inner_texts() == ["a", "b", "c"]  # the chosen ones and, of the others, the likeliest
    looks = page.locator("#explore .swatch").evaluate_all("(all) => all.map((each) => each.style.cssText)")
    assert [f"--line-{i}" in look for i, look in zip((2, 0, 1), looks, strict=True)] == [True] * 3


def many_columns() -> Study:
    """Forty alternatives in three contexts of six columns."""
    rows = [{f"column {i}": float(i * c) for i in range(1, 7)} for c in range(3)]
    return told(Problem(range(40), rows), np.zeros((40, 3)), model="independent", policy="equal")


def headings(page: Any, section: str) -> list[str]:
    found: list[str] = page.locator(f"#{section} thead th").all_inner_texts()
    return found


@pytest.mark.parametrize("make", [line, many_columns])
@pytest.mark.parametrize("width", [320, 390, 768])
@pytest.mark.fast_cases("390-line")
def test_a_narrow_screen_shows_where_what_and_how_surely_and_nothing_covers_it(
    open_page: Open, tmp_path: Path, make: Callable[[], Study], width: int
) -> None:
    study = make()
    page = open_page(write_report(study, tmp_path / "report.html"), width=width)
    shown = headings(page, "decisions")
    first = ["x", "selected a"] if make is line else ["context", "selected"]
    assert shown == [*first, "P(best)", "state"]
    where = "2" if make is line else "column 1 1, column 2 2, column 3 3, column 4 4, column 5 5, column 6 6"
    assert where in column(page, "decisions", 1)
    frame = study.selection()
    assert sorted(column(page, "decisions", 2)) == sorted(f"{k:g}" for k in frame["selected"])
    assert sorted(column(page, "decisions", 4)) == sorted(frame["state"])
    frame = page.locator("#decisions .scroll").bounding_box()
    cells = page.locator("#decisions tr > *").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    assert all(frame["x"] <= left < right <= frame["x"] + frame["width"] for left, right in cells)
    assert page.locator("#decisions").evaluate("(part) => part.scrollWidth <= part.clientWidth")
    assert len(saved(page, "decisions").columns) == len(study.selection().columns)
    page.locator("#decisions").get_by_label("all columns").check()
    assert len(headings(page, "decisions")) == len(study.selection().columns)
    page.context.close()


def test_a_wide_screen_and_paper_show_the_usual_columns_and_a_box_all_of_them(
    page: Any, study: Study
) -> None:
    usual = ["x", "selected a", "still in the running", "P(best)", "mean", "gap", "expected loss", "state"]
    assert headings(page, "decisions")[:8] == usual
    page.get_by_label("all columns").check()
    assert len(headings(page, "decisions")) == len(study.selection().columns)
    page.get_by_label("all columns").uncheck()
    page.set_viewport_size({"width": 600, "height": 900})
    until(page, "document.querySelectorAll('#decisions thead th').length === 4")
    page.emulate_media(media="print")
    until(page, "document.querySelectorAll('#decisions thead th').length >= 8")


def test_who_is_still_in_the_running_stands_beside_the_choice(page: Any, study: Study) -> None:
    frame = contention(study, level=0.95)
    expected = {f"{x:g}": ", ".join(f"{k:g}" for k in who) for x, who in zip(
        study.problem.contexts.coordinates["x"], frame["contenders"], strict=True
    )}  # fmt: skip
    found = dict(zip(column(page, "decisions", 1), column(page, "decisions", 3), strict=True))
    assert found == expected


def test_the_next_step_stands_under_the_question_and_its_command_can_be_copied(page: Any) -> None:
    assert page.locator("#asked").inner_text() == "Which a maximises reward, for each x?"
    assert page.locator("#asked em").all_inner_texts() == ["a", "reward", "x"]
    assert page.locator("#next").inner_text().startswith("Next: Least sure: x ")
    assert page.locator("#next code").inner_text() == "study.ask(20)"
    page.get_by_role("button", name="Copy").click()
    page.locator("#next [role=status]", has_text="cop").wait_for()


@pytest.mark.slow
def test_captions_and_names_of_rows_stay_in_view_while_a_table_scrolls(
    open_page: Open, tmp_path: Path
) -> None:
    page = open_page(write_report(many_columns(), tmp_path / "report.html"), width=390)
    unfold(page, "allocation")
    box = page.locator("#allocation .scroll")
    box.evaluate("(box) => box.scrollLeft = 300")
    frame = box.bounding_box()
    for part in ("caption span", "tbody th >> nth=0"):
        seen = page.locator(f"#allocation {part}").bounding_box()
        assert frame["x"] <= seen["x"]
        assert seen["x"] + seen["width"] <= frame["x"] + frame["width"]
    page.context.close()


@pytest.mark.slow
def test_paper_cuts_no_table(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_report(many_columns(), tmp_path / "report.html"), width=720)
    page.emulate_media(media="print")
    wide = "(all) => all.every((each) => each.getBoundingClientRect().right <= innerWidth + 1)"
    assert page.locator("table").evaluate_all(wide)


def test_hostile_labels_are_only_text(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_report(hostile(), tmp_path / "report.html"))
    slide(page, 2.5)
    for part in page.locator("details:not([open])").all():
        if part.is_visible():
            part.locator("> summary").evaluate("(line) => line.click()")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, body b, body i").count() == 0
    assert page.locator("script").count() == 2
    frame = saved(page, "decisions")
    assert set(frame["selected"]) == {"'=1+1"}
    assert set(frame["context.<b>day</b>"]) == set(DAYS)
    assert list(saved(page, "chances").columns[1:]) == [*HOSTILE[:3], "'=1+1"]
    assert "<img src=x onerror=window.hacked=6>" in page.locator("#failures").inner_text()
    assert page.title() == "<script>window.hacked=4</script>"
    assert page.heard == []


def test_what_misleads_a_reader_is_shown_as_an_escape(open_page: Open, tmp_path: Path) -> None:
    names = ["pay \u202e01\u2069", "'=\x1b[2J"]
    study = told(Problem(names, [1, 2], name="\u202eplan\x1b"), np.array([[1.0, 1.0], [9.0, 9.0]]))
    study.fail(study.ask(1)[0], "no\r\x9bvalue")
    page = open_page(write_report(study, tmp_path / "report.html"))
    assert page.title() == page.locator("h1").inner_text() == r"\u202eplan\x1b"
    assert r"'=\x1b[2J" in page.locator("#choices").inner_text()
    assert set(column(page, "decisions", 2)) == {r"'=\x1b[2J"}
    assert r"no\r\x9bvalue" in page.locator("#failures").inner_text()
    assert set(saved(page, "decisions")["selected"]) == {"''=\x1b[2J"}
    assert page.heard == []


# Redraw all charts, and gather the horizontal texts of each: what, and where from left to right and from
# top to bottom, in pixels of a canvas that is so wide.
TEXTS = """async () => {
  const found = new Map(), original = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const at = this.getTransform();
    if (Math.abs(at.b) < 1e-9) {
      const wide = this.measureText(text).width;
      const from = { center: 0.5, right: 1, end: 1 }[this.textAlign] || 0;
      const left = at.a * x + at.e - from * wide, top = at.d * y + at.f;
      if (!found.has(this.canvas)) found.set(this.canvas, []);
      found.get(this.canvas).push([text, left, left + wide, top, this.textAlign]);
    }
    return original.apply(this, arguments);
  };
  dispatchEvent(new Event("beforeprint"));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  CanvasRenderingContext2D.prototype.fillText = original;
  return [...found].map(([canvas, texts]) => ({ wide: canvas.width, texts }));
}"""


def read_tick(text: str) -> float | None:
    found = number(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))
    return found if isinstance(found, float) else None


@pytest.mark.parametrize("width", [1100, 400])
@pytest.mark.parametrize(("unit", "size"), [(1e-6, 1e9), (1e9, 1e-6), (1.0, 1.0), (1e5, 123_456.0)])
@pytest.mark.fast_cases("100000.0-123456.0-1100")
def test_ticks_can_be_read_in_any_unit(
    open_page: Open, tmp_path: Path, unit: float, size: float, width: int
) -> None:
    x = np.linspace(1.0, 2.0, 5)
    truth = size * (1.0 + 0.1 * np.stack([np.sin(3 * x), np.cos(3 * x)]))
    problem = Problem(["a", "b"], [{"x": float(v)} for v in unit * x])
    study = told(problem, truth, model="gp", policy="equal", spread=0.01 * size)
    page = open_page(write_report(study, tmp_path / "report.html"), width=width)
    charts = page.evaluate(TEXTS)
    assert len(charts) == 1  # profiles
    for chart in charts:
        ticks = [(read_tick(each[0]), *each) for each in chart["texts"] if read_tick(each[0]) is not None]
        across = sorted((tick for tick in ticks if tick[5] == "center"), key=lambda tick: tick[2])
        upward = sorted((tick for tick in ticks if tick[5] != "center"), key=lambda tick: -tick[4])
        for axis in (across, upward):
            values = np.array([tick[0] for tick in axis])
            assert len(values) >= 2
            steps = np.diff(values)
            np.testing.assert_allclose(steps, steps[0], rtol=1e-2)  # exact, and none twice
            assert steps[0] > 0
        assert all(tick[2] >= 0 and tick[3] <= chart["wide"] for tick in ticks)
        assert all(one[3] + 4 <= two[2] for one, two in itertools.pairwise(across))
    assert page.heard == []


def wordy() -> Study:
    """Names of every length: of many words, of one endless word, and without any spaces."""
    names = ["a plan " * 20, "Donaudampfschifffahrt" * 6, "北京和上海的仓库" * 10]
    return told(Problem(names, ["a long day " * 12, "x" * 150]), np.eye(3, 2), model="independent")


@pytest.mark.parametrize("make", [line, hostile, wordy])
@pytest.mark.fast_cases("hostile")
def test_a_narrow_screen_does_not_scroll_sideways(
    open_page: Open, tmp_path: Path, make: Callable[[], Study]
) -> None:
    page = open_page(write_report(make(), tmp_path / "report.html"), width=400)
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_the_night_is_dark_and_paper_is_white(open_page: Open, written: Path) -> None:
    page = open_page(written, color_scheme="dark")
    ink = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
    assert page.evaluate(ink) == "#12161b"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ink) == "#ffffff"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ink) == "#12161b"
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert page.heard == []


def test_headings_and_remarks_stay_with_what_follows_on_paper(page: Any) -> None:
    page.emulate_media(media="print")
    styles = "(all) => all.map((each) => getComputedStyle(each)"
    after = page.locator("h2, h3, .remark").evaluate_all(f"{styles}.breakAfter)")
    assert set(after) == {"avoid"}
    assert set(page.locator("figure").evaluate_all(f"{styles}.breakInside)")) == {"avoid"}


def test_pairs_that_are_set_aside_are_shown_with_the_failures(open_page: Open, tmp_path: Path) -> None:
    study = Study(Problem(["a", "b"], ["Mon", "<b>Tue</b>"]), initial=1, model="gp", policy="equal")
    while study.n_queued or not study.set_aside:
        trial = study.ask(1)[0]
        study.fail(trial, "no") if trial.pair == (1, 1) else study.tell(trial, [1.0, 2.0 + trial.pair[0]])
    page = open_page(write_report(study, tmp_path / "report.html"))
    words = "1 pair is set aside after repeated failures: b in <b>Tue</b>."
    assert words in page.locator("#failures").inner_text()
    words = "b could not be simulated in <b>Tue</b> and is not selected there."
    assert words in page.locator("#choices").inner_text()


def test_a_page_may_be_rendered_again_from_a_newer_payload(page: Any) -> None:
    page.evaluate("argbest.render({...argbest.payload, title: 'newer'})")
    assert page.locator("h1").inner_text() == "newer"
    assert page.locator("#decisions").count() == 1
    assert page.locator("#decisions tbody tr").count() == 5
    assert page.heard == []


def test_the_page_of_a_comparison_shows_its_curves_and_tables(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_comparison(summary(), tmp_path / "index.html", title="branin", how={"seed": 1}))
    assert page.locator("#curves .canvas").count() == 3
    assert column(page, "reached", 1) == ["equal", "gp-c-ocba"]
    page.locator("#curves summary").first.click()
    page.wait_for_selector("#curves details table")
    frame = saved(page, "curves")
    assert frame["PCS_E"].tolist() == [0.5, 0.6, 0.5, 0.9]
    chart = page.locator("#curves .canvas").first
    chart.focus()
    chart.press("End")
    assert page.locator("#curves .readout").first.inner_text() == (
        "replications after the initial design 10: equal 0.6; gp-c-ocba 0.9"
    )
    assert page.heard == []
