"""Every picture: on a phone, in the dark, on axes of one's own, and without matplotlib before it is drawn."""

import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import oracles
import pandas as pd
import pytest
import small_problems
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

from argbest import ArgbestError, InputError, Problem, Study, report, streams
from argbest.answers import overview
from argbest.experiment import measures
from argbest.report import looks
from argbest.report.looks import DARK, LIGHT

NAMES = ["two nurses", "three nurses", "four nurses", "five nurses and a doctor"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "a long public holiday"]
STUDY_PLOTS = (
    "plot_policy_map",
    "plot_allocation",
    "plot_contention",
    "plot_profiles",
    "plot_progress",
    "plot_model_check",
)
RESULT_PLOTS = ("plot_comparison", "plot_calibration", "plot_progress")


def simulate(alternative: object, context: object, seed: int) -> float:
    return len(str(alternative)) % 5 + len(str(context)) % 3 + float(streams.standard_normal(seed))


@cache
def studies() -> dict[str, Study]:
    grid = [{"rate": r, "load": x} for r in (0.5, 1.0, 1.5) for x in (1, 2, 3)]
    problems = {
        "line": small_problems.table(),
        "grid": Problem(NAMES, grid, simulate, name="clinic"),
        "labels": Problem(["$5", "$9", "$12"], DAYS, simulate, name="a price of $ in euros", goal="min"),
    }
    return {name: Study(problem, initial=2).run(90) for name, problem in problems.items()}


@cache
def runs() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (label, r, n, 0.7 + n / 100, 0, 0.0, 0.1, rng.random(), "0110")
        for label in ("gp-c-ocba", "ikg", "equal", "a policy with a long name")
        for r in range(5)
        for n in (0, 10, 20)
    ]
    names = ["contender", "macroreplication", "replications", "share_correct", "all_correct"]
    names += ["share_good", "cost", "claim", "correct"]
    return pd.DataFrame(rows, columns=names).assign(**dict.fromkeys(measures.TIMES, 0.0))


CASES = [(plot, kind) for plot in STUDY_PLOTS for kind in ("line", "grid", "labels")]
CASES += [(plot, "runs") for plot in RESULT_PLOTS]
EVERY = pytest.mark.parametrize(("plot", "kind"), CASES)


def drawn(plot: str, kind: str, **options: Any) -> Any:
    source: Any = runs() if kind == "runs" else studies()[kind]
    return getattr(report, plot)(source, **options)


def shown_texts(figure: Any) -> list[Text]:
    """All texts that can be seen, after the layout is settled; ticks out of the range shown are not drawn."""
    figure.draw_without_rendering()
    hidden = set()
    for axis in figure.findobj(Axis):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                hidden |= {id(tick.label1), id(tick.label2)}
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in found if id(text) not in hidden]


@pytest.fixture(autouse=True, scope="module")
def _short_courses() -> Iterator[None]:
    """What curves look like is the question here: four points of each, worked out once."""
    whole = overview.history
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overview, "history", cache(lambda study, **_: whole(study, points=4)))
        yield


@EVERY
@pytest.mark.fast_cases("*-labels", "plot_comparison*", "plot_calibration*")
def test_at_300_pixels_no_text_leaves_the_picture_and_none_is_tiny(plot: str, kind: str) -> None:
    figure = Figure(figsize=(3.0, 2.8), dpi=100, layout="constrained")
    ax = figure.add_subplot()
    assert drawn(plot, kind, ax=ax) is ax
    edges = figure.bbox
    for text in shown_texts(figure):
        box = text.get_window_extent()
        assert float(text.get_fontsize()) >= 5.5, text
        assert box.x0 >= -2, text
        assert box.y0 >= -2, text
        assert box.x1 <= edges.x1 + 2, text
        assert box.y1 <= edges.y1 + 2, text


@pytest.mark.parametrize(("plot", "kind"), [*CASES[::4], CASES[1], CASES[11], *CASES[-3:-1]])
@pytest.mark.parametrize(
    "theme",
    [pytest.param(LIGHT, id="light", marks=pytest.mark.slow), pytest.param(DARK, id="dark")],
)
def test_all_text_can_be_read_on_the_paper(plot: str, kind: str, theme: looks.Theme) -> None:
    ax = drawn(plot, kind, theme=theme.name)
    assert oracles.contrast(ax.figure.get_facecolor()[:3], theme.paper) == pytest.approx(1.0)
    inside = {id(text) for text in ax.texts}  # those stand on cells, and are black or white by contrast
    for text in shown_texts(ax.figure):
        if id(text) not in inside:
            assert oracles.contrast(text.get_color(), theme.paper) >= 4.5, text


@pytest.mark.parametrize("plot", RESULT_PLOTS)
def test_contenders_differ_in_dashes_and_marks(plot: str) -> None:
    ax = drawn(plot, "runs")
    handles, labels = ax.get_legend_handles_labels()
    lines = [getattr(handle, "lines", [handle])[0] for handle in handles]
    assert len(labels) == 4
    assert len({line.get_marker() for line in lines}) == 4
    assert len({str(line.get_linestyle()) + str(line._dash_pattern) for line in lines}) == 4


@pytest.mark.parametrize("plot", STUDY_PLOTS)
def test_an_unknown_theme_is_refused(plot: str) -> None:
    with pytest.raises(InputError, match="unknown theme 'sepia'"):
        drawn(plot, "line", theme="sepia")


def test_a_study_that_knows_nothing_is_refused() -> None:
    empty = Study(small_problems.table())
    for plot in set(STUDY_PLOTS) - {"plot_allocation"}:
        with pytest.raises(ArgbestError, match="nothing is known yet"):
            getattr(report, plot)(empty)


def test_a_model_that_does_not_fit_says_so_in_the_title() -> None:
    """Smooth rewards but for one pair, under a model told that there is hardly any noise."""

    def odd(alternative: str, x: float, seed: int) -> float:
        return x + 2.0 * ((alternative, x) == ("B", 0.5)) + 0.01 * float(streams.standard_normal(seed))

    contexts = np.linspace(0.0, 1.0, 21).tolist()
    study = Study(Problem(list("ABC"), contexts, odd), model="additive-gp", initial=2).run(126)
    ax = report.plot_model_check(study)
    title = ax.get_title().replace("\n", " ")
    assert title.startswith("odd: the model does not fit (RMS z ")
    assert "pairs flagged" in title
    assert "B in 0.5" in [text.get_text() for text in ax.texts]
    assert report.plot_model_check(study, values="residual").get_ylabel() == "observed less predicted"
    with pytest.raises(InputError, match="unknown values 'zz'"):
        report.plot_model_check(study, values="zz")


def test_importing_the_reports_does_not_import_matplotlib() -> None:
    code = "import sys, argbest.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
