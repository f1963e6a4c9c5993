"""Tables of a study file, their keys and errors: the simulator, the options of the study and of its run."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from argbest import simulators
from argbest.checks import finite, flag, indifference_zone, within
from argbest.errors import InputError, VersionNotice, unknown_name
from argbest.models import retired
from argbest.problems.axis import Axis
from argbest.problems.design import AUTO, ExtremeContexts, RandomContexts, design, is_auto
from argbest.simulators.function import Function
from argbest.simulators.program import Program
from argbest.study.run_options import ExpectedPCS, GuaranteedPCS, OpportunityCost, Stop, WorstPCS, checked

TOP = "the top of the file"
KEYS: dict[str, tuple[str, ...]] = {
    TOP: (
        *("name", "description", "problem", "goal", "limits", "price", "responses"),
        *("reward", "unit", "reward_range", "rate", "noise_sd"),
        *("alternatives", "contexts", "simulator", "prior_runs", "study", "run", "cost", "storage"),
    ),
    "[alternatives]": ("labels", "grid", "rows", "file", "columns", "label", "categorical"),
    "[contexts]": (
        *("labels", "grid", "rows", "file", "population", "columns", "label", "categorical"),
        *("weights", "bounds", "n", "seed"),
    ),
    "[simulator]": ("command", "python", "field", "timeout", "retries", "backoff", "folder", "environment"),
    "[prior_runs]": ("file", "source"),
    "[study]": ("question", "policy", "model", "initial", "seed", "refit_every", "common_random_numbers"),
    "[study] initial": ("random_contexts", "replace", "extreme_contexts"),
    "[run]": ("budget", "seconds", "workers", "batch", "confirm", "stop"),
    "[run] stop": ("rule", "target", "delta", "alpha", "contexts", "assume"),
    "[cost]": ("measured", "table", "alternatives", "contexts"),
    "[storage]": ("url", "name"),
}
Plain: TypeAlias = dict[str, Any]
_OF_PROGRAMS = ("field", "retries", "backoff", "environment")
_STOPS: dict[str, type[ExpectedPCS | WorstPCS | OpportunityCost | GuaranteedPCS]] = {
    "expected-pcs": ExpectedPCS,
    "worst-pcs": WorstPCS,
    "opportunity-cost": OpportunityCost,
    "guaranteed": GuaranteedPCS,
}
_RULE_OPTIONS = {rule: tuple(field.name for field in fields(kind)) for rule, kind in _STOPS.items()}


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


def simulator(
    given: object, folder: Path, responses: Sequence[str] = ()
) -> tuple[Program | Function | None, float | None]:
    """Return the simulator of a study file, None without one, and the time limit of a Python function.

    A program reads the ``responses`` named, one number without any.

    Programs run in the folder of the file and functions are looked up there, unless ``folder`` names another.
    """
    if given is None:
        return None, None
    options = table("[simulator]", given)
    if ("command" in options) == ("python" in options):
        raise InputError("[simulator] needs either command = [...] or python = 'module:function'.")
    at = folder / text("[simulator] folder", options.get("folder", "."))
    if not at.is_dir():
        raise InputError(f"[simulator] folder: there is no folder {str(at)!r}. Make it, or correct the path.")
    options["folder"] = str(at.resolve())
    with within("[simulator]"):
        if "command" in options:
            return simulators.reading(Program.from_plain(options), responses), None
        for key in _OF_PROGRAMS:
            if key in options:
                raise InputError(f"{key} is for programs (command = [...]), not for Python functions.")
        timeout = options.pop("timeout", None)
        function = Function.from_plain(options)
        _ = function.target  # imported now, so that a mistake costs no simulation
        return function, None if timeout is None else finite("timeout", timeout, above=0)


def remarks(simulate: Program | Function | None, alternatives: Axis, contexts: Axis) -> tuple[str, ...]:
    """Return what is worth telling of a simulator, after refusing one that does not fit the problem."""
    if not isinstance(simulate, Program):
        return ()
    with within("[simulator] command"):
        return simulate.check(
            *([axis.item(i) for i in range(len(axis))] for axis in (alternatives, contexts))
        )


def study_options(given: object) -> dict[str, Any]:
    """Return the options of `Study` that a study file gives."""
    options = {} if given is None else table("[study]", given)
    if instead := retired.successor(options.get("model")):
        words = f"the model {options['model']} of version 0.1 is gone; {instead} takes its place."
        warnings.warn(words, VersionNotice, stacklevel=2)
        options["model"] = instead
    if "initial" in options:
        with within("[study] initial"):
            options["initial"] = _initial(options["initial"])
    return options


def run_options(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `Study.run` that `StudyFile.plain` described."""
    options = checked(plain, "[run] ")
    if "stop" in options:
        options["stop"] = _stop(options["stop"])
    return options


def _stop(given: object) -> Stop:
    options = table("[run] stop", given)
    rule = options.pop("rule", None)
    if rule not in list(_STOPS):
        raise unknown_name("[run] stop rule", rule, _STOPS)
    if "target" not in options and rule != "guaranteed":
        raise InputError("[run] stop needs a target, for example { rule = 'expected-pcs', target = 0.95 }.")
    for key in options:
        if key not in _RULE_OPTIONS[rule]:
            raise InputError(
                f"[run] stop: {rule} takes {' and '.join(_RULE_OPTIONS[rule])}; leave {key} out."
            )
    with within("[run] stop"):
        indifference_zone(options.get("delta", 0.0))
        return _STOPS[rule](**options)


def rule_in_words(rule: Stop) -> str:
    """Return a stop rule as `--stop` takes it, expected-pcs:target=0.95; usual options are left out."""
    name = next((name for name, kind in _STOPS.items() if isinstance(rule, kind)), None)
    if name is None:
        return "that was given"
    said = [(each.name, getattr(rule, each.name), each.default) for each in fields(_STOPS[name])]
    options = ",".join(f"{key}={value}" for key, value, usual in said if value != usual)
    return f"{name}:{options}" if options else name


def _initial(given: object) -> object:
    """Return what `Study` takes as its initial design."""
    if is_auto(given):
        return AUTO
    if not isinstance(given, Mapping):
        design(given)
        return given
    options = table("[study] initial", given)
    if set(options) == {"extreme_contexts"}:
        return ExtremeContexts(options["extreme_contexts"])
    if "random_contexts" in options and "extreme_contexts" not in options:
        return RandomContexts(
            options["random_contexts"], replace=flag("replace", options.get("replace", False))
        )
    raise InputError(f"got {given!r}; expected random_contexts = NUMBER or extreme_contexts = REPLICATIONS.")
