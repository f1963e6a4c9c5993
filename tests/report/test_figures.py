import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from argbest import ArgbestError, InputError, Problem, Study, streams
from argbest.answers import overview
from argbest.report import (
    figures,
    plot_allocation,
    plot_contention,
    plot_policy_map,
    plot_profiles,
    plot_progress,
)
from argbest.report.comparison import progress
from argbest.texts import chance

_finished: dict[str, Study] = {}


def finished(alternatives: list[Any], contexts: list[Any], **options: Any) -> Study:
    """A study in which the alternative in the place of the context, modulo K, is better by 4; to look at."""
    key = repr((alternatives, contexts, options))
    if key not in _finished:
        _finished[key] = _run(alternatives, contexts, **options)
    return _finished[key]


def _run(alternatives: list[Any], contexts: list[Any], **options: Any) -> Study:
    def simulate(alternative: object, context: object, seed: int) -> float:
        wins = contexts.index(context) % len(alternatives) == alternatives.index(alternative)
        return 4.0 * wins + float(streams.standard_normal(seed))

    problem = Problem(alternatives, contexts, simulate, **options)
    return Study(problem, initial=2).run(2 * problem.n_alternatives * problem.n_contexts + 4)


LINE: dict[str, Any] = {
    "alternatives": [{"x1": 5 / 3}, {"x1": 10 / 3}, {"x1": 5.0}],
    "contexts": [{"x2": x} for x in (4.0, 1.0, 2.5)],
}
LABELS: dict[str, Any] = {
    "alternatives": ["$5", "$9"],
    "contexts": ["Monday", "Tuesday", "a day with a very long name indeed"],
}
ROWS: dict[str, Any] = {
    "alternatives": [1, 2, 3],
    "contexts": [{"rate": r / 3, "shift": s} for r in (1, 2) for s in ("day", "night")],
}
CLOUD: dict[str, Any] = {
    "alternatives": [1, 2, 3],
    "contexts": [{"rate": r, "load": r * r % 7} for r in (1.0, 2.0, 3.0, 4.0, 5.0)],
}
KINDS = {"line": LINE, "labels": LABELS, "rows": ROWS, "cloud": CLOUD}
SHAPES = pytest.mark.parametrize("shape", KINDS.values(), ids=KINDS)


def texts(labels: list[Any]) -> list[str]:
    return [label.get_text().replace("\\$", "$") for label in labels]


def marks(ax: Any) -> int:
    """The number of marked points."""
    return sum(len(points.get_offsets()) for points in ax.collections)


def test_the_policy_map_lies_along_the_coordinate() -> None:
    ax: Any = plot_policy_map(finished(**LINE))
    ax.figure.draw_without_rendering()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x2", "x1")
    assert texts(ax.get_yticklabels()) == ["1.67", "3.33", "5"]
    assert marks(ax) == 3
    (strip,) = ax.child_axes
    assert marks(strip) == 3
    assert ax.images[0].get_array().shape == (3, 241)


def test_the_policy_map_of_labels_is_a_table_with_a_row_per_context() -> None:
    study = finished(**LABELS)
    ax: Any = plot_policy_map(study)
    ax.figure.draw_without_rendering()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("alternative", "context")
    assert texts(ax.get_xticklabels()) == ["$5", "$9"]
    assert texts(ax.get_yticklabels()) == ["Monday", "Tuesday", "a day with…ame indeed"]
    assert marks(ax) == 3
    (certainty,) = ax.child_axes
    assert texts(certainty.get_yticklabels()) == [chance(p) for p in study.selection()["p_best"]]


def test_sure_and_open_contexts_are_marked_apart() -> None:
    study = Study(Problem(["A", "B"], ["clear", "open"]), initial=1)
    means = np.array([[9.0, 0.0], [0.0, 0.0]])
    for trial in study.ask(4):
        study.tell(trial, mean=float(means[trial.pair]), variance=1.0, n=20)
    assert (study.selection()["p_best"] >= 0.95).tolist() == [True, False]
    ax: Any = plot_policy_map(study)
    sure, equal, still_open = (c.get_offsets()[:, 1].tolist() for c in ax.collections[:3])
    assert (sure, equal, still_open) == ([0.0], [], [1.0])
    meaning = texts(ax.get_legend().get_texts())
    assert (meaning[0], meaning[2]) == ("sure: P(best) ≥ 0.95", "open")
    assert meaning[1] == f"equal: within {study.indifference():.2g}"


def test_the_policy_map_of_a_grid_is_a_map_of_labels_and_certainties() -> None:
    study = finished(**ROWS)
    ax: Any = plot_policy_map(study)
    ax.figure.draw_without_rendering()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rate", "shift")
    assert texts(ax.get_xticklabels()) == ["0.333", "0.667"]
    assert texts(ax.get_yticklabels()) == ["day", "night"]
    rows = [study.selection().iloc[c] for c in (0, 2, 1, 3)]  # row by row of the map
    assert texts(list(ax.texts)) == [f"{row['selected']}\n{row['p_best']:.2f}" for row in rows]
    assert ax.images[0].get_array().shape == (2, 2, 3)
    assert len(ax.patches) == int((study.selection()["state"] != "sure").sum())


