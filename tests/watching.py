"""Looking at processes from outside, as `/proc` shows them."""

import time
from collections.abc import Callable
from pathlib import Path


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def announced(folder: Path, n: int = 1) -> list[int]:
    assert eventually(lambda: len(list(folder.glob("*.pid"))) == n, 30.0)
    return [int(path.stem) for path in folder.glob("*.pid")]
