"""Whether events make sense in the study that they are read from."""

from argbest.core.tally import LARGEST
from argbest.errors import StorageError
from argbest.storage.base import Asked, Begun, Designed, Event, Failed, Passed, Refit, Told
from argbest.storage.damage import BACKUP
from argbest.study.ledger import Ledger
from argbest.study.rows import OPEN

_LATEST = 9e9  # seconds since 1970: the year 2255


def check(event: Event, ledger: Ledger) -> None:
    """Refuse an event that this study can never have written: it would be taken for something else."""
    if not _sound(event, ledger):
        raise StorageError(f"what was never written stands among the events: {str(event)[:200]}. {BACKUP}")


def _sound(event: Event, ledger: Ledger) -> bool:
    if isinstance(event, Refit | Begun):
        return 0 <= event.n_records <= len(ledger.records)
    if not 0 <= event.time < _LATEST:
        return False
    if isinstance(event, Designed):
        return ledger.design is None and all(_inside(pair, ledger) for pair in event.pairs)
    if isinstance(event, Asked):
        inside = ledger.design is not None and _inside((event.alternative, event.context), ledger)
        return inside and event.seed >= 0 and 0 <= event.replication <= _most(ledger)
    if isinstance(event, Told | Failed | Passed) and not 0 <= event.trial < len(ledger.trials):
        return False
    if isinstance(event, Told | Failed) and (
        ledger.trials.columns["end"][event.trial] != OPEN or (event.seconds or 0.0) < 0
    ):
        return False
    return not isinstance(event, Told) or _value_is_sound(event)


def _most(ledger: Ledger) -> int:
    """Return the largest number that the next replication may have."""
    return len(ledger.trials) + ledger.first_free


def _inside(pair: tuple[int, int], ledger: Ledger) -> bool:
    rows, columns = ledger.problem.shape
    return 0 <= pair[0] < rows and 0 <= pair[1] < columns


def _value_is_sound(told: Told) -> bool:
    values = told.values
    if values is not None and (len(values) != told.n or not all(abs(each) <= LARGEST for each in values)):
        return False
    return told.n >= 1 and abs(told.mean) <= LARGEST and 0 <= told.m2 <= LARGEST**2
