"""Running a study: ask, simulate, tell, until the budget is spent or a stop rule is met."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from argbest.checks import whole
from argbest.errors import InputError, SimulationError
from argbest.problems.base import Simulate
from argbest.study.progress import Progress, reporter
from argbest.study.stopping import Stop
from argbest.study.trial import record

if TYPE_CHECKING:
    from argbest.study.study import Study


def run(
    study: "Study",
    budget: int,
    *,
    progress: bool | Progress,
    stop: Stop | None,
) -> None:
    """Simulate until the study holds ``budget`` observations or ``stop``, asked at every refit, is met."""
    simulate = _ready(study, budget, stop)
    checked = -study.refit_every
    with reporter(progress, budget, study.n_observations) as report:
        while study.n_observations < budget:
            due = not study.n_waiting and study.n_observations - checked >= study.refit_every
            if stop is not None and due and study.n_observations:
                checked = study.n_observations
                if stop(study):
                    break
            _observe(study, simulate)
            report(study.n_observations, budget)


def _observe(study: "Study", simulate: Simulate) -> None:
    """Take in the value of one more trial; without a value the study is as if it had not been asked."""
    waiting = study.n_waiting
    [trial] = study.ask()
    reason = ""
    try:
        value = simulate(trial.alternative, trial.context, trial.seed)
        reason = f"it returned {value!r}, which is not one finite number"
        if isinstance(value, Sequence) or record(trial, value).n != 1:
            raise InputError("a simulator returns one number; lists of replications are for `tell`.")
    except BaseException as error:
        study._retract(trial, of_design=study.n_waiting < waiting)
        if not isinstance(error, Exception):
            raise
        raise SimulationError(
            f"the simulator failed on {trial} with seed {trial.seed}: "
            f"{reason or f'{type(error).__name__}: {error}'}. "
            "The observations so far are kept; fix the simulator and call `run` again. "
            "To skip this trial: study.fail(study.ask()[0], reason)."
        ) from error
    study.tell(trial, value)


def _ready(study: "Study", budget: int, stop: object) -> Simulate:
    """Return the simulator, after checking that the run can begin."""
    whole("budget", budget, at_least=1)
    if stop is not None and (isinstance(stop, type) or not callable(stop)):
        raise InputError(f"stop={stop!r} is no stop rule; give ExpectedPCS(0.95), say, or a function.")
    if study.problem.simulate is None:
        raise InputError(
            "this problem has no simulator to run; give Problem(simulate=...), or use `ask` and `tell`."
        )
    needed = study.n_observations + study.n_waiting
    if budget < needed and study.n_waiting:
        raise InputError(
            f"a budget of {budget} is below the {needed} observations of the initial design; raise it, "
            "or start smaller, for example Study(..., initial=1) or initial=RandomContexts(3)."
        )
    return study.problem.simulate
