"""What the coordinator does besides running the study: it keeps what it gives out, and says what is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from argbest.array.copy import WorkingCopy
from argbest.array.executor import FolderExecutor
from argbest.array.folder import Recipe
from argbest.errors import InputError
from argbest.simulators import stored
from argbest.simulators.calling import Job
from argbest.study.ledger import FAILED, TOLD
from argbest.study.study import Study

MOST_TASKS = 10_000


@contextmanager
def tasks_in(
    folder: Path, study: Study, copy: WorkingCopy, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the options of `Study.run` that have the tasks of a folder simulate."""
    simulator = stored.plain(study.problem.simulate)
    if simulator is None:
        raise InputError(
            "tasks cannot be sent this simulator; name a command or a Python function in a study file."
        )
    options = dict(options)
    recipe = Recipe(simulator, study.common_random_numbers, options.pop("timeout", None))
    kept = _Kept(study, copy)
    with FolderExecutor(folder, study.definition["id"], recipe, kept.publish) as executor:
        yield options | {"executor": executor, "workers": MOST_TASKS}


class _Kept:
    """Which replications are kept where the next coordinator will find them."""

    def __init__(self, study: Study, copy: WorkingCopy) -> None:
        self._study, self._copy = study, copy
        self._open: list[int] = []
        self._seen = 0

    def publish(self) -> list[Job]:
        """Return the replications that have ended since the last call, all of them kept now."""
        ledger = self._study._journal.ledger
        n = len(ledger.trials)
        self._open += range(self._seen, n)
        self._seen = n
        ended = [i for i in self._open if ledger.status(i) in (TOLD, FAILED)]
        self._open = sorted({*self._open} - {*ended})
        self._copy.publish()
        trials = (ledger.trials[i] for i in ended)
        return [(trial.alternative, trial.context, trial.seed) for trial in trials]
