"""Functions at the top level of a module, for other processes to call: some behave, most do not."""

import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from argbest.simulators.calling import batched, vectorised

ENDLESS = "é" * 10**6


def reward(alternative: str, context: int, seed: int) -> float:
    return len(alternative) + 10.0 * context + seed / 1000


@batched
def reward_of_seeds(alternative: str, context: int, seeds: list[int]) -> list[float]:
    return [reward(alternative, context, seed) for seed in seeds]


@vectorised
def reward_of_jobs(alternatives: list[str], contexts: list[int], seeds: list[int]) -> list[float]:
    return [reward(*job) for job in zip(alternatives, contexts, seeds, strict=True)]


def pid() -> int:
    return os.getpid()


def after(seconds: float, value: Any) -> Any:
    time.sleep(seconds)
    return value


def after_as_simulator(alternative: str, context: int, seed: int) -> NoReturn:
    time.sleep(0.05)
    raise RuntimeError("late")


def die(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(600)


def leave(code: int) -> NoReturn:
    os._exit(code)


def give_up(code: int) -> NoReturn:
    sys.exit(code)


def crash() -> None:
    faulthandler.disable()  # no report in the middle of the tests' own
    ctypes.string_at(0)


def complain(text: str) -> NoReturn:
    raise ValueError(text)


def shout(alternative: object, context: object, seed: int) -> NoReturn:
    raise ValueError(ENDLESS)


class AwkwardError(Exception):
    """An exception that pickle writes but cannot read."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"awkward {a} {b}")


def complain_awkwardly() -> NoReturn:
    raise AwkwardError(1, 2)


def unsendable() -> object:
    return lambda: None


def interrupts_reach_me() -> bool:
    os.kill(os.getpid(), signal.SIGINT)
    return signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def compute(folder: str, kind: str) -> None:
    """Leave the number of this process in the folder and compute, for ever or with no thread switch."""
    Path(folder, f"{os.getpid()}.pid").touch()
    if kind == "never yields":
        ctypes.PyDLL(None).sleep(600)  # unlike CDLL it keeps the interpreter to itself
    while True:
        pass


def meet(folder: str, n: int) -> int:
    """Return the number of this process once so many have come to the folder."""
    Path(folder, f"{os.getpid()}.pid").touch()
    while len(list(Path(folder).glob("*.pid"))) < n:
        time.sleep(0.01)
    return os.getpid()


def start_another_and_hang(folder: str) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:  # noqa: S607
        Path(folder, f"{other.pid}.pid").touch()


def print_line(text: str) -> None:
    print(text)
    print(text.upper(), file=sys.stderr)
