"""The chooser of questions as readers use it: by mouse, by keyboard, on a phone, with hostile labels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report.page_studies import hostile, line

from argbest import Study
from argbest.report.page import write_report

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def study() -> Study:
    return line(names=True)


@pytest.fixture(scope="module")
def written(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(study, tmp_path_factory.mktemp("questions") / "report.html")


def test_a_reader_chooses_a_question_and_comes_back(open_page: Open, written: Path, study: Study) -> None:
    page = open_page(written)
    choices = page.get_by_role("group", name="Question").get_by_role("radio")
    assert choices.count() == 7
    assert page.locator("#choices .policy .hit").first.is_visible()
    for name, label in (("overall", "overall"), ("worst-case", "worst case"), ("regret", "regret")):
        page.get_by_role("radio", name=label, exact=True).check()
        assert page.locator("#choices .chosen").inner_text() == study.answer(name).choice
        assert page.locator("#asks").inner_text().startswith("Which alternative ")
        assert not page.locator("#choices .policy .hit").first.is_visible()
    page.get_by_role("radio", name="rule", exact=True).check()
    shown = page.locator("#choices .beside:visible li").all_inner_texts()
    assert shown == study.answer("rule").choice.sentences()
    assert page.locator("#choices svg:visible").count() == 2  # the tree and the contexts
    page.get_by_role("radio", name="best per context").check()
    assert page.locator("#choices .policy .hit").first.is_visible()
    assert page.heard == []


def test_arrow_keys_go_from_question_to_question_and_the_table_opens(
    open_page: Open, written: Path, study: Study
) -> None:
    page = open_page(written)
    page.get_by_role("radio", name="best per context").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("radio", name="overall", exact=True).is_checked()
    page.locator("#choices summary", has_text="The answer as a table").press("Enter")
    page.locator("#choices tbody th").first.wait_for()
    rows = page.locator("#choices tbody th").all_inner_texts()
    assert rows == study.answer("overall").table["alternative"].tolist()
    assert page.heard == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_narrow_screen(open_page: Open, written: Path, scheme: str) -> None:
    page = open_page(written, width=360, color_scheme=scheme)
    for label in ("overall", "top 3", "most probable best", "rule"):
        page.get_by_role("radio", name=label, exact=True).check()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_picture_is_hidden_from_readers_of_the_screen_and_every_control_has_a_name(
    open_page: Open, written: Path
) -> None:
    page = open_page(written)
    for i in range(7):
        page.locator(".questions input").nth(i).check()
        assert page.locator("#choices svg:not([aria-hidden=true])").count() == 0
        unnamed = "(all) => all.filter((each) => !each.labels.length).length"
        assert page.locator("#choices input").evaluate_all(unnamed) == 0


def test_labels_stay_text_in_every_answer(open_page: Open, tmp_path: Path) -> None:
    page = open_page(write_report(hostile(), tmp_path / "hostile.html"))
    for i in range(page.locator(".questions input").count()):
        page.locator(".questions input").nth(i).check()
        for part in page.locator("#choices summary:visible").all():
            part.click()
    assert page.evaluate("window.hacked === undefined")
    assert page.heard == []
