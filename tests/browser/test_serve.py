"""The live view in a real browser: numbers appear and change in place, and the page says how it is doing."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report.page_studies import HOSTILE, hostile, told
from serve.crowd import CONTEXTS, create
from serve.live import crowd, serving
from watching import PATIENCE

from argbest import Study
from argbest.serve import watch

# A page that asks every two seconds is asked to hurry: its clock runs ten times as fast.
HURRY = "const usual = setTimeout; window.setTimeout = (work, ms) => usual(work, ms / 10);"
Open = Callable[..., Any]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "LOOK", 0.05)
    monkeypatch.setattr(watch, "_SHARE_OF_A_CORE", 0.9)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


@pytest.fixture
def open_live(browser: Any) -> Iterator[Open]:
    """A function that opens a URL; console messages, errors and requests elsewhere are in `page.heard`."""
    contexts = []

    def show(url: str, *, width: int = 1100, **options: Any) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.add_init_script(HURRY)
        page.heard = []
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("request", lambda request: None if _own(request.url, url) else page.heard.append(request.url))
        page.goto(url)
        return page

    yield show
    for context in contexts:
        context.close()


def _own(url: str, base: str) -> bool:
    return url.startswith((base, "blob:", "data:"))


def contact(page: Any, words: str) -> None:
    """Wait until the page says so of itself."""
    page.locator("#contact", has_text=words).wait_for(state="attached")


def answered(page: Any, replications: int) -> None:
    """Wait until the page shows the answer after so many."""
    page.locator("#answer", has_text=f"After {replications} ").wait_for(state="attached")


def column(page: Any, section: str, place: int) -> list[str]:
    found: list[str] = page.locator(f"#{section} tbody tr > :nth-child({place})").all_inner_texts()
    return found


def headings(page: Any) -> list[str]:
    """The headings of the sections that are shown."""
    found: list[str] = page.locator("h2:visible").all_inner_texts()
    return found


def figures(page: Any) -> list[str]:
    found: list[str] = page.locator("#certainty .figure").all_inner_texts()
    return found


def test_a_finished_study_is_shown_with_its_numbers(open_live: Open, file: Path) -> None:
    study = create(file, budget=40).run(40)
    with serving(file) as view:
        page = open_live(view.url)
        contact(page, "Finished: 40 replications.")
        assert headings(page) == [
            "What to choose",
            "Decisions",
            "How sure is it?",
            "How certainty grew",
            "The model",
            "Progress",
            "Workers",
            "How it was computed",
        ]
        assert page.locator("#contents a:visible").all_inner_texts() == headings(page)
        assert page.title() == "100 % · staffing"
        selection, sure = study.selection(), study.certificate()
        assert dict(zip(column(page, "decisions", 1), column(page, "decisions", 2), strict=True)) == dict(
            zip([f"{x:g}" for x in CONTEXTS], selection["selected"], strict=True)
        )
        assert page.locator("#asked").inner_text().startswith("Which ")
        assert page.locator("#next code").inner_text().startswith("argbest ")
        shown = figures(page)
        assert [float(re.sub("[>± ].*", "", text) or 1) for text in shown[:2]] == pytest.approx(
            [float(sure.pcs_e), float(sure.pcs_m)], abs=1e-3
        )
        said = page.locator("#answer").inner_text()
        n_sure = int((selection["state"] == "sure").sum())
        every = "After 40 replications the choice is sure in all 4 contexts"
        some = f"After 40 replications: {n_sure or 'none'} of 4 contexts sure (95 % or more)"
        assert said.startswith(every if n_sure == 4 else some)
        page.locator("#allocation > summary").click()
        page.wait_for_selector("#allocation tbody tr")
        counts = [[int(n) for n in column(page, "allocation", k + 2)] for k in range(3)]
        np.testing.assert_array_equal(counts, study.tally.count)
        assert column(page, "workers", 3) == ["gone"]  # its run has ended
        assert not page.locator("#failures").is_visible()
        assert page.heard == []


@pytest.mark.slow
def test_numbers_appear_and_change_while_another_process_simulates(open_live: Open, file: Path) -> None:
    create(file, budget=60)
    with serving(file) as view:
        page = open_live(view.url)
        contact(page, "nothing simulated yet")
        assert headings(page) == ["Progress", "Workers"]
        assert page.locator("#workers .remark").inner_text().startswith("No worker has reported")
        with crowd(file, 2, 60) as allow:
            allow(40)
            answered(page, 40)
            page.locator("#decisions thead button", has_text="P(best)").click()
            search = page.locator("#decisions input[type=search]")
            page.evaluate("document.querySelector('#decisions input').marked = true")
            page.locator("#allocation > summary").click()
            page.wait_for_selector("#allocation tbody tr")
            first, bar = (
                page.locator("#allocation tbody").inner_text(),
                page.locator("#progress progress").first.evaluate("(bar) => bar.value"),
            )
            seen = page.locator("#course .canvas").count()
            search.fill("a")  # in every name
            allow(60)
            contact(page, "Finished: 60 replications.")
            answered(page, 60)
        assert page.locator("#allocation tbody").inner_text() != first
        assert page.locator("#progress progress").first.evaluate("(bar) => bar.value") == 1.0 > bar
        assert page.locator("#course .canvas").count() == seen == 2
        assert search.evaluate("(box) => [box.marked, document.activeElement === box, box.value]") == [
            True,
            True,
            "a",
        ]
        expected = Study.load(file).selection().sort_values("p_best", kind="stable")
        assert column(page, "decisions", 1) == [f"{x:g}" for x in expected["context.load"]]
        page.locator("#course summary").click()
        page.wait_for_selector("#course details table")
        course = [int(n) for n in column(page, "course", 1)]
        assert course == sorted(course)
        assert course[-1] == 60
        assert len(course) > 1
        page.locator("#workers .remark", has_text="0 of 2 workers alive.").wait_for(state="attached")
        assert page.heard == []


def cards(page: Any) -> dict[str, str]:
    """The figures of the progress by their names."""
    names, values = (page.locator(f"#progress {each}").all_inner_texts() for each in ("dt", ".figure"))
    return dict(zip(names, values, strict=True))


def test_what_is_to_come_the_rate_and_the_time_left_are_shown(open_live: Open, file: Path) -> None:
    study = create(file, budget=324).run(40)
    with serving(file) as view:
        page = open_live(view.url)
        contact(page, "Live: 40 replications.")
        assert cards(page)["To come"] == "284"
        assert cards(page)["Rate"] == cards(page)["Time left"] == "\u2013"  # nobody simulates
        study.ask(4)
        page.locator("#progress .figure", has_text="280").wait_for(state="attached")
        shown = cards(page)
        assert (shown["To come"], shown["Under way"]) == ("280", "4")
        assert re.fullmatch(r"[\d.,]+ per (second|minute|hour)", shown["Rate"])
        assert re.fullmatch(r"less than a minute|about .*(min|h|days)", shown["Time left"])
        assert re.search(r" [\d.,]+ per \w+, .+ left\.", page.locator("#contact").inner_text())
        assert page.heard == []


TIMES = "argbest.standing.pace({ per_second: 0.25, seconds_left: SECONDS })"


def test_times_are_as_rough_as_they_are_known(open_live: Open, file: Path) -> None:
    create(file, budget=40).run(24)
    with serving(file) as view:
        page = open_live(view.url)
        page.wait_for_selector("#how")
        said = {
            seconds: page.evaluate(TIMES.replace("SECONDS", str(seconds)))
            for seconds in (20, 500, 3599, 7900, 86400, 4e5)
        }
        assert said == {
            20: " 15 per minute, less than a minute left.",
            500: " 15 per minute, about 8 min left.",
            3599: " 15 per minute, about 1 h left.",
            7900: " 15 per minute, about 2 h 10 min left.",
            86400: " 15 per minute, about 24 h left.",
            4e5: " 15 per minute, about 5 days left.",
        }


def test_a_lost_server_is_missed_and_found_again(open_live: Open, file: Path) -> None:
    study = create(file, budget=40).run(30)
    with serving(file) as view:
        page = open_live(view.url)
        contact(page, "Live: 30 replications.")
        page.wait_for_selector("#decisions tbody tr")  # the picture comes a moment after the count
        port = int(view.url.rsplit(":", 1)[1].rstrip("/"))
    contact(page, "No contact with the live view since")
    assert page.locator("#contact").get_attribute("data-mood") == "lost"
    assert page.locator("#news").inner_text().startswith("No contact")
    assert page.evaluate("getComputedStyle(document.getElementById('main')).opacity") == "0.55"
    assert len(column(page, "decisions", 1)) == 4  # what was known stays
    study.run(35)
    with serving(file, port=port):
        contact(page, "Live: 35 replications.")
        answered(page, 35)
        assert page.evaluate("getComputedStyle(document.getElementById('main')).opacity") == "1"
    assert all("ERR_CONNECTION" in said or "ERR_EMPTY" in said for said in page.heard)


def test_troubles_and_failures_are_told(open_live: Open, file: Path) -> None:
    def simulate(alternative: str, context: Any, seed: int) -> float:
        if alternative == "small":
            raise RuntimeError("out of <b>paper</b>")
        return 1.0 + seed % 7

    create(file, initial=1)
    study = Study.load(file, simulate=simulate).run(60, on_failure="record")
    with serving(file) as view:
        page = open_live(view.url)
        contact(page, "Live: 60 replications.")
        assert page.title() == "staffing"
        assert page.locator("#progress progress").first.is_hidden()
        failed = len(study.trials().query("status == 'failed'"))
        remark = page.locator("#failures .remark").inner_text()
        assert remark == f"{failed} trials gave no value. The last 20 are listed."
        tables = page.locator("#failures table")
        assert tables.first.locator("tbody tr").count() == 20
        assert "RuntimeError: out of <b>paper</b>" in tables.first.inner_text()
        assert tables.last.locator("tbody tr").count() == len(study.set_aside) > 0
        assert tables.last.locator("caption").inner_text().startswith("Set aside after repeated failures")
        moved = file.rename(file.with_name("moved.db"))
        contact(page, "The study cannot be read")
        moved.rename(file)
        contact(page, "Live: 60 replications.")
        assert page.heard == []


def test_hostile_labels_are_only_text(open_live: Open, file: Path) -> None:
    problem = hostile().problem
    study = told(problem, np.arange(4.0)[:, None] * np.ones(problem.shape), storage=file)
    study.fail(study.ask(1)[0], "<img src=x onerror=window.hacked=6>")
    with serving(file) as view:
        page = open_live(view.url, width=400)
        page.wait_for_selector("#how")
        contact(page, "Live")
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, body b, body i").count() == 0
        assert page.locator("script").count() == 1
        assert set(column(page, "decisions", 2)) <= set(HOSTILE)
        assert page.locator("h1").inner_text() == "<script>window.hacked=4</script>"
        assert "<img src=x onerror=window.hacked=6>" in page.locator("#failures").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        assert page.heard == []


def test_the_live_view_is_dark_at_night_and_fits_a_narrow_screen(open_live: Open, file: Path) -> None:
    create(file, budget=40).run(30)
    with serving(file) as view:
        page = open_live(view.url, width=400, color_scheme="dark")
        page.wait_for_selector("#how")
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        paper = "getComputedStyle(document.documentElement).getPropertyValue('--paper').trim()"
        assert page.evaluate(paper) == "#12161b"
        unnamed = (
            "(all) => all.filter((each) => !each.labels?.length && !each.getAttribute('aria-label')).length"
        )
        assert page.locator("input, select, progress").evaluate_all(unnamed) == 0
        assert page.locator("table").count() == page.locator("table > caption").count()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.heard == []


HEAT = """([size, first, second]) => {
  const labels = Array.from({ length: size }, (_, k) => `a${k}`), order = [...labels.keys()];
  const contexts = { title: "c", short: ["0"], order: [0], tabled: [0] };
  const data = { alternatives: { labels, short: labels, order, total: size }, contexts };
  const place = document.createElement("div");
  const update = argbest.heat(place, { ...data, v: first }, {
    caption: "t", read: (next) => next.v, kind: "count", file: "t.csv"
  });
  const headings = () => [...place.querySelectorAll("thead th")].map((cell) => cell.textContent);
  const before = headings();
  update({ ...data, v: second });
  return [before, headings(), place.querySelectorAll("table").length];
}"""


def test_of_many_alternatives_those_with_the_largest_entries_are_shown(open_live: Open, file: Path) -> None:
    create(file, budget=40).run(24)
    with serving(file) as view:
        page = open_live(view.url)
        page.wait_for_selector("#how")
        first, second = [[k] for k in range(40)], [[40 - k] for k in range(40)]
        before, after, tables = page.evaluate(HEAT, [40, first, second])
        assert before == ["c", *(f"a{k}" for k in range(10, 40))]
        assert after == ["c", *(f"a{k}" for k in range(30))]
        assert tables == 1
        before, after, tables = page.evaluate(HEAT, [3, first[:3], second[:3]])
        assert before == after == ["c", "a0", "a1", "a2"]
        assert page.heard == []


SHOWN = """(values) => {
  const labels = values.map((_, k) => `a${k}`), order = [...labels.keys()];
  const contexts = { title: "c", short: ["0"], order: [0], tabled: [0] };
  const data = { alternatives: { labels, short: labels, order, total: labels.length }, contexts };
  const place = document.createElement("div");
  argbest.heat(place, data, { caption: "t", read: () => values, kind: "share", file: "t.csv" });
  return [[...place.querySelectorAll("thead th")].map((cell) => cell.textContent), place.innerText];
}"""


def test_alternatives_that_are_never_best_have_no_column_among_many(open_live: Open, file: Path) -> None:
    create(file, budget=40).run(24)
    with serving(file) as view:
        page = open_live(view.url)
        page.wait_for_selector("#how")
        chances = [[0.0]] * 33 + [[1e-30], [0.3], [0.0], [0.6], [0.1], [0.0]]
        headings, words = page.evaluate(SHOWN, chances)
        assert headings == ["c", "a34", "a36", "a37"]
        assert "Shown are 3 of 39 alternatives: all others are 0." in words
        headings, words = page.evaluate(SHOWN, [[0.0]] * 40)
        assert headings == ["c"]
        assert "None of 40 alternatives has an entry above 0." in words
        assert page.heard == []
