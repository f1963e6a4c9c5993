"""Running an experiment in parts, in this process or several; parts are kept, and not run again."""

import contextlib
import multiprocessing
import os
import pickle
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from argbest import streams
from argbest.checks import whole
from argbest.errors import ArgbestError, InputError
from argbest.experiment import loop, measures
from argbest.experiment.results import Results, joined
from argbest.experiment.spec import Experiment
from argbest.experiment.storage import Folder
from argbest.study.progress import Progress, reporter

_MOST = 50  # macro-replications in a part: enough to be quick, few enough to share among processors
_NUMBERS = 2**23  # in the covariances of a part, 64 MB; a step holds several arrays of that size
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_POLL = 0.2  # seconds between two looks at the progress of other processes


class Part(NamedTuple):
    """Some macro-replications of one contender."""

    label: str
    numbers: range


Keep = Callable[[Part, pd.DataFrame], None]


def run(
    experiment: Experiment,
    *,
    jobs: int = 1,
    out: str | Path | None = None,
    progress: bool | Progress = False,
) -> Results:
    """Return the results, from ``jobs`` processes; the numbers do not depend on how many.

    The folder ``out`` keeps every finished part: the same experiment goes on from there, with as many
    macro-replications as it now asks for. ``progress`` shows a bar, or is called with (done, all) samples.
    """
    jobs = whole("jobs", jobs, at_least=1)
    for contender in experiment.contenders:
        loop.rehearse(experiment, contender)
    if jobs > 1:
        _check_portable(experiment)
    folder = None if out is None else Folder(Path(out))
    if folder is not None:
        folder.open(experiment, shlex.join(sys.argv))
    frames = _kept(experiment, folder)
    parts = [part for each in frames for part in missing(experiment, each, folder)]

    def keep(part: Part, runs: pd.DataFrame) -> None:
        if folder is not None:
            folder.write(part.label, part.numbers, runs)
        frames[part.label].append(runs)

    total = experiment.samples * sum(len(part.numbers) for part in parts)
    try:
        with reporter(progress, max(total, 1)) as report:
            (_serially if jobs == 1 else _together)(experiment, parts, keep, report, jobs)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_farewell(folder)) from None
    models = {each.label: each.model_name for each in experiment.contenders}
    return Results(experiment.name, experiment.seed, models, joined(frames, range(experiment.macroreps)))


def chunk_size(shape: tuple[int, int]) -> int:
    """Return how many macro-replications run side by side, by the size of the problem alone.

    The largest arrays are the covariances, K·C² numbers per run; a part needs about ten such arrays.
    """
    n_alternatives, n_contexts = shape
    return max(1, min(_MOST, _NUMBERS // (n_alternatives * n_contexts * max(shape))))


def missing(experiment: Experiment, label: str, folder: Folder | None) -> list[Part]:
    """Return the parts of a contender still to run; they end at multiples of the chunk size."""
    size = chunk_size(experiment.first_problem().shape)
    done = {r for part in (folder.finished(label) if folder else []) for r in part}
    todo = [r for r in range(experiment.macroreps) if r not in done]
    cuts = [i for i in range(1, len(todo)) if todo[i] != todo[i - 1] + 1 or todo[i] % size == 0]
    groups = np.split(np.array(todo, np.int64), cuts) if todo else []
    return [Part(label, range(int(group[0]), int(group[-1]) + 1)) for group in groups]


def run_part(experiment: Experiment, part: Part, tick: loop.Tick) -> pd.DataFrame:
    """Return the scored runs of one part."""
    [contender] = [each for each in experiment.contenders if each.label == part.label]
    numbers = np.array(part.numbers, np.int64)
    trace = loop.trace(experiment, contender, numbers, tick)
    problems = experiment.problems(streams.roots(experiment.seed, numbers).tolist())
    return measures.scored(trace, problems, numbers, experiment.checkpoints, experiment.delta)


def _kept(experiment: Experiment, folder: Folder | None) -> dict[str, list[pd.DataFrame]]:
    """Return what the folder already has of every contender."""
    labels = [each.label for each in experiment.contenders]
    if folder is None:
        return {label: [] for label in labels}
    return {label: [folder.read(label, part) for part in folder.finished(label)] for label in labels}


def _serially(
    experiment: Experiment,
    parts: Sequence[Part],
    keep: Keep,
    report: Progress,
    jobs: int,  # noqa: ARG001
) -> None:
    total, done = experiment.samples * sum(len(part.numbers) for part in parts), 0

    def tick(samples: int) -> None:
        nonlocal done
        done += samples
        report(done, total)

    for part in parts:
        keep(part, run_part(experiment, part, tick))


def _together(experiment: Experiment, parts: Sequence[Part], keep: Keep, report: Progress, jobs: int) -> None:
    """Run the parts in other processes; on an error or an interruption keep what is finished."""
    total = experiment.samples * sum(len(part.numbers) for part in parts)
    context = multiprocessing.get_context("spawn")
    done, stop = context.Value("q", 0), context.Event()
    with (
        _single_threaded(),
        ProcessPoolExecutor(
            min(jobs, max(len(parts), 1)), context, _prepare, (experiment, done, stop)
        ) as pool,
    ):
        waiting: dict[Future[pd.DataFrame], Part] = {pool.submit(_remote, part): part for part in parts}
        try:
            while waiting:
                ready, _ = wait(waiting, timeout=_POLL, return_when=FIRST_COMPLETED)
                for future in ready:
                    keep(waiting.pop(future), future.result())
                report(done.value, total)
        except BaseException as error:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            for future, part in waiting.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    keep(part, future.result())
            if isinstance(error, BrokenProcessPool):
                raise ArgbestError(_BROKEN) from error
            raise


_BROKEN = (
    "a process of the experiment ended by itself. A script must call run() under "
    "`if __name__ == '__main__':`, for every new process imports it; else memory ran out: use fewer jobs."
)
_shared: dict[str, Any] = {}  # of a process that runs parts for another one


def _prepare(experiment: Experiment, done: Any, stop: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the first one tells the rest
    _shared.update(experiment=experiment, done=done, stop=stop)
    for contender in experiment.contenders:
        loop.rehearse(experiment, contender)  # loads what is compiled, so that it is nobody's time


def _remote(part: Part) -> pd.DataFrame:
    def tick(samples: int) -> None:
        if _shared["stop"].is_set():
            raise InterruptedError("the experiment was interrupted")
        with _shared["done"].get_lock():
            _shared["done"].value += samples

    return run_part(_shared["experiment"], part, tick)


@contextlib.contextmanager
def _single_threaded() -> Iterator[None]:
    """Let processes started here use one thread each: the matrices are small."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _check_portable(experiment: Experiment) -> None:
    try:
        pickle.dumps(experiment)
    except Exception as error:
        raise InputError(
            f"the experiment cannot be sent to other processes ({type(error).__name__}: {error}). Define its "
            "simulator, policies and models at the top level of a module, or use jobs=1."
        ) from error


def _farewell(folder: Folder | None) -> str:
    if folder is None:
        return "interrupted; nothing is kept. Name a folder (--out, out=) to keep finished parts."
    return f"interrupted; finished parts are kept in {str(folder.path)!r}. The same call goes on from there."