def test_labels_that_do_not_fit_the_cells_are_numbered_in_the_key() -> None:
    long = [f"a rather long description of plan {i}" for i in range(3)]
    study = finished(long, [{"x": x, "y": y} for x in range(8) for y in range(8)])
    ax: Any = plot_policy_map(study, ax=Figure(figsize=(3.0, 2.8), layout="constrained").add_subplot())
    numbers = {int(text) for text in texts(list(ax.texts))}
    assert numbers == {1, 2, 3}
    entries = texts(ax.get_legend().get_texts())
    assert [entry[:2] for entry in entries[:3]] == ["1:", "2:", "3:"]
    assert {entry[:5] for entry in entries[3:]} <= {"open", "equal"}


def test_open_contexts_of_a_grid_are_framed() -> None:
    study = Study(Problem(["A", "B"], [{"x": x, "y": y} for x in "pq" for y in "rs"]), initial=1)
    means = np.array([[9.0, 0.0, 9.0, 9.0], [0.0, 0.0, 0.0, 0.0]])
    for trial in study.ask(8):
        study.tell(trial, mean=float(means[trial.pair]), variance=1.0, n=20)
    ax: Any = plot_policy_map(study)
    [frame] = ax.patches
    assert (round(frame.get_x() + 0.44), round(frame.get_y() + 0.44)) == (0, 1)  # x = p, y = s
    assert texts(ax.get_legend().get_texts())[-1] == "open"


def test_the_allocation_writes_every_count() -> None:
    study = finished(**LINE)
    ax = plot_allocation(study)
    counts = study.tally.count[:, [1, 2, 0]]
    assert texts(list(ax.texts)) == [str(n) for n in counts.ravel()]
    assert texts(ax.get_xticklabels()) == ["1", "2.5", "4"]
    assert ax.get_title() == "best x1 per x2: where 22 replications went"


def test_the_allocation_of_labels_is_arranged_like_their_policy_map() -> None:
    study = finished(**ROWS)
    ax = plot_allocation(study)
    assert texts(list(ax.texts)) == [str(n) for n in study.tally.count.T.ravel()]
    assert texts(ax.get_yticklabels()) == ["0.333, day", "0.333, night", "0.667, day", "0.667, night"]


def test_many_labels_are_thinned_and_counts_left_out() -> None:
    study = Study(Problem(list(range(100)), [f"context {i}" for i in range(60)]), initial=1)
    for trial in study.ask(6000):
        study.tell(trial, 2.0 + trial.pair[0])
    ax = plot_allocation(study)
    assert len(ax.texts) == 0
    assert len(ax.get_xticks()) < 100
    assert len(ax.get_yticks()) <= 60
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90.0}


@SHAPES
@pytest.mark.parametrize("plot", [plot_policy_map, plot_allocation])
def test_pictures_are_drawn_on_the_axes_given(plot: Any, shape: dict[str, Any]) -> None:
    ax: Any = Figure(figsize=(4, 3.5), layout="constrained").add_subplot()
    assert plot(finished(**shape), ax=ax) is ax
    ax.figure.draw_without_rendering()


@SHAPES
@pytest.mark.fast_cases("line", "cloud")
def test_save_writes_two_pictures(shape: dict[str, Any], tmp_path: Path) -> None:
    paths = figures.save(finished(**shape, name="a $ problem $"), tmp_path, dpi=50)
    assert paths == [tmp_path / "policy_map.png", tmp_path / "allocation.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n") for path in paths)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    study, usual = finished(**LABELS), builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return usual(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ArgbestError, match=r"pictures need matplotlib: pip install 'argbest\[plot\]'"):
        plot_policy_map(study)


@pytest.mark.parametrize("draw", [plot_policy_map, plot_profiles, plot_contention, plot_allocation, progress])
def test_what_is_no_study_is_refused(draw: Any) -> None:
    with pytest.raises(InputError, match="got int; expected a study"):
        draw(3)


@pytest.mark.parametrize(
    ("plot", "shape"),
    [
        *((plot, shape) for plot in (plot_policy_map, plot_contention) for shape in KINDS.values()),
        *((plot, next(iter(KINDS.values()))) for plot in (plot_profiles, plot_allocation, plot_progress)),
    ],
)
def test_the_title_of_a_long_name_stays_within_the_picture(
    plot: Any, shape: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    course = overview.history
    monkeypatch.setattr(overview, "history", lambda study, **_: course(study, points=2))  # less to work out
    ax = plot(finished(**shape, name="M" * 200))
    figure = ax.figure
    figure.draw_without_rendering()
    family = [each for each in (ax, *ax.child_axes) if isinstance(each, Axes)]
    legends = [legend for each in family if (legend := each.get_legend()) is not None]
    titles = [each.title for each in family] + [legend.get_title() for legend in legends]
    written = [title for title in titles if title.get_text()]
    assert len(written) == 1
    box = written[0].get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1
    assert box.height < figure.bbox.height / 3
