"""axe-core finds nothing to object to: contrast, names, roles and order, on wide and narrow screens."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report.page_studies import hostile, line, mixed, people, summary
from report.test_slider import clinic
from serve.crowd import create
from serve.live import serving

from argbest import Study
from argbest.report.page import write_comparison, write_report

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
Open = Callable[..., Any]
# Few replications are noticed; what follows from them is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::argbest.errors.DataNotice")
SCREENS = [(390, "dark"), (1280, "light")]


def objections(page: Any) -> list[str]:
    """What axe says of the page as it is: a line per rule and element."""
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['target']} {node['html'][:120]}" for each in found for node in each["nodes"]
    ]


def unfolded(page: Any) -> Any:
    """The page with everything that is behind a summary line."""
    for _ in range(2):  # what is unfolded may hold further ones, and is made after the click
        page.evaluate(
            "() => document.querySelectorAll('details:not([open]) > summary').forEach((line) => line.click())"
        )
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page


STUDIES: dict[str, Callable[[], Study]] = {
    "line": line,
    "mixed": mixed,
    "limits": clinic,
    "no limits": lambda: clinic(limits=()),
    "population": people,
    "failures": hostile,
}


@pytest.fixture(scope="module", params=STUDIES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(STUDIES[request.param](), tmp_path_factory.mktemp("axe") / "report.html")


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
@pytest.mark.fast_cases("limits*", "mixed*")
def test_axe_objects_to_nothing_on_the_page_of_a_study(
    open_page: Open, written: Path, width: int, scheme: str
) -> None:
    page = open_page(written, width=width, color_scheme=scheme)
    assert objections(page) == []
    assert objections(unfolded(page)) == []
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_axe_objects_to_no_answer_to_another_question(
    open_page: Open, tmp_path: Path, width: int, scheme: str
) -> None:
    page = open_page(write_report(line(), tmp_path / "report.html"), width=width, color_scheme=scheme)
    for label in ("overall", "top 3", "most probable best", "rule"):
        page.get_by_role("radio", name=label, exact=True).check()
        assert objections(page) == []
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_axe_objects_neither_to_what_is_non_dominated_nor_to_a_limit_that_is_tried(
    open_page: Open, tmp_path: Path, width: int, scheme: str
) -> None:
    known = clinic(goal="min cost + 0.1 * wait", limits=())
    page = open_page(write_report(known, tmp_path / "report.html"), width=width, color_scheme=scheme)
    page.get_by_role("radio", name="non-dominated", exact=True).check()
    page.locator("#bound").fill("5")
    assert objections(unfolded(page)) == []
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_axe_objects_to_nothing_on_the_page_of_an_experiment(
    open_page: Open, tmp_path: Path, width: int, scheme: str
) -> None:
    page = open_page(
        write_comparison(summary(), tmp_path / "index.html", title="branin", how={"seed": 1}),
        width=width,
        color_scheme=scheme,
    )
    assert objections(unfolded(page)) == []
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_axe_objects_to_nothing_in_the_live_view(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    create(tmp_path / "study.db", budget=30).run(30)
    with serving(tmp_path / "study.db") as view:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.goto(view.url)
        page.locator("#contact", has_text="Finished: 30 replications.").wait_for(state="attached")
        assert objections(unfolded(page)) == []
        page.close()


def test_axe_does_object_to_a_page_with_faults(browser: Any) -> None:
    page = browser.new_page()
    page.set_content('<p style="color: #aaa; background: #fff">pale</p><img src="data:,">')
    assert {each.partition(":")[0] for each in objections(page)} >= {"color-contrast", "image-alt"}
    page.close()
