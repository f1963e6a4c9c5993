"""Progress of a run: a bar on standard error, or the caller's own function."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
        with _bar(budget, done, opening) as report:
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
