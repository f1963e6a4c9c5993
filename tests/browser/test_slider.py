"""The bound of a limit, moved as readers do it: by keyboard and mouse, on a phone; what is shown then."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report.test_slider import PLANS, clinic, read

from argbest import Study
from argbest.core.limits import NONE, AtPrices
from argbest.report.page import slider as room
from argbest.report.page import write_report
from argbest.texts import chance

MISSING = "\N{EN DASH}"
Open = Callable[..., Any]
# Few replications are noticed; what follows from them is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::argbest.errors.DataNotice")


@pytest.fixture(scope="module")
def study() -> Study:
    return clinic()


@pytest.fixture(scope="module")
def written(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(study, tmp_path_factory.mktemp("slider") / "report.html")


def cells(page: Any, caption: str) -> list[list[str]]:
    rows = page.get_by_role("region", name=caption).locator("tbody tr")
    return [rows.nth(i).locator("th, td").all_inner_texts() for i in range(rows.count())]


def chosen(page: Any) -> list[list[str]]:
    """What is chosen at this bound; at the study's own it is hidden, because the decisions say it."""
    rows = page.locator("#bounds .scroll").first.locator("tbody tr")
    return [rows.nth(i).locator("th, td").all_inner_texts() for i in range(rows.count())]


def test_at_the_bound_of_the_study_its_own_numbers_are_shown(
    open_page: Open, written: Path, study: Study
) -> None:
    page = open_page(written)
    frame = study.selection()
    rows = chosen(page)
    assert [row[2] for row in rows] == [chance(p) for p in frame["p_best"]]
    assert [row[3] for row in rows] == [MISSING if p != p else chance(p) for p in frame["p_feasible"]]
    caption = "Choice per context, open ones first"
    heads = page.get_by_role("region", name=caption).locator("thead th")
    loss = heads.all_inner_texts().index("expected loss")
    assert {row[0]: row[4] for row in rows} == {row[0]: row[loss] for row in cells(page, caption)}
    none = "no alternative keeps the limits"
    assert [row[1] for row in rows] == [none if name is None else name for name in frame["selected"]]
    assert "the bound of the study; its answer stands above" in page.locator("#bound-said").inner_text()
    assert not page.locator("#bounds .scroll").first.is_visible()
    page.locator("#bound").fill("0")
    assert page.locator("#bounds .scroll").first.is_visible()
    assert page.heard == []


