"""Policies and models given by name, with options: ``top-two:beta=0.3``, or a table with a ``name``."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

from argbest.errors import InputError, unknown_name

Given: TypeAlias = str | Mapping[str, Any]
POLICY = "dvr-loss"  # unless another is named: the winner of experiments/tournament.py
MODEL = "additive-gp"
ALPHA = 0.05  # probability of error of a guarantee


def parsed(kind: str, given: object) -> tuple[str, dict[str, Any]]:
    """Return the name and the options meant by NAME:OPTION=VALUE,... or by {"name": NAME, OPTION: value}."""
    if isinstance(given, Mapping):
        options = dict(given)
        name = options.pop("name", None)
        if not isinstance(name, str):
            raise InputError(f'{kind} {dict(given)!r} needs a name, such as name = "additive-gp".')
        return name, options
    if not isinstance(given, str):
        return given, {}  # type: ignore[return-value] # refused by whoever looks the name up
    name, _, rest = given.partition(":")
    options = {}
    for part in filter(None, rest.split(",")):
        option, equals, value = part.partition("=")
        if not equals or not option.strip():
            raise InputError(f"{kind} {given!r}: expected NAME:OPTION=VALUE,OPTION=VALUE, got {part!r}.")
        options[option.strip()] = _Text(value.strip())
    return name, options


def configured(kind: str, name: str, thing: Any, options: Mapping[str, Any]) -> Any:
    """Return a policy or a model with some options set; texts are read as what the option usually is."""
    if not options:
        return thing
    usual = {each.name: getattr(thing, each.name) for each in fields(thing)} if is_dataclass(thing) else {}
    for option in options:
        if option not in usual:
            if not usual:
                raise InputError(f"the {kind} {name!r} has no options; leave {option} out.")
            raise unknown_name(f"option of the {kind} {name!r}", option, usual)
    values = {option: _read(value, usual[option]) for option, value in options.items()}
    try:
        return replace(thing, **values)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{kind} {name!r} with {_shown(values)}: {error}.") from error


def segments(text: str) -> list[str]:
    """Return the names in A:B, each with the options that follow it: "a:x=1:b" is "a:x=1" and "b"."""
    names: list[str] = []
    for part in text.split(":"):
        if names and "=" in part:
            names[-1] += f":{part}"
        else:
            names.append(part)
    return names


class _Text(str):
    """A value from a command line, whose kind is not yet known."""


def _read(value: object, usual: object) -> object:
    if isinstance(usual, tuple):
        return tuple(value.split("+")) if isinstance(value, str) else value
    if isinstance(value, _Text):
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
        return {"true": True, "false": False}.get(value.lower(), str(value))
    return value


def _shown(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
