"""Progress of a run: a bar on standard error or in a notebook, or the caller's own function."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from argbest.checks import flag
from argbest.errors import InputError, OutageNotice
from argbest.study.trial import Trial

Progress = Callable[[int, int], None]


@contextmanager
def reporter(progress: bool | Progress, budget: int, done: int = 0, opening: str = "") -> Iterator[Progress]:
    """Yield the function to call with (done, budget) as simulations are done.

    ``opening`` is a line to say before the bar.
    """
    if callable(progress):
        yield progress
    elif flag("progress, where it is not a function of (done, budget),", progress):
        shown = _in_notebook if "ipykernel" in sys.modules else _bar
        with shown(budget, done, opening) as report:
            yield report
    else:
        yield lambda _done, _budget: None


@contextmanager
def _bar(budget: int, done: int, opening: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        if opening:
            bar.console.print(opening, markup=False, highlight=False)
        task = bar.add_task("simulating", total=budget, completed=done)
        yield lambda now, _: bar.update(task, completed=now)


@contextmanager
def _in_notebook(budget: int, done: int, opening: str) -> Iterator[Progress]:
    """Yield a bar that is one output of its cell, renewed a few times a second."""
    from IPython.display import HTML, display

    def bar(now: int) -> object:
        words = f"{now:,} of {budget:,} replications"
        said = f"<br>{escape(opening)}" if opening else ""
        return HTML(f'<progress value="{now}" max="{budget}" aria-label="{words}"></progress> {words}{said}')

    handle, renewed = display(bar(done), display_id=True), time.monotonic()

    def report(now: int, _: int) -> None:
        nonlocal renewed
        if now >= budget or time.monotonic() - renewed > 0.3:
            handle.update(bar(now))
            renewed = time.monotonic()

    yield report


OnResult = Callable[[Trial, float], None]


def tracker(on_result: OnResult | None) -> OnResult:
    """Return the function to call with (trial, value); of its exceptions the first becomes a warning."""
    if on_result is None:
        return lambda _trial, _value: None
    if not callable(on_result):
        raise InputError(f"on_result={on_result!r} cannot be called; give a function of (trial, value).")
    troubles = 0

    def track(trial: Trial, value: float) -> None:
        nonlocal troubles
        try:
            on_result(trial, value)
        except Exception as error:
            troubles += 1
            if troubles == 1:
                said = f"on_result raised {type(error).__name__}: {error}, for {trial}"
                words = f"{said}. The result is kept and the run continues. Later errors are not shown."
                warnings.warn(words, OutageNotice, stacklevel=2)

    return track
