"""Tables of a study file: their keys, and errors that name them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from argbest.errors import InputError, unknown_name

TOP = "the top of the file"
KEYS: dict[str, tuple[str, ...]] = {
    TOP: (
        *("name", "description", "goal", "reward", "reward_range", "problem"),
        *("alternatives", "contexts", "simulator", "study", "run", "cost", "storage"),
    ),
    "[alternatives]": ("labels", "grid", "rows", "file", "columns", "label", "categorical"),
    "[contexts]": ("labels", "grid", "rows", "file", "columns", "label", "categorical", "weights", "bounds"),
    "[simulator]": ("command", "python", "field", "timeout", "retries", "backoff", "folder", "environment"),
    "[study]": ("policy", "model", "initial", "seed", "refit_every", "common_random_numbers"),
    "[study] initial": ("random_contexts", "replace", "extreme_contexts"),
    "[run]": ("budget", "seconds", "workers", "batch", "confirm", "stop"),
    "[run] stop": ("rule", "target", "delta", "alpha", "contexts"),
    "[cost]": ("measured", "table", "alternatives", "contexts"),
    "[storage]": ("url", "name"),
}


def table(where: str, given: object) -> dict[str, Any]:
    """Return a table of a study file as a dict, all its keys known."""
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is {given!r}; expected a table with {', '.join(KEYS[where])}.")
    for key in given:
        if key not in KEYS[where]:
            elsewhere = [other for other, keys in KEYS.items() if key in keys]
            belongs = f" It belongs to {elsewhere[0]}." if elsewhere else ""
            raise InputError(f"{unknown_name(f'key of {where}', key, KEYS[where])}{belongs}")
    return dict(given)


def text(where: str, given: object) -> str:
    """Return a text that is not empty."""
    if not isinstance(given, str) or not given:
        raise InputError(f"{where} must be text, got {given!r}.")
    return given


@contextmanager
def within(where: str) -> Iterator[None]:
    """Have the errors raised here say which part of the file they are about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
