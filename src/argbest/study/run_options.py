"""The options of a run: when it ends, rules that stop it earlier, its resources, how it reports progress."""

import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from argbest.checks import finite, flag, indifference_zone, not_negative, one_of, whole
from argbest.core.arrays import Array, BoolArray
from argbest.errors import InputError, OutageNotice, warn_of_old_name
from argbest.options import ALPHA
from argbest.study import assumptions, separations
from argbest.study.journal import BY_HAND, Journal
from argbest.study.ledger import Ledger
from argbest.study.trial import Trial

if TYPE_CHECKING:
    from argbest.study.study import Study
    from argbest.study.view import View

Stop: TypeAlias = Callable[["Study"], bool]
Progress: TypeAlias = Callable[[int, int], None]


class SaysWhatIsMissing(Protocol):
    """A stop rule that says what is still missing: once the initial design is in, a run simulates that alone.

    It is asked after every result; other rules are asked when the hyper-parameters are learned again.
    """

    def __call__(self, study: "Study") -> bool:
        """Return whether the run shall end."""

    def check(self, study: "Study") -> None:
        """Raise an InputError if a study can never meet this rule."""

    def missing(self, study: "Study") -> BoolArray:
        """Return the pairs that still need replications, [alternative, context]."""


OnResult: TypeAlias = Callable[[Trial, Any], None]  # a number, or a dict of them by response
_LARGEST = {"workers": 10**4, "batch": 10**7}
_RENEWED = 0.3  # seconds between two pictures of a bar in a notebook