def test_at_another_bound_it_is_what_the_listed_draws_say(
    open_page: Open, written: Path, study: Study
) -> None:
    page, found = open_page(written), room.slider(study.view())
    assert found is not None
    shape, limits = (found["draws"], 3, 3), found["limits"]
    draws = np.stack([read(found["goal"], shape), *(read(each, shape) for each in found["slacks"])], axis=1)
    bar = page.locator("#bound")
    page.locator("#bounds summary").click()
    for moved, limit in enumerate(limits):
        page.locator("#which-limit").select_option(str(moved))
        for stop in (1, len(limit["stops"]) // 2, limit["own"] - 1, len(limit["stops"]) - 1):
            bar.fill(str(stop))
            own = draws.copy()
            own[:, 1 + moved] += limit["shift"][stop]
            right, kept, lost = AtPrices(np.array(limit["prices"][stop])).option_sums(own)[0] / len(draws)
            least = lost.argmin(axis=0)
            rows = chosen(page)
            for c, k in enumerate(least.tolist()):
                name = "no alternative keeps the limits" if k == len(PLANS) else PLANS[k]
                assert rows[c][1] == name
                assert rows[c][2] == chance(right[k, c])
                assert rows[c][3] == (MISSING if k == len(PLANS) else chance(kept[k, c]))
            marks = cells(page, "Probability of keeping all limits at this bound")
            for c in range(3):
                for k in range(3):
                    sign = "✓" if kept[k, c] >= 0.95 else "✗" if kept[k, c] <= 0.05 else "?"
                    ahead = "◆ " if least[c] == k else ""
                    assert marks[c][1 + k] == f"{ahead}{sign} {chance(kept[k, c])}"
    assert page.heard == []


def test_it_agrees_with_python_asked_for_that_bound(open_page: Open, written: Path, study: Study) -> None:
    """Probabilities of 256 draws are within 0.13 of the right ones: four standard errors."""
    page, found = open_page(written), room.slider(study.view())
    assert found is not None
    limit = found["limits"][0]
    for stop in (limit["own"] - 4, limit["own"] + 4):
        page.locator("#bound").fill(str(stop))
        asked = study.answer(limits=[f"wait <= {limit['stops'][stop]}", "cost <= 3.5"])
        options = asked.view.certificate(0.0).options
        assert options is not None
        for c, row in enumerate(chosen(page)):
            k = PLANS.index(row[1]) if row[1] in PLANS else NONE
            shown = float(row[2].strip("<>"))
            assert shown == pytest.approx(options.right[k, c], abs=0.13)
            assert options.loss[k, c] <= options.loss[:, c].min() + 0.13 * float(np.max(options.loss))


def test_keys_move_it_and_a_button_brings_it_back(open_page: Open, written: Path) -> None:
    page = open_page(written)
    bar = page.get_by_role("slider", name="Bound of wait")
    bar.focus()
    assert bar.get_attribute("aria-valuetext") == "wait <= 5"
    page.keyboard.press("ArrowLeft")
    moved = bar.get_attribute("aria-valuetext")
    assert moved != "wait <= 5"
    assert page.locator("#bound-value").inner_text() == moved
    assert page.locator("#bound-said").inner_text().startswith(f"{moved}: ")
    page.keyboard.press("Home")
    assert {row[1] for row in chosen(page)} == {"no alternative keeps the limits"}
    assert "none is chosen in 3 contexts" in page.locator("#bound-said").inner_text()
    page.get_by_role("button", name="The study's own bound", exact=True).click()
    assert bar.get_attribute("aria-valuetext") == "wait <= 5"
    assert bar.evaluate("(bar) => bar === document.activeElement")
    assert page.heard == []


@pytest.fixture(scope="module")
def free() -> Study:
    """The study without limits."""
    return clinic(limits=())


@pytest.fixture(scope="module")
def page_of_free(free: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(free, tmp_path_factory.mktemp("free") / "report.html")


def test_without_limits_one_may_be_tried_and_is_off_at_first(open_page: Open, page_of_free: Path) -> None:
    page = open_page(page_of_free)
    bar, said = page.locator("#bound"), page.locator("#bound-said")
    assert page.locator("#bounds h2").inner_text() == "If there were a limit"
    assert page.locator("#bound-value").inner_text() == "no limit"
    assert said.inner_text() == "No limit: this is the study; its answer stands above."
    assert not page.locator("#bounds details").is_visible()
    bar.focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#bound-value").inner_text().startswith("wait <= ")
    assert page.locator("#bounds details").is_visible()
    page.locator("#which-limit").select_option(label="wait at least")
    assert page.locator("#bound-value").inner_text() == "no limit"
    bar.focus()
    page.keyboard.press("End")
    assert page.locator("#bound-value").inner_text().startswith("wait >= ")
    page.get_by_role("button", name="No limit", exact=True).click()
    assert bar.get_attribute("aria-valuetext") == "no limit"
    assert page.heard == []


@pytest.mark.parametrize("place", [0, 1])
def test_a_limit_that_is_tried_shows_what_the_study_answers_with_it(
    open_page: Open, page_of_free: Path, free: Study, place: int
) -> None:
    """Probabilities of 256 draws are within 0.13 of the right ones: four standard errors."""
    page, found = open_page(page_of_free), room.slider(free.view())
    assert found is not None
    limit, names = found["limits"][place], set()
    page.locator("#which-limit").select_option(str(place))
    for stop in (8, len(limit["stops"]) // 2, len(limit["stops"]) - 8):
        page.locator("#bound").fill(str(stop))
        asked = free.answer(limits=[f"wait {limit['sense']} {limit['stops'][stop]}"])
        options = asked.view.certificate(0.0).options
        assert options is not None
        for c, row in enumerate(chosen(page)):
            k = PLANS.index(row[1]) if row[1] in PLANS else NONE
            assert float(row[2].strip("<>")) == pytest.approx(options.right[k, c], abs=0.13)
            if k != NONE:
                assert float(row[3].strip("<>")) == pytest.approx(options.feasible[k, c], abs=0.13)
            assert options.loss[k, c] <= options.loss[:, c].min() + 0.13 * float(np.max(options.loss))
            names.add(row[1])
    assert len(names) > 1  # else the bounds would not matter
    assert page.heard == []


def test_newer_data_keep_the_bound_that_the_reader_tries(open_page: Open, page_of_free: Path) -> None:
    page = open_page(page_of_free)
    page.evaluate(
        "document.getElementById('bounds').remove(); window.renew = argbest.slider(argbest.payload); 0"
    )
    for stop in ("3", str(page.locator("#bound").get_attribute("max"))):
        page.locator("#bound").fill(stop)
        value = page.locator("#bound-value").inner_text()
        page.evaluate("renew(argbest.payload); 0")
        assert page.locator("#bound").input_value() == stop
        assert page.locator("#bound-value").inner_text() == value


def test_where_senses_are_unknown_the_page_says_what_to_type(open_page: Open, page_of_free: Path) -> None:
    page = open_page(page_of_free)
    assert page.get_by_role("radio", name="non-dominated").count() == 0
    assert page.locator("#pareto code").inner_text() == "study.answer('pareto:min cost,min wait')"


def test_where_senses_are_known_what_is_non_dominated_is_a_question(
    open_page: Open, tmp_path: Path, study: Study
) -> None:
    page = open_page(write_report(clinic(limits=["wait <= 5"]), tmp_path / "known.html"))
    assert not page.locator("#pareto").is_visible()
    page.get_by_role("radio", name="non-dominated", exact=True).check()
    asks = "Which alternative is non-dominated by min cost and min wait, for each context?"
    assert page.locator("#asks").inner_text() == asks
    answer = study.answer("pareto:min cost,min wait")
    assert page.locator("#choices .chosen").inner_text() == answer.headline
    assert page.locator("#choices .drawn:visible").count() == 3
    page.locator("#choices summary", has_text="The answer as a table").click()
    shown = page.locator("#choices .scroll:visible tbody tr")
    shown.first.wait_for()  # browsers open a folded table after the click
    assert shown.count() == 9
    assert page.heard == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["written", "page_of_free"])
def test_it_fits_a_narrow_screen(
    open_page: Open, request: pytest.FixtureRequest, path: str, scheme: str
) -> None:
    page = open_page(request.getfixturevalue(path), width=360, color_scheme=scheme)
    page.locator("#bound").fill("2")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    unnamed = "(all) => all.filter((each) => !each.labels.length).length"
    assert page.locator("#bounds :is(input, select)").evaluate_all(unnamed) == 0


def test_a_page_of_a_large_table_says_why_there_is_none(
    open_page: Open, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_NUMBERS", 2000)
    page = open_page(write_report(study, tmp_path / "large.html"))
    assert "too many to list draws of" in page.locator("#bounds").inner_text()
    assert page.locator("#bound").count() == 0
    assert page.heard == []
