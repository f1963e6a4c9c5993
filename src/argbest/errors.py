"""Every error argbest raises on purpose. Messages say what came, what was expected, what to do."""

import difflib
import warnings
from collections.abc import Iterable


class ArgbestError(Exception):
    """The root of all errors raised by argbest."""


class InputError(ArgbestError, ValueError):
    """A definition or an argument cannot be used as given."""


class TooFewDataError(InputError):
    """A model or a policy needs more replications before it can say anything."""


class TrialError(ArgbestError, ValueError):
    """A trial is unknown, belongs to another study, or has been told already."""


class SimulationError(ArgbestError, RuntimeError):
    """The simulator raised, or returned something that is not a finite number."""


class FitError(ArgbestError, ArithmeticError):
    """A model could not be fitted to the data."""


class StorageError(ArgbestError, RuntimeError):
    """A study cannot be stored or read; everything acknowledged before is still there."""

    transient = False  # whether it may help to try again
    brief = ""  # what is wrong, in a few words


class StudyExistsError(StorageError):
    """A new study would take the place of one that is kept there."""


class Notice(UserWarning):
    """Something worth knowing, while the work goes on; commands show it as one line."""


class CompilationNotice(Notice):
    """Something is being compiled, or the result of compiling cannot be kept."""


class OutageNotice(Notice):
    """A storage is out of reach and waited for, or in reach again; or `on_result` raised."""


class VersionNotice(Notice):
    """A study of an older version is opened with something else in the place of what is gone."""


class SlowNotice(Notice):
    """A warning: an operation takes long, and continues."""


class DataNotice(Notice):
    """The data are unlike what models or pictures assume; answers are given all the same."""


class ExtrapolationNotice(Notice):
    """A prediction is asked for where nothing like it was simulated; the answer is given all the same."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InputError:
    """Return the error for a name that is not registered, with the nearest ones that are."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name).lower().replace("_", "-"), names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return InputError(f"unknown {kind} {name!r}; known are {', '.join(names)}.{hint}")


def warn_of_old_name(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn the caller's caller that a name still works, but only for one more version."""
    warnings.warn(f"{old} is now called {new}.", DeprecationWarning, stacklevel=stacklevel)
