"""The policy map as SVG, read back."""

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import oracles
import pytest
from report.page_studies import hostile, line, mixed, told
from report.test_style import delta_e, lab

from argbest import Problem, Study
from argbest.report import looks, sketch, svg, wording

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
    np.testing.assert_allclose(depth, np.sort(0.06 + 0.86 * np.array(shown) ** 2), atol=0.006)
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
    where = "the arrival rate of customers"
    assert texts[0] == f"{where} 2"  # the first of the two axes, upwards
    assert " ".join(texts).endswith(f"{where} 1")
    assert len(texts) >= 5  # two axes, and three panels by the third column


@pytest.mark.parametrize("make", [line, grid, wide])
def test_the_legend_is_right_in_the_dark_too_and_looks_like_the_cells(make: Callable[[], Study]) -> None:
    drawn = read(make())
    words = [each.text or "" for each in drawn.iter(f"{SVG}text")]
    assert not any("deeper" in each for each in words)
    ramp = next(
        each for each in drawn.iter(f"{SVG}g") if each.findall(f"{SVG}text")[-1].text == "likely the best"
    )
    assert [each.text for each in ramp.iter(f"{SVG}text")][:3] == ["50 %", "80 %", "95 %"]
    keys = [each for group in drawn.iter(f"{SVG}g") for each in group.iter(f"{SVG}rect")]
    filled = [each for each in keys if each.get("fill", "none")[0] == "#" and not each.get("stroke")]
    depth = sketch._band_depth if make is line else sketch._cell_depth
    steps = [float(each.attrib["fill-opacity"]) for each in ramp.iter(f"{SVG}rect")]
    assert steps == pytest.approx([depth(p) for p in (0.5, 0.8, 0.95)], abs=0.006)
    assert np.diff(steps).min() > 0.15
    cells = {each.get("fill") for each in drawn.iter(f"{SVG}rect") if each.get("fill-opacity")}
    assert {each.get("fill") for each in filled} <= cells


def staffed(*columns: str, n: int = 4) -> Study:
    """Contexts of some of these columns, as a grid; what is best depends on rate and site."""
    values: dict[str, list[Any]] = {
        "rate": [1.0, 2.0, 3.0][:n],
        "wait": [5.0, 9.0],
        "site": ["north", "south"],
        "year": [1, 2],
    }
    rows = [dict(zip(columns, row, strict=True)) for row in itertools.product(*(values[c] for c in columns))]
    best = np.array([(row["rate"] > 1.5) + 2 * (row.get("site") == "south") for row in rows])
    truth = np.where(np.arange(4)[:, None] == best, 9.0, 0.0)
    unit = {"rate": "calls per hour"}
    return told(Problem(["a", "b", "c", "d"], rows, unit=unit), truth, model="independent", spread=0.01)


def boxes(drawn: ET.Element) -> list[ET.Element]:
    """The borders of the panels."""
    return [each for each in drawn.iter(f"{SVG}rect") if each.get("stroke-opacity") == "0.25"]


def test_three_columns_are_panels_by_category_with_two_numbers_as_axes() -> None:
    drawn = read(staffed("rate", "wait", "site"))
    texts = [each.text for each in drawn.iter(f"{SVG}text")]
    assert {"site north", "site south", "wait", "rate (calls per hour)", "1", "3", "5", "9"} <= set(texts)
    panels = boxes(drawn)
    assert len(panels) == 2
    hits = [each for each in drawn.iter(f"{SVG}rect") if each.get("class") == "hit"]
    assert len({(each.get("x"), each.get("y")) for each in hits}) == len(hits) == 12
    for hit in hits:  # each within one panel
        left, top = float(hit.attrib["x"]), float(hit.attrib["y"])
        inside = [
            float(p.attrib["x"]) - 0.1 <= left
            and left + float(hit.attrib["width"]) <= float(p.attrib["x"]) + float(p.attrib["width"]) + 0.1
            and float(p.attrib["y"]) - 0.1 <= top
            and top + float(hit.attrib["height"]) <= float(p.attrib["y"]) + float(p.attrib["height"]) + 0.1
            for p in panels
        ]
        assert sum(inside) == 1


