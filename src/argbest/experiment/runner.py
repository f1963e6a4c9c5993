"""Running an experiment in parts, in this process or several; parts are kept, and not run again."""

import contextlib
import multiprocessing
import os
import pickle
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from argbest import streams
from argbest.checks import flag, whole
from argbest.errors import ArgbestError, InputError
from argbest.experiment import loop, measures
from argbest.experiment.results import ExperimentFolder, Results
from argbest.experiment.spec import Experiment
from argbest.simulators.process import postponed
from argbest.study.run_options import Progress, reporter

# Macro-replications in a part: enough to be quick, few enough to share among processors.
_MOST_IN_A_PART = 100
_MOST_NUMBERS = 2**19  # in the covariances of a part: beyond, more runs side by side gain nothing
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_POLL = 0.2  # seconds between two looks at the progress of other processes


class Part(NamedTuple):
    """Some macro-replications of one contender."""

    label: str
    numbers: range


Keep = Callable[[Part, pd.DataFrame], None]
Report = Callable[[int], None]  # takes how many replications are done
Frames = dict[str, list[pd.DataFrame]]


def run(
    experiment: Experiment,
    *,
    jobs: int = 1,
    out: str | Path | None = None,
    progress: bool | Progress = False,
    apart: bool = False,
) -> Results:
    """Return the results of an experiment.

    Several processes have one thread of linear algebra each, and their numbers are the same however many they
    are. One job runs in this process, with as many threads as NumPy was started with: its last digits may be
    others, and its seconds are those of all threads.

    Args:
        experiment: What to run.
        jobs: How many processes.
        out: A folder that keeps every finished part: the same experiment goes on from there, with as many
            macro-replications as it now asks for.
        progress: Whether a bar is shown; or what is called with (done, all) replications.
        apart: Whether one job gets a process of its own, as several do, unless OMP_NUM_THREADS=1 has been set
            and makes them equal anyway.
    """
    if not isinstance(experiment, Experiment):
        raise InputError(f"run() needs an Experiment, got {experiment!r}. Give Experiment(problem, ...).")
    jobs = whole("jobs", jobs, at_least=1, at_most=10**4)
    separate = jobs > 1 or (flag("apart", apart) and not _one_thread())
    folder = None if out is None else ExperimentFolder.at(out)
    for contender in experiment.contenders:
        loop.rehearse(experiment, contender)
    if separate:
        _check_portable(experiment)
    try:
        with contextlib.nullcontext() if folder is None else folder.taken():
            if folder is not None:
                folder.open(experiment, shlex.join(sys.argv))
            frames = _completed(experiment, folder, jobs if separate else 0, progress)
    except KeyboardInterrupt:
        state = "nothing is kept. Name a folder (--out, out=) to keep finished parts."
        if folder is not None:
            state = f"finished parts are kept in {str(folder.path)!r}. The same call continues there."
        raise KeyboardInterrupt(f"interrupted; {state}") from None
    models = {each.label: each.model_name for each in experiment.contenders}
    return Results(
        experiment.name, experiment.seed, models, measures.joined(frames, range(experiment.macroreps))
    )


def _completed(
    experiment: Experiment, folder: ExperimentFolder | None, processes: int, progress: bool | Progress
) -> Frames:
    """Return the stored runs, and all that were missing, simulated in other processes or in this one."""
    frames = _kept(experiment, folder)
    parts = [part for each in frames for part in missing(experiment, each, folder)]
    parts.sort(key=lambda part: part.numbers.start)  # so that all contenders advance alike

    def keep(part: Part, runs: pd.DataFrame) -> None:
        if folder is not None:
            folder.write(part.label, part.numbers, runs)
        frames[part.label].append(runs)

    total = experiment.replications * sum(len(part.numbers) for part in parts)
    with reporter(progress, max(total, 1)) as report:
        if processes and parts:
            _together(experiment, parts, keep, lambda done: report(done, total), processes)
        else:
            _serially(experiment, parts, keep, lambda done: report(done, total))
    return frames


