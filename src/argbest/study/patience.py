"""Patience: a storage that is out of reach is waited for, so that no simulation is lost to an outage."""

import math
import time
import warnings
from collections.abc import Callable
from typing import Protocol, TypeVar

from argbest.errors import OutageNotice, StorageError

PAUSES = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 60.0)  # seconds between attempts: three minutes in all

_T = TypeVar("_T")


class Tries(Protocol):
    """A way to do something that may not work at once."""

    def __call__(self, action: Callable[[], _T]) -> _T:
        """Return what the action returns."""


def at_once(action: Callable[[], _T]) -> _T:
    """Return what the action returns: no patience at all."""
    return action()


class Patience:
    """Tries again while a storage may come back; once it is over, every try is the only one."""

    def __init__(self) -> None:
        self.deaf = -math.inf  # when the storage was last found out of reach, by the monotonic clock
        self.in_vain = False  # the last try failed, and there is no other
        self._over = False

    def end(self) -> None:
        """Wait no more."""
        self._over = True

    def give_up(self) -> None:
        """Wait no more, and expect nothing of the storage."""
        self._over = self.in_vain = True

    def note(self, error: StorageError) -> None:
        """Take note that the storage could not be reached."""
        if error.transient:
            self.deaf = time.monotonic()

    def __call__(self, action: Callable[[], _T]) -> _T:
        """Return what the action returns, tried again after every trouble that may pass."""
        began: float | None = None
        for pause in (*PAUSES, None):
            try:
                found = action()
            except StorageError as error:
                self.note(error)
                if not error.transient or self._over or pause is None:
                    self.give_up()
                    raise
                if began is None:
                    began = time.monotonic()
                    _say(
                        f"{error.brief or error}; waiting for up to {sum(PAUSES):g} seconds. Nothing is lost."
                    )
                self._wait(pause)
            except Exception:
                _say_passed(began)
                raise
            else:
                self.in_vain = False
                _say_passed(began)
                return found
        raise AssertionError("unreachable: the last try returns or raises")

    def _wait(self, pause: float) -> None:
        try:
            time.sleep(pause)
        except BaseException:  # Ctrl-C: whoever has that much to do shall not be kept any longer
            self.give_up()
            raise


def _say_passed(began: float | None) -> None:
    if began is not None:
        _say(f"the storage can be reached again, after {time.monotonic() - began:.0f} seconds.")


def _say(words: str) -> None:
    warnings.warn(f"{time.strftime('%H:%M:%S')} {words}", OutageNotice, stacklevel=4)
