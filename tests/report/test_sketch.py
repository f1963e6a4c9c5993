"""The policy map as SVG, read back."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from report.page_studies import hostile, line, mixed, told

from argbest import Problem, Study
from argbest.report import sketch, wording

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
    np.testing.assert_allclose(depth, np.sort(0.06 + 0.74 * chance[chance >= 0.02]), atol=0.006)
    dots = len(list(read(study).iter(f"{SVG}circle")))
    assert dots == (states == "sure").sum() + 1  # one in the legend


def test_labels_of_any_script_are_drawn() -> None:
    texts = [each.text for each in read(grid()).iter(f"{SVG}text")]
    assert {"小", "夜", "large", "rate", "shift"} <= set(texts)
