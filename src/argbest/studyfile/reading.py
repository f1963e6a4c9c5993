"""The study file: everything about a study in one TOML file, checked when it is read."""

import copy
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from argbest import registry
from argbest.checks import interval, one_of
from argbest.errors import InputError
from argbest.problems.base import Problem
from argbest.storage.address import shown
from argbest.studyfile import axes, shipped
from argbest.studyfile import options as file_options
from argbest.studyfile.options import TOP, Plain, run_options, table, text, within

_OF_PROBLEM = ("alternatives", "contexts", "simulator", "goal", "description", "reward", "reward_range")


@dataclass(frozen=True, eq=False)
class StudyFile:
    """What a study file says, ready for `Study(problem, **options)` and its `run(**run)`.

    Only what the file gives is in ``options`` and ``run``; the defaults are those of the calls.
    """

    path: Path
    problem: Problem  # with the simulator, if the file names one
    options: dict[str, Any]  # policy, model, initial, seed, refit_every, common_random_numbers, cost
    run: dict[str, Any]  # budget, seconds, workers, batch, confirm, stop, timeout
    storage: str | None  # the path of a file or the URL of a database
    name: str  # which study of that storage
    remarks: tuple[str, ...]  # worth telling the user, no errors
    _run: Plain

    def plain(self) -> Plain:
        """Return the options of the run as JSON-ready values; `run_options` turns them back."""
        return copy.deepcopy(self._run)


def read(path: str | os.PathLike[str]) -> StudyFile:
    """Return the study that a file describes; every error names the file and the key. Paths start there."""
    file = Path(path)
    content = _parsed(file)
    with within(file.name):
        return _study_file(file, table(TOP, content))


def _parsed(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(
            f"there is no study file {shown(file)!r}; `argbest init` writes an example."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {shown(file)!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file.name}: this is not UTF-8 text ({error}). Save it as UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error) or "nested too deep"
        raise InputError(f"{file.name}: this is not TOML: {reason}.") from error


def _study_file(file: Path, content: Mapping[str, Any]) -> StudyFile:
    folder = file.parent.resolve()
    problem, limit, remarks = _problem(content, folder, file.stem)
    options = file_options.study_options(content.get("study"), problem)
    cost = axes.cost(content.get("cost"), *problem.shape)
    plain = file_options.run_section(content.get("run"))
    if limit is not None:
        plain["timeout"] = limit
    _afford(plain, problem, options)
    storage, name = _storage(content.get("storage"), file.parent)
    return StudyFile(
        path=file,
        problem=problem,
        options=options if cost is None else options | {"cost": cost},
        run=run_options(plain),
        storage=storage,
        name=name,
        remarks=remarks,
        _run=plain,
    )


def _problem(
    content: Mapping[str, Any], folder: Path, stem: str
) -> tuple[Problem, float | None, tuple[str, ...]]:
    """Return the problem, the time limit of its simulator where argbest has to keep it, and remarks."""
    if "problem" in content:
        return _registered(content), None, ()
    for key in ("name", "description", "reward"):
        if key in content and not isinstance(content[key], str):
            raise InputError(f"{key} must be text, got {content[key]!r}.")
    goal = one_of("goal", content.get("goal", "max"), ("max", "min"))
    alternatives = axes.axis("alternative", content.get("alternatives"), folder)
    contexts = axes.axis("context", content.get("contexts"), folder)
    simulate, limit = file_options.simulator(content.get("simulator"), folder)
    limits = interval("reward_range", content["reward_range"]) if "reward_range" in content else None
    with within("[contexts]"):
        problem = Problem(
            alternatives.axis,
            contexts.axis,
            simulate,
            weights=contexts.weights,
            bounds=contexts.bounds,
            goal=goal,
            name=content.get("name") or stem,
            description=content.get("description", ""),
            reward=content.get("reward", "reward"),
            reward_range=limits,
        )
    return problem, limit, file_options.remarks(simulate, alternatives.axis, contexts.axis)


def _registered(content: Mapping[str, Any]) -> Problem:
    """Return a registered problem, whose simulator can be stored by name."""
    for key in _OF_PROBLEM:
        if key in content:
            raise InputError(f"problem and {key} exclude each other: a registered problem has its own {key}.")
    problem = copy.copy(registry.problem(text("problem", content["problem"])))
    simulate = shipped.simulator(content["problem"])
    problem.__dict__.update(simulate=simulate, name=text("name", content.get("name", problem.name)))
    return problem


def _afford(run: Plain, problem: Problem, options: Mapping[str, Any]) -> None:
    """Refuse a budget that the initial design alone exceeds."""
    if "budget" not in run:
        return
    needed = file_options.n_designed(problem, options, run["budget"])
    if run["budget"] < needed:
        raise InputError(
            f"[run] budget is {run['budget']}, below the {needed} replications of the initial design. "
            "Raise it, or lower [study] initial."
        )


def _storage(given: object, folder: Path) -> tuple[str | None, str]:
    """Return where the study is kept and its name there; paths start at the folder given."""
    if given is None:
        return None, "study"
    options = table("[storage]", {"url": given} if isinstance(given, str) else given)
    url = text("[storage] url", options.get("url"))
    return url if "://" in url else str(folder / url), text("[storage] name", options.get("name", "study"))