def checked(given: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    """Return the options of a run without those that are None, their numbers checked.

    ``where`` is put before names in errors: "[run] " of a study file.
    """
    options = {name: value for name, value in given.items() if value is not None}
    for name in ("budget", "workers", "batch"):
        if name in options:
            whole(f"{where}{name}", options[name], at_least=1, at_most=_LARGEST.get(name))
    for name in ("seconds", "timeout"):
        if name in options:
            options[name] = finite(f"{where}{name}", options[name], above=0)
    confirm = not_negative(f"{where}confirm", options.get("confirm", 0.0), below=1)
    if confirm and "budget" not in options:
        raise InputError(f"{where}confirm is a share of a budget of replications; give budget too.")
    return options


def afford(
    budget: int | None,
    needed: int,
    *,
    named: str = "a budget of {} is",
    due: str = "the initial design",
    smaller: str = "choose a smaller initial design",
) -> None:
    """Refuse a budget that the ``needed`` replications of the initial design alone exceed."""
    if budget is not None and budget < needed:
        raise InputError(
            f"{named.format(budget)} below the {needed} replications of {due}; raise it, or {smaller}."
        )


@dataclass(frozen=True)
class RunEnd:
    """When a run ends: replications, seconds of simulation time, a stop rule; the share to confirm with."""

    budget: int | None
    seconds: float | None = None
    confirm: float = 0.0
    stop: Stop | None = None

    def __post_init__(self) -> None:
        if self.budget is None and self.seconds is None:
            raise InputError("a run needs a budget: of replications, of seconds, or both.")
        checked({"budget": self.budget, "seconds": self.seconds, "confirm": self.confirm})
        if self.stop is not None and (isinstance(self.stop, type) or not callable(self.stop)):
            raise InputError(
                f"stop={self.stop!r} is not a stop rule; give ExpectedPCS(0.95), say, or a function."
            )

    def done(self, ledger: Ledger) -> int:
        """Return how much of the budget is used: replications, or seconds where only these are given."""
        return ledger.n_replications if self.budget is not None else int(ledger.spent)

    def reached(self, now: "Ledger | View") -> bool:
        """Return whether the budget, or the simulation time, is spent."""
        spent = self.seconds is not None and now.spent >= self.seconds
        return spent or (self.budget is not None and now.n_replications >= self.budget)

    def trials_left(self, journal: Journal) -> int:
        """Return how many more trials the run may begin, those under way taken into account."""
        ledger, left = journal.ledger, math.inf
        under_way = [i for i, worker in ledger.held.items() if worker != BY_HAND]
        if self.budget is not None:
            left = self.budget - ledger.n_replications - len(under_way)
        if self.seconds is not None and ledger.spent + journal.expected_seconds(under_way) >= self.seconds:
            left = 0
        return int(min(left, 2**31))


@dataclass(frozen=True)
class Resources:
    """What a run simulates with."""

    workers: int | None = None
    executor: Executor | None = None
    batch: int = 1
    timeout: float | None = None
    on_failure: str = "raise"

    def __post_init__(self) -> None:
        checked({"workers": self.workers, "batch": self.batch, "timeout": self.timeout})
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise InputError(
                f"executor={self.executor!r} has no `submit`; give a concurrent.futures.Executor."
            )
        one_of("on_failure", self.on_failure, ("raise", "record"))


@dataclass(frozen=True)
class _TargetPCS:
    """A probability to reach, where within δ of the best counts as right.

    It is that of the answer to the study's question (`Study.answer`): of `Best` one per context.

    Args:
        target: The probability to reach.
        delta: How far from the best a selection may be and still count as right.
    """

    target: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        target = finite("the target probability", self.target, above=0, below=1)
        self.__dict__.update(target=target, delta=indifference_zone(self.delta))

    def __call__(self, study: "Study") -> bool:
        """Return whether the target is reached, counting only what `Study.doubts` does not object to."""
        certificate = study.view().answer_certificate(self.delta)
        claimed = self.combined(certificate.pcs, certificate.counted)
        if claimed < self.target:
            return False
        granted = self.combined(study._granted(self.delta), certificate.counted)
        if granted < self.target:
            study._warn_once(study.doubts().waiting(study.view(), self))
        return granted >= self.target

    def combined(self, pcs: Array, weights: Array) -> float:
        """Return the figure that is to reach the target, from those of the contexts; NaN: no answer.

        Args:
            pcs: The probability of being right in every context, [context].
            weights: How much each context counts, [context].
        """
        raise NotImplementedError


class ExpectedPCS(_TargetPCS):
    """Stop when Σ_c w_c P(selected within δ of the best) reaches the target.

    Of a question with one answer for all contexts that is the probability that the answer is right.
    """

    def combined(self, pcs: Array, weights: Array) -> float:
        """Return the weighted mean."""
        return float(np.where(weights > 0, pcs, 0.0) @ weights)


class WorstPCS(_TargetPCS):
    """Stop when min_c P(selected within δ of the best) reaches the target."""

    def combined(self, pcs: Array, weights: Array) -> float:
        """Return the least."""
        return float(np.nanmin(pcs))


@dataclass(frozen=True)
class OpportunityCost:
    """Stop when the expected opportunity cost Σ_c w_c E[best − selected] has fallen to the target.

    Of another question than `Best` that is the expected loss of its answer.

    Args:
        target: The loss to reach, in units of the reward.
    """

    target: float

    def __post_init__(self) -> None:
        self.__dict__.update(target=finite("the target opportunity cost", self.target, above=0))

    def __call__(self, study: "Study") -> bool:
        """Return whether the expected opportunity cost is at most the target, and nothing is in doubt."""
        certificate = study.view().answer_certificate()
        if certificate.eoc > self.target:
            return False
        if doubted := bool(np.any(study._granted(0.0) < certificate.pcs)):
            study._warn_once(study.doubts().waiting(study.view(), self))
        return not doubted


@dataclass(frozen=True)
class GuaranteedPCS:
    """Stop when the data alone, without a model, certify every selected alternative (`Study.guarantee`).

    Each is within δ of the best of its context, or better than all others if δ is 0; with limits it keeps
    them and the others are those that do, and where none is selected none does. A run with this rule asks it
    after every result, and once the initial design is in it simulates what the guarantee still needs.

    Args:
        alpha: One minus the confidence.
        delta: How far from the best a selection may be; 0: it must be the best.
        contexts: Whether that holds in "all" contexts at once, or in "each" by itself.
        assume: What is taken as given of the rewards, as in `Study.guarantee`.
    """

    alpha: float = ALPHA
    delta: float = 0.0
    contexts: str = "all"
    assume: str | None = None

    def __post_init__(self) -> None:
        alpha = finite("alpha", self.alpha, above=0, below=1)
        self.__dict__.update(alpha=alpha, delta=indifference_zone(self.delta))
        one_of("contexts", self.contexts, ("all", "each"))
        assumptions.named(self.assume)

    def __call__(self, study: "Study") -> bool:
        """Return whether every context is certified."""
        return not self.missing(study).any()

    def check(self, study: "Study") -> None:
        """Refuse a study of another question than the best of every context, or without what is assumed.

        Args:
            study: The study that is to stop.
        """
        view = study.view()
        if not view.asks_about_table:
            raise InputError(
                "GuaranteedPCS is about the best alternative of every context, and this study asks the "
                f"question {view.question.name!r}. Use ExpectedPCS or OpportunityCost, which are about its "
                "answer."
            )
        if view.problem.is_named:
            view.assumed(self.assume)

    def missing(self, study: "Study") -> BoolArray:
        """Return the pairs that still need replications, [alternative, context].

        Args:
            study: The study that is to stop.
        """
        view = study.view()
        in_all = self.contexts == "all"
        alpha = view.separations.generations.of_contexts(self.alpha) if in_all else self.alpha
        return separations.missing(view, alpha, self.delta, view.assumed(self.assume))


def __getattr__(name: str) -> Any:
    if name != "Guaranteed":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_of_old_name("Guaranteed", "GuaranteedPCS")
    return GuaranteedPCS


@contextmanager
def reporter(progress: bool | Progress, budget: int, done: int = 0, opening: str = "") -> Iterator[Progress]:
    """Yield the function to call with (done, budget) as simulations are done.

    ``opening`` is a line to print before the bar.
    """
    if callable(progress):
        yield progress
    elif flag("progress, where it is not a function of (done, budget),", progress):
        shown = _in_notebook if "ipykernel" in sys.modules else _bar
        with shown(budget, done, opening) as report:
            yield report
    else:
        yield lambda _done, _budget: None


def phase() -> str:
    """Return what a run is doing now, in a few words."""
    # Importing the module here would import Numba, which another thread may be doing at this moment.
    under_way = getattr(sys.modules.get("argbest.compilation"), "under_way", None)
    return (under_way() if under_way else "") or "simulating"


@contextmanager
def _bar(budget: int, done: int, opening: str) -> Iterator[Progress]:
    """Yield the function that moves a bar in a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Remaining
    from rich.text import Text

    class Phase(ProgressColumn):
        """What the run is doing, looked up whenever the bar is drawn, also before the first result."""

        def render(self, _task: object) -> Text:
            return Text(phase())

    columns = (Phase(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), Remaining())
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
        more = f"; {escape(doing)}" if (doing := phase()) != "simulating" else ""
        more += f"<br>{escape(opening)}" if opening else ""
        return HTML(f'<progress value="{now}" max="{budget}" aria-label="{words}"></progress> {words}{more}')

    handle, renewed, ended = display(bar(done), display_id=True), time.monotonic(), threading.Event()

    def report(now: int, _: int) -> None:
        nonlocal renewed, done
        done = now
        if now >= budget or time.monotonic() - renewed > _RENEWED:
            handle.update(bar(now))
            renewed = time.monotonic()

    def watch() -> None:
        shown = phase()
        while not ended.wait(_RENEWED):
            if (now := phase()) != shown:
                handle.update(bar(done))
                shown = now

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield report
    finally:
        ended.set()


def tracker(on_result: OnResult | None) -> OnResult:
    """Return the function to call with (trial, value); only its first exception becomes a warning."""
    if on_result is None:
        return lambda _trial, _value: None
    if not callable(on_result):
        raise InputError(f"on_result={on_result!r} cannot be called; give a function of (trial, value).")
    warned = False

    def track(trial: Trial, value: Any) -> None:
        nonlocal warned
        try:
            on_result(trial, value)
        except Exception as error:
            if not warned:
                warned = True
                raised = f"on_result raised {type(error).__name__}: {error}, for {trial}"
                words = f"{raised}. The result is kept and the run continues. Later errors are not shown."
                warnings.warn(words, OutageNotice, stacklevel=2)

    return track
