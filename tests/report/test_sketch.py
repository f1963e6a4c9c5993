"""The policy map as SVG, read back."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from unicodedata import east_asian_width

import numpy as np
import pytest
from report.page_studies import hostile, line, mixed, told

from argbest import Problem, Study
from argbest.report import sketch, svg, wording

SVG = "{http://www.w3.org/2000/svg}"


def read(study: Study) -> ET.Element:
    return ET.fromstring(sketch.sketch(study))  # noqa: S314


def grid() -> Study:
    rows = [{"rate": r, "shift": s} for r in (1.0, 2.0, 4.0) for s in ("day", "夜")]
    truth = np.where(np.eye(2, dtype=bool).repeat(3, axis=1), 9.0, 0.0)
    return told(Problem(["小", "large"], rows), truth, model="gp", spread=0.01)


@pytest.mark.parametrize("make", [line, mixed, grid, hostile])
def test_every_context_can_be_hit_and_says_its_choice(make: type) -> None:
    study = make()
    drawn = read(study)
    hits = [each for each in drawn.iter(f"{SVG}rect") if each.get("class") == "hit"]
    said = {int(each.attrib["data-c"]): each[0].text for each in hits}
    assert said == dict(enumerate(wording.one_by_one(study)))
    assert len({(each.get("x"), each.get("y")) for each in hits}) == len(hits)


def test_bands_lie_along_the_coordinate_half_way_to_their_neighbours() -> None:
    found = read(line())
    hits = [each for each in found.iter(f"{SVG}rect") if each.get("class") == "hit"]
    widths = np.array([float(each.attrib["width"]) for each in hits])
    at = np.array([0.0, 2.0, 3.0, 7.0, 10.0])
    inner = (at[1:] + at[:-1]) / 2
    expected = np.diff([-1.0, *inner, 11.5])
    np.testing.assert_allclose(widths / widths.sum(), expected / expected.sum(), atol=1e-3)


def test_shades_are_the_probabilities_and_marks_the_states() -> None:
    study = line()
    chance, states = study.certificate().best_probability, study.selection()["state"]
    depth = sorted(
        float(each.attrib["fill-opacity"]) for each in read(study).iter() if "fill-opacity" in each.attrib
    )
    shown = [*chance[chance >= 0.02], *sketch.LEGEND_STEPS]  # and three in the legend
    np.testing.assert_allclose(depth, np.sort(0.06 + 0.74 * np.array(shown)), atol=0.006)
    dots = len(list(read(study).iter(f"{SVG}circle")))
    assert dots == (states == "sure").sum() + 1  # one in the legend


def test_labels_of_any_script_are_drawn() -> None:
    texts = [each.text for each in read(grid()).iter(f"{SVG}text")]
    assert {"小", "夜", "large", "rate", "shift"} <= set(texts)


CITIES = [
    "北京仓库方案一号加急",
    "上海仓库方案二号",
    "広州倉庫の計画三号、夜間配送あり、第二倉庫から",
    "서울 창고 계획",
]


def wide(*, title: str = "需求水平") -> Study:
    """Labels and titles in letters of double width, contexts on a grid."""
    rows = [{title: r, "班次类型": s} for r in (1.0, 2.0, 4.0) for s in ("白天", "夜间加班班次")]
    truth = np.where(np.arange(4)[:, None] == np.arange(6)[None, :] % 4, 9.0, 0.0)
    return told(Problem(CITIES, rows), truth, model="gp", spread=0.01)


def along() -> Study:
    """The same labels beside a line of contexts."""
    truth = np.where(np.arange(4)[:, None] == np.arange(4)[None, :], 9.0, 0.0)
    return told(Problem(CITIES, [0.0, 1.0, 2.0, 3.0]), truth, model="gp", spread=0.01)


def wordy() -> Study:
    """Columns of which every title is longer than the map is wide."""
    rows = [{f"the arrival rate of customers {i}": float(i * c) for i in range(4)} for c in range(3)]
    choices = [{f"number of servers at counter {i}": i * k for i in range(4)} for k in range(3)]
    return told(Problem(choices, rows), np.eye(3), model="independent", spread=0.01)


def extent(text: ET.Element, origin: float = 0.0) -> tuple[float, float]:
    """From where to where a text reaches, with 13 pixels for a wide letter and 7 for others."""
    long = sum(13.0 if east_asian_width(each) in "WF" else 7.0 for each in text.text or "")
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.attrib["text-anchor"]]
    left = origin + float(text.attrib["x"]) - share * long
    return left, left + long


@pytest.mark.parametrize("make", [line, mixed, grid, wide, along, wordy, lambda: wide(title="需求" * 30)])
def test_no_text_of_a_map_reaches_beyond_its_edges(make: Callable[[], Study]) -> None:
    drawn = read(make())
    moved = [(each, float(re.findall(r"[\d.]+", group.attrib["transform"])[0]))
             for group in drawn.iter(f"{SVG}g") for each in group.iter(f"{SVG}text")]  # fmt: skip
    inside = {each for each, _ in moved}
    texts = [*moved, *((each, 0.0) for each in drawn.iter(f"{SVG}text") if each not in inside)]
    assert len(texts) > 5
    for each, origin in texts:
        left, right = extent(each, origin)
        assert left >= 0, each.text
        assert right <= svg.WIDTH, each.text


def test_wide_letters_are_shown_whole_where_they_fit_and_cut_by_their_width_where_not() -> None:
    texts = {each.text for each in read(along()).iter(f"{SVG}text")}
    assert {CITIES[0], CITIES[1], CITIES[3]} <= texts
    (cut,) = (each for each in texts if each and "…" in each)
    assert CITIES[2].startswith(cut.split("…")[0])
    assert CITIES[2].endswith(cut.split("…")[1])
    assert 13 <= len(cut) <= 15


def test_long_titles_are_written_in_several_lines() -> None:
    texts = [each.text or "" for each in read(wordy()).iter(f"{SVG}text") if each.get("font-weight")]
    chosen, where = (
        wording_title("alternative", "number of servers at counter"),
        "the arrival rate of customers",
    )
    assert " ".join(texts).startswith(f"{chosen} {wording_title('context', where)}")
    assert len(texts) >= 6


def wording_title(kind: str, column: str) -> str:
    return f"{kind} ({', '.join(f'{column} {i}' for i in range(4))})"


@pytest.mark.parametrize("make", [line, grid, wide])
def test_the_legend_is_right_in_the_dark_too_and_looks_like_the_cells(make: Callable[[], Study]) -> None:
    drawn = read(make())
    words = [each.text or "" for each in drawn.iter(f"{SVG}text")]
    assert not any("deeper" in each for each in words)
    (scale,) = (each for each in words if each.startswith("stronger colour: "))
    assert scale.endswith("more likely the best" if make is line else "surer")
    keys = [each for group in drawn.iter(f"{SVG}g") for each in group.iter(f"{SVG}rect")]
    filled = [each for each in keys if each.get("fill", "none")[0] == "#" and not each.get("stroke")]
    assert filled
    assert all(0.1 < float(each.attrib["fill-opacity"]) <= 0.8 for each in filled)
    cells = {each.get("fill") for each in drawn.iter(f"{SVG}rect") if each.get("fill-opacity")}
    assert {each.get("fill") for each in filled} <= cells
