"""Whatever is given, and wherever: an answer, or an error of argbest's own that says why."""

import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from fuzz import judge
from fuzz.judge import Room, command
from fuzz.rooms import ROOMS, faults
from fuzz.values import Draw

from argbest.errors import InputError

CASES = {  # some four hundred; `make fuzz` plays as many as it is told
    "problem": 80,
    "study": 70,
    "parts": 40,
    "at-once": 40,
    "study-file": 70,
    "table": 30,
    "lines": 6,
    "command": 20,
    "dear-command": 10,
}


@pytest.mark.parametrize("more", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROOMS)
def test_a_bad_input_leads_to_an_answer_or_to_an_error_of_argbest(
    name: str, more: bool, tmp_path: Path
) -> None:
    """Those after the first are played by the slow tests, three times as many."""
    cases = CASES[name]
    found = faults(ROOMS[name], cases if more else 0, 4 * cases if more else cases, tmp_path)
    assert not found, "\n\n".join(found[:5])


def _wrong(*_: object) -> None:
    raise ZeroDivisionError("one over nothing")


def _warning(*_: object) -> None:
    warnings.warn("invalid value", RuntimeWarning, stacklevel=1)


def _wordless(*_: object) -> None:
    raise InputError("")


def _endless(*_: object) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("play", "trouble"),
    [
        (_wrong, "ZeroDivisionError: one over nothing"),
        (_warning, "RuntimeWarning: invalid value"),
        (_wordless, "an error without words"),
        (_endless, "more than 0.1 s of CPU time"),
    ],
)
def test_a_fault_is_told_with_the_way_to_see_it_again(
    play: Callable[[Draw, Path, list[str]], None],
    trouble: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judge, "SECONDS", 0.1)
    [fault] = faults(Room("any", 9, play), 7, 1, tmp_path)
    assert trouble in fault
    assert fault.startswith("case 7 of any")
    assert fault.endswith("replay it with: make fuzz ROOM=any FIRST=7 CASES=1")


@pytest.mark.parametrize(
    "deed", [_wrong, lambda: click.echo("Traceback"), lambda: click.get_current_context().exit(3)]
)
def test_a_command_that_fails_in_its_own_way_is_a_fault(
    deed: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "main", click.Command("any", callback=deed))
    with pytest.raises((ZeroDivisionError, AssertionError), match="one over nothing|Traceback|exit code 3"):
        command([])


def test_a_refusal_is_no_fault(tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise InputError("got 3; expected 4.")

    assert faults(Room("any", 9, refuse), 0, 3, tmp_path) == []