def chunk_size(shape: tuple[int, int]) -> int:
    """Return how many macro-replications run side by side, by the size of the problem alone.

    The largest arrays are the covariances, K·C² numbers per run; a part needs about ten such arrays.
    """
    n_alternatives, n_contexts = shape
    return max(1, min(_MOST_IN_A_PART, _MOST_NUMBERS // (n_alternatives * n_contexts * max(shape))))


def missing(experiment: Experiment, label: str, folder: ExperimentFolder | None) -> list[Part]:
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


def _kept(experiment: Experiment, folder: ExperimentFolder | None) -> Frames:
    """Return what the folder already has of every contender."""
    labels = [each.label for each in experiment.contenders]
    if folder is None:
        return {label: [] for label in labels}
    looks = experiment.checkpoints
    return {label: [folder.read(label, part, looks) for part in folder.finished(label)] for label in labels}


def _serially(experiment: Experiment, parts: Sequence[Part], keep: Keep, report: Report) -> None:
    """Run the parts one after the other in this process."""
    done = 0

    def tick(replications: int) -> None:
        nonlocal done
        done += replications
        report(done)

    for part in parts:
        keep(part, run_part(experiment, part, tick))


def _together(experiment: Experiment, parts: Sequence[Part], keep: Keep, report: Report, jobs: int) -> None:
    """Run the parts in other processes; on an error or an interruption keep what is finished."""
    context = multiprocessing.get_context("spawn")
    done, stop = context.Value("q", 0), context.Event()
    with (
        _single_threaded(),
        ProcessPoolExecutor(min(jobs, len(parts)), context, _prepare, (experiment, done, stop)) as pool,
    ):
        waiting: dict[Future[pd.DataFrame], Part] = {}
        try:
            with _undisturbed():  # new processes inherit this, until they are ready for an interruption
                for part in parts:
                    waiting[pool.submit(_remote, part)] = part
            while waiting:
                wait(waiting, timeout=_POLL, return_when=FIRST_COMPLETED)
                _keep_finished(waiting, keep)
                report(done.value)
        except BaseException as error:
            stop.set()
            try:
                pool.shutdown(wait=True, cancel_futures=True)
            finally:  # also when it is interrupted once more
                with _undisturbed():
                    done_well = [f for f in waiting if f.done() and not f.cancelled() and not f.exception()]
                    _keep_finished({future: waiting[future] for future in done_well}, keep)
            if isinstance(error, BrokenProcessPool):
                raise ArgbestError(_BROKEN) from error
            raise


def _keep_finished(waiting: dict[Future[pd.DataFrame], Part], keep: Keep) -> None:
    """Store the parts that are done, and remove them from ``waiting``."""
    for future in [each for each in waiting if each.done()]:
        keep(waiting[future], future.result())
        del waiting[future]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C until the block is over; processes that are started in it ignore Ctrl-C."""
    masks = hasattr(signal, "pthread_sigmask") and threading.current_thread() is threading.main_thread()
    with postponed():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
        try:
            yield
        finally:
            if masks:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


_BROKEN = (
    "a process of the experiment ended by itself. If memory ran out, use fewer jobs. A script of your own "
    "must run the experiment under `if __name__ == '__main__':`, because every new process imports it."
)
_shared: dict[str, Any] = {}  # of a process that runs parts for another one


def _prepare(experiment: Experiment, done: Any, stop: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the first one tells the rest
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _shared.update(experiment=experiment, done=done, stop=stop)
    for contender in experiment.contenders:
        loop.rehearse(experiment, contender)  # loads compiled code now, so that no part is charged for it


def _remote(part: Part) -> pd.DataFrame:
    def tick(replications: int) -> None:
        if _shared["stop"].is_set():
            raise InterruptedError("the experiment was interrupted")
        with _shared["done"].get_lock():
            _shared["done"].value += replications

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


def _one_thread() -> bool:
    """Return whether the linear algebra of this process was told to use one thread."""
    usual = os.environ.get(_THREADS[0])
    return all(os.environ.get(name, usual) == "1" for name in _THREADS)


def _check_portable(experiment: Experiment) -> None:
    """Raise an InputError if other processes could not be started or not be sent the experiment."""
    script = sys.modules["__main__"]
    path = getattr(script, "__file__", None)
    if path is not None and getattr(script, "__spec__", None) is None and not os.path.exists(path):
        raise InputError(
            f"new processes import the script, and {str(path)!r} is not a file. Save the script as one, or "
            "use jobs=1."
        )
    try:
        content = pickle.dumps(experiment)
    except Exception as error:
        raise InputError(
            f"the experiment cannot be sent to other processes ({type(error).__name__}: {error}). Define its "
            "simulator, policies and models at the top level of a module, or use jobs=1."
        ) from error
    if path is None and b"__main__" in content:
        raise InputError(
            "the experiment uses what this session has defined, which other processes cannot import. Put its "
            "simulator, policies and models into a module (a .py file), or use jobs=1."
        )
