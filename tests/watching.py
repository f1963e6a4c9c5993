"""Looking at processes from outside, as `/proc` shows them."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 180.0  # seconds for what takes one: however busy the machine is, that says nothing about argbest


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def eventually(condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def announced(folder: Path, n: int = 1) -> list[int]:
    assert eventually(lambda: len(list(folder.glob("*.pid"))) == n)
    return [int(path.stem) for path in folder.glob("*.pid")]