def test_contexts_that_share_a_cell_of_four_columns_divide_it_and_the_column_left_out_is_named() -> None:
    drawn = read(staffed("rate", "wait", "site", "year"))
    titles = " ".join(each.text or "" for each in drawn.iter(f"{SVG}text"))
    assert "site north" in titles
    assert re.search("for every (wait|year)", titles)
    hits = [each for each in drawn.iter(f"{SVG}rect") if each.get("class") == "hit"]
    assert len({(each.get("x"), each.get("y")) for each in hits}) == len(hits) == 24


def test_numbers_that_lie_on_no_grid_are_drawn_to_scale_between_ticks() -> None:
    rng = np.random.default_rng(0)
    rows = [{"age": float(a), "risk": float(r)} for a, r in rng.uniform(0.0, 100.0, (40, 2))]
    study = told(Problem(["a", "b"], rows), np.eye(2)[:, rng.integers(0, 2, 40)], model="independent")
    drawn = read(study)
    hits = {
        int(each.attrib["data-c"]): each for each in drawn.iter(f"{SVG}rect") if each.get("class") == "hit"
    }
    x = np.array([float(hits[c].attrib["x"]) for c in range(40)])
    y = np.array([float(hits[c].attrib["y"]) for c in range(40)])
    assert np.corrcoef(x, [row["age"] for row in rows])[0, 1] > 0.9999
    assert np.corrcoef(y, [row["risk"] for row in rows])[0, 1] < -0.9999
    assert {"0", "50", "100"} & {each.text for each in drawn.iter(f"{SVG}text")}


def test_one_context_is_a_row_of_dots_with_intervals_and_an_axis() -> None:
    study = told(
        Problem(["a", "b", "c"], ["here"], unit="minutes"),
        np.array([[1.0], [5.0], [3.0]]),
        model="independent",
    )
    drawn = read(study)
    texts = [each.text for each in drawn.iter(f"{SVG}text")]
    assert "reward (minutes)" in texts
    assert "90 % interval" in texts
    lines = [
        each
        for each in drawn.iter(f"{SVG}line")
        if each.get("stroke-width") == "2.5" and each.get("y1") != "-4.0"
    ]
    assert len(lines) == 3
    middle = [(float(each.attrib["x1"]) + float(each.attrib["x2"])) / 2 for each in lines]
    frame = study.posterior()
    assert np.corrcoef(sorted(middle), sorted(frame["mean"]))[0, 1] > 0.999


@pytest.mark.parametrize("blindness", ["none", "deutan"])
def test_any_two_colours_of_cells_differ_also_without_green(blindness: str) -> None:
    pairs = itertools.combinations(svg.HUES, 2)
    assert min(delta_e(lab(a, blindness), lab(b, blindness)) for a, b in pairs) >= 14.9


@pytest.mark.parametrize(("paper", "page_ink"), [("#ffffff", "#000000"), ("#12161b", "#ffffff")])
def test_text_in_cells_stands_out_on_light_and_dark_pages_however_sure_they_are(
    paper: str, page_ink: str
) -> None:
    for i in range(len(svg.HUES)):
        for p in np.linspace(0.0, 1.0, 101).tolist():
            depth = sketch._cell_depth(p)
            ink = svg.ink(svg.HUES[i], depth)
            assert ("on-cell" in ink) or "#000000" in ink  # a page gives the class black or white
            cell = looks.blend(svg.HUES[i], paper, depth)
            assert oracles.contrast(page_ink if "on-cell" in ink else "#000000", cell) >= 4.5


def test_of_more_alternatives_than_colours_they_go_from_blue_to_yellow_in_even_steps() -> None:
    hues = [svg.hue(i, 12) for i in range(12)]
    assert len(set(hues)) == 12
    without_green = [lab(each, "deutan")[2] for each in hues]
    assert without_green == sorted(without_green)
