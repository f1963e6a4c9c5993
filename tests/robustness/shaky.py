"""A simulator that fails one time in five, in every way; other processes import it, so it imports little."""

import os
import signal
import time
from typing import Any

ALTERNATIVES, CONTEXTS = ["x", "yy", "zzz"], [0, 1, 2]
WAYS = ("raise", "hang", "nan", "garbage", "die")


def faulty(seed: int) -> str | None:
    """Return how the simulation of a seed fails, None if it does not: one in five fails."""
    number = seed * 0x9E3779B1 % 2**31
    return WAYS[number % 5] if number // 5 % 5 == 0 else None


def value(alternative: str, context: int, seed: int) -> float:
    return (len(alternative) - 2) * (context - 1.0) + (seed % 1000) / 500


def shaky(alternative: str, context: int, seed: int) -> Any:
    how = faulty(seed)
    if how == "raise":
        raise ValueError("no convergence")
    if how == "hang":
        time.sleep(600)
    if how == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    return {"nan": float("nan"), "garbage": "Segmentation fault"}.get(
        how or "", value(alternative, context, seed)
    )


def hole(alternative: str, context: int, seed: int) -> float:
    """Never works for one pair."""
    if (alternative, context) == ("yy", 2):
        raise ArithmeticError("singular")
    return value(alternative, context, seed)
