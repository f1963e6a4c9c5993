"""What notebooks show of a study and of its answers, and their pictures by ``study.plot``."""

from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from argbest import report
from argbest.answers.answering import Answer
from argbest.core.question import BEST
from argbest.core.states import LEVEL
from argbest.report import answer_sketches
from argbest.report.next_steps import next_step
from argbest.report.question_words import asked, html
from argbest.report.sketch import sketch
from argbest.report.wording import answer, choices, count
from argbest.study.study import Study
from argbest.texts import as_html, chance, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROWS = 6  # of a table in a notebook


def of_study(study: Study) -> str:
    """Return the answer as HTML: the question, how sure it is, what comes next, a picture and the choices."""
    step = next_step(study)
    following = f"<p><b>Next:</b> {as_html(step.sentence)} <code>{as_html(step.command)}</code></p>"
    title = f"<p><strong>{as_html(study.problem.name)}</strong></p><p>{html(asked(study.problem))}</p>"
    if not study.n_replications:
        return (
            f"{title}<p>{as_html(repr(study))}. Nothing is known yet: tell values, or run it.</p>{following}"
        )
    if study.problem.question.name != BEST.name:
        (first, *_), found = answer(study, study.selection(), study.certificate()), study.answer()
        return f"{title}<p>{as_html(first)}</p>{following}{of_answer(found)}"
    lines = "".join(
        f"<li>{as_html(where)}{': ' if where else ''}<b>{as_html(what)}</b>{as_html(how)}</li>"
        for where, what, how in choices(study)
    )
    first, *more = answer(study, study.selection(), study.certificate())
    head = f"<p>{as_html(first)}</p>{following}"
    said = "".join(f"<p>{as_html(each)}</p>" for each in more)
    picture = sketch(study) if study.problem.population is None else ""  # of hundreds of contexts it is noise
    return f'<div style="max-width: 34em">{title}{head}{picture}<ul>{lines}</ul>{said}</div>'


def of_answer(answer: Answer) -> str:
    """Return an answer to a question as HTML: the choice, how sure it is, a picture, and its table."""
    drawn = answer_sketches.sketches(answer)
    found, alternatives = answer.tailoring, answer.view.problem.alternatives
    drawn += [] if found is None else [answer_sketches.tailoring_sketch(found, alternatives)]
    said = "".join(f"<p>{as_html(line)}</p>" for line in answer.sentences())
    table = answer.table.head(_ROWS).copy()
    for name in [each for each in table.columns if str(each).startswith("p_")]:
        table[name] = ["" if pd.isna(p) else chance(p) for p in table[name]]
    shown = table.to_html(index=False, escape=True, float_format=lambda x: number(x))
    more = len(answer.table) - _ROWS
    left = f"<p>… and {count(more, 'more row')}: see <code>table</code></p>" if more > 0 else ""
    title = f"<p><strong>{as_html(f'{answer.question}: {answer.headline}')}</strong></p>"
    scrolled = f'<div style="overflow-x: auto">{shown}</div>'
    return f'<div style="max-width: 34em">{title}{said}{"".join(drawn)}</div>{scrolled}{left}'


def plot_answer(answer: Answer, *, theme: str | None = None) -> "Figure":
    """Return the picture of an answer as a figure that a notebook shows."""
    return _figure(report.plot_answer(answer, theme=theme))


class Plots:
    """Pictures of a study, each a figure of matplotlib; called by itself it is the policy map.

    A notebook shows each below the cell that made it, whether the line ends in a semicolon or not. Keep one
    with ``figure.savefig("map.png")``.

    Args:
        study: The study to draw.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def __repr__(self) -> str:
        names = ", ".join(name for name in vars(Plots) if not name.startswith("_"))
        return f"<pictures of {self._study!r}: study.plot(), and study.plot. {names}>"

    def __call__(self, *, theme: str | None = None) -> "Figure":
        """Return which alternative is selected in which context, and how surely."""
        return _figure(report.plot_policy_map(self._study, theme=theme))

    def profiles(
        self,
        *,
        coordinate: str | None = None,
        context: object = None,
        leading: int | None = None,
        level: float = LEVEL,
        response: str | None = None,
        theme: str | None = None,
    ) -> "Figure":
        """Return what is believed of the leading alternatives along a coordinate; see `plot_profiles`.

        Args:
            coordinate: The column of the contexts along which they are drawn; by default the first.
            context (label or row): Where the other coordinates are held; by default where the selection is
                least certain.
            leading: How many of the likeliest alternatives; by default all that are selected somewhere, but
                no more than 8.
            level: The probability with which an interval holds the mean reward.
            response: The response whose means are drawn; by default those of the goal.
            theme: "light" or "dark".
        """
        return _figure(
            report.plot_profiles(
                self._study,
                coordinate=coordinate,
                context=context,
                leading=leading,
                level=level,
                response=response,
                theme=theme,
            )
        )

    def allocation(self, *, theme: str | None = None) -> "Figure":
        """Return how many replications every pair got.

        Args:
            theme: "light" or "dark".
        """
        return _figure(report.plot_allocation(self._study, theme=theme))

    def contention(self, *, level: float = LEVEL, theme: str | None = None) -> "Figure":
        """Return which alternatives are still in the running.

        Args:
            level: The probability that those in the running hold the best one.
            theme: "light" or "dark".
        """
        return _figure(report.plot_contention(self._study, level=level, theme=theme))

    def progress(self, *, measure: str = "pcs_e", theme: str | None = None) -> "Figure":
        """Return how sure the study was as replications came in.

        Args:
            measure: What is drawn, such as "pcs_e" or "eoc".
            theme: "light" or "dark".
        """
        return _figure(report.plot_progress(self._study, measure=measure, theme=theme))

    def answer(self, question: object = None, *, theme: str | None = None) -> "Figure":
        """Return the picture of the answer to a question, by default that of the study.

        Args:
            question (name or question): What is to be chosen (`argbest.questions`).
            theme: "light" or "dark".
        """
        return plot_answer(self._study.answer(question), theme=theme)

    def tailoring(self, *, theme: str | None = None) -> "Figure":
        """Return what choosing per context gains with 1, 2, 3, … alternatives.

        Args:
            theme: "light" or "dark".
        """
        return _figure(report.plot_tailoring(self._study.answer("best"), theme=theme))

    def model_check(self, *, values: str = "z", theme: str | None = None) -> "Figure":
        """Return how far pairs are from what all others predict.

        Args:
            values: "z" for z-scores, "residual" for residuals.
            theme: "light" or "dark".
        """
        return _figure(report.plot_model_check(self._study, values=values, theme=theme))


def _figure(ax: "Axes") -> "Figure":
    figure: Any = ax.figure  # they were made on a figure of their own
    figure.show_after_this_cell()
    return cast("Figure", figure)
