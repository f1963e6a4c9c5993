"""Progress of a run: a bar on standard error or in a notebook, or the caller's own function."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape

from argbest.checks import flag

Progress = Callable[[int, int], None]


@contextmanager
def reporter(progress: bool | Progress, budget: int, done: int = 0, opening: str = "") -> Iterator[Progress]:
    """Yield the function to call with (done, budget) as simulations are done.

    ``opening`` is a line to say before the bar.
    """
    if callable(progress):
        yield progress
    elif flag("progress, where it is no function of (done, budget),", progress):
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
