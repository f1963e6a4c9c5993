"""Ctrl-C at a moment when it can be borne."""

import contextlib
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """Let an interruption wait until the block is over, so that nothing in it is left half done."""
    if threading.current_thread() is not threading.main_thread():  # no other is ever interrupted
        yield
        return
    waiting: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual or signal.SIG_DFL)
        if waiting and callable(usual):
            usual(waiting[0], None)
