"""Pictures and the terminal say where an alternative cannot be selected, and where there is no answer."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from argbest import Problem, Study
from argbest.answers.overview import overview
from argbest.cli import main
from argbest.cli.stored import show_answer, show_troubles
from argbest.report import plot_contention, plot_policy_map, plot_profiles
from argbest.report.curves import grid, policy_curve, policy_map
from argbest.report.looks import THEMES
from argbest.report.policy_map import grid_colours

LINE: list[Any] = [1.0, 2.0, 3.0, 4.0]
NAMES: list[Any] = ["Mon", "Tue", "Wed", "Thu"]
GRID: list[Any] = [{"x": x, "y": y} for x in (1.0, 2.0) for y in (1.0, 2.0)]


def lost(contexts: list[Any], **options: Any) -> Study:
    """A study without an answer in the third context, and in which c never gives a value in the first."""
    failing = {(0, 2), (1, 2), (2, 2), (2, 0)}
    pairs = [(k, c) for k in range(3) for c in range(4)]
    named = [("abc"[k], contexts[c]) for k, c in pairs for _ in range(6 if (k, c) in failing else 3)]
    study = Study(Problem(["a", "b", "c"], contexts), initial=named, model="gp", policy="equal", **options)
    for i, trial in enumerate(study.ask(len(named))):
        if trial.pair in failing:
            study.fail(trial, "no licence")
        else:
            study.tell(trial, 10.0 * trial.pair[0] + 0.01 * (i % 7))
    return study


def written(ax: Any) -> list[str]:
    figure = ax.get_figure()
    figure.canvas.draw()
    return [each.get_text() for each in figure.findobj(Text) if each.get_text()]


@pytest.mark.parametrize("contexts", [LINE, NAMES, GRID], ids=["line", "names", "grid"])
def test_the_map_says_where_there_is_no_answer(contexts: list[Any]) -> None:
    study = lost(contexts)
    found = policy_map(study)
    assert found.selected.tolist() == [1, 2, -1, 2]
    assert found.answered.tolist() == [True, True, False, True]
    assert np.isnan(found.p_best[2])
    assert "no answer" in written(plot_policy_map(study))
    plt.close("all")


def test_the_curve_has_no_choice_where_there_is_none() -> None:
    curve = policy_curve(lost(LINE), points=7)  # every half, so that the contexts are among the points
    assert curve is not None
    assert curve.selected.tolist() == [1, 2, 2, 2, -1, 2, 2]
    assert np.flatnonzero(np.isnan(curve.p_best)).tolist() == [4]


def test_a_cell_without_an_answer_has_no_colour() -> None:
    study, theme = lost(GRID), THEMES["light"]
    table = grid(study.problem)
    assert table is not None
    cells = grid_colours(policy_map(study), table, theme)
    row, column = np.argwhere(table.context == 2)[0]
    assert cells[row, column].tolist() == pytest.approx(list(to_rgb(theme.paper)))


def test_other_pictures_of_such_a_study_can_be_drawn() -> None:
    for plot in (plot_contention, plot_profiles):
        written(plot(lost(LINE)))
    plt.close("all")


def test_the_terminal_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = lost(LINE, storage=tmp_path / "study.db")
    show_answer(study)
    show_troubles(study)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.strip().startswith("3")] == [
        ["3", "no", "answer", "-", "-", "-", "-"]
    ]
    said = " ".join(" ".join(lines).split())
    assert "1 of 4 contexts has no answer: every alternative failed there" in said
    assert "alternative 'c' in context 1.0; without a value it is not selected there" in said
    shown = CliRunner().invoke(main, ["status", str(tmp_path / "study.db")]).output
    assert "no answer: 1 contexts, where every alternative failed" in " ".join(shown.split())
    report = CliRunner().invoke(
        main, ["report", str(tmp_path / "study.db"), "--out", str(tmp_path / "r.html")]
    )
    assert report.exit_code == 0, report.output
    exported = tmp_path / "selection.csv"
    call = ["export", str(tmp_path / "study.db"), "--table", "selection", "--out", str(exported)]
    assert CliRunner().invoke(main, call).exit_code == 0
    frame = pd.read_csv(exported)
    assert frame["selected"].isna().tolist() == [False, False, True, False]
    assert frame["note"].fillna("").tolist() == [
        "failed without a value, so not selected: c",
        "",
        "no answer: every alternative failed here",
        "",
    ]


def test_the_overview_counts_contexts_without_an_answer() -> None:
    now = overview(lost(LINE))["certainty"]
    assert (now["unanswered"], now["open"]) == (1, 0)
