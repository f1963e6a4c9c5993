"""What notebooks show: the tutorial in a real kernel, and the same without one."""

import base64
import re
import struct
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from notebooks import TUTORIAL, code_cells, executed
from report.page_studies import hostile, line, told

from argbest import Problem, Study


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    if not (find_spec("nbclient") and find_spec("ipykernel")):
        pytest.skip("needs a kernel: pip install nbclient ipykernel")
    return executed(TUTORIAL, tmp_path_factory.mktemp("notebook") / "out.ipynb")


def shown(cells: list[Any], source: str) -> list[Any]:
    """What a cell shows, by kind."""
    (cell,) = (cell for cell in cells if source in cell["source"].splitlines())
    found = [out["data"] for out in cell["outputs"] if "data" in out]
    return [{kind: "".join(text) for kind, text in data.items()} for data in found]


@pytest.mark.slow
def test_a_study_shows_its_map_and_its_answer(cells: list[Any]) -> None:
    (data,) = shown(cells, "study")
    assert "<svg" in data["text/html"]
    assert re.search("<li>demand 45: <b>order 40", data["text/html"])
    assert data["text/plain"].startswith("<Study of 'profit': 11 alternatives x 6 contexts, 120 ")


@pytest.mark.parametrize("source", ["study.plot()", "study.plot.profiles()"])
@pytest.mark.slow
def test_a_picture_is_shown_once(cells: list[Any], source: str) -> None:
    (data,) = shown(cells, source)
    assert "image/png" in data


SEMICOLONS = {
    "study.plot();": ["map"],
    "study.plot()": ["map"],
    "study.plot()\nstudy.plot.profiles()": ["map", "profiles"],
    "kept = study.plot()\nkept.savefig('map.png')": ["map"],
    "display(study.plot())": ["map"],
    "import matplotlib.pyplot as plt\nstudy.plot();": ["map"],
    "kept": ["map"],
    "from argbest import report\nreport.plot_allocation(study).figure": ["allocation"],
    "_ = report.plot_allocation(study)": [],
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What cells with pictures show, each as (data, metadata)."""
    notebook = pytest.importorskip("nbformat").v4
    path = tmp_path_factory.mktemp("semicolons") / "cells.ipynb"
    first = (
        "import argbest\n"
        "def profit(order, demand, seed):\n    return -(order - demand) ** 2 + seed % 7\n"
        "study = argbest.select(profit, [1, 2, 3], [1.0, 2.0, 3.0], budget=18)"
    )
    made = notebook.new_notebook(cells=[notebook.new_code_cell(each) for each in (first, *SEMICOLONS)])
    path.write_text(notebook.writes(made), encoding="utf-8")
    cells = executed(path, path.with_name("out.ipynb"))
    return {
        cell["source"]: [(out["data"], out["metadata"]) for out in cell["outputs"] if "data" in out]
        for cell in cells
    }


def pixels(png: str) -> tuple[int, int]:
    """Width and height of a picture."""
    return struct.unpack(">II", base64.b64decode(png)[16:24])


@pytest.mark.parametrize("source", list(SEMICOLONS))
@pytest.mark.slow
def test_a_cell_shows_its_pictures_once_and_in_order_even_after_a_semicolon(
    drawn: dict[str, list[Any]], source: str
) -> None:
    expected = SEMICOLONS[source]
    found = drawn[source]
    assert len(found) == len(expected)
    sizes = [pixels(data["image/png"]) for data, _ in found]
    heights = {"map": drawn["study.plot()"][0], "profiles": drawn["study.plot()\nstudy.plot.profiles()"][1]}
    for size, name in zip(sizes, expected, strict=True):
        if name in heights:
            assert size == pixels(heights[name][0]["image/png"])


@pytest.mark.slow
def test_pictures_have_twice_the_pixels_of_their_size(drawn: dict[str, list[Any]]) -> None:
    ((data, metadata),) = drawn["study.plot();"]
    wide, high = pixels(data["image/png"])
    assert (metadata["image/png"]["width"], metadata["image/png"]["height"]) == (wide // 2, high // 2)
    assert wide > 1000


@pytest.mark.slow
def test_certificate_and_model_check_show_themselves(cells: list[Any]) -> None:
    (data,) = shown(cells, "study.certificate()")
    assert "<th>in the worst context</th>" in data["text/html"]
    assert len(data["text/plain"]) < 160
    (data,) = shown(cells, "study.model_check()")
    assert "root mean square" in data["text/html"]


@pytest.mark.slow
def test_a_run_shows_one_bar_and_no_wall_of_text(cells: list[Any]) -> None:
    (bar,) = shown(cells, "study.run(120, progress=True);")
    assert "120 of 120 replications" in bar["text/html"]
    said = [out for cell in cells for out in cell["outputs"] if out["output_type"] == "stream"]
    assert said == []


def test_the_tutorial_is_kept_with_its_outputs(cells: list[Any]) -> None:
    kept = code_cells(TUTORIAL)
    assert [cell["source"] for cell in kept] == [cell["source"] for cell in cells]
    assert "<svg" in shown(kept, "study")[0]["text/html"]


def test_a_study_without_values_says_so_and_labels_are_only_text() -> None:
    empty = Study(Problem(["a", "b"], ["<b>x</b>", "y"], name="<i>n</i>"))
    assert "Nothing is known yet" in empty._repr_html_()
    assert "<i>" not in empty._repr_html_()
    assert "<img" not in hostile()._repr_html_()


def test_a_study_that_asks_another_question_shows_the_answer_to_that() -> None:
    study = told(
        Problem(["a", "b"], [1, 2, 3], question="overall"), np.array([[1.0, 1.0, 1.0], [4.0, 3.0, 5.0]])
    )
    html, found = study._repr_html_(), study.answer()
    assert f"After 18 replications the answer is {found.state}: right with probability" in html
    assert "overall: b" in html
    assert html.count("<svg") == study.answer()._repr_html_().count("<svg") > 0


def test_reprs_are_short() -> None:
    study = line()
    things = [study, study.problem, study.certificate(), study.model_check(), study.guarantee()]
    things += [study.model_summary(), study.forecast(), study.plot]
    assert max(len(repr(each)) for each in things) < 200
