"""The study file: everything about a study in one TOML file, checked when it is read."""

import copy
import itertools
import math
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from argbest import registry
from argbest.checks import affordable, finite, not_negative, one_of, within
from argbest.core.arrays import Array
from argbest.core.goals import Wanted
from argbest.errors import InputError
from argbest.posthoc import prior_runs
from argbest.problems.axis import Axis, Kind
from argbest.problems.base import Problem, declared_ranges, declared_rates
from argbest.problems.labels import declared
from argbest.problems.population import Population
from argbest.storage.opening import hiding_secrets
from argbest.study.definition import Options
from argbest.study.run_options import afford
from argbest.studyfile import options as file_options
from argbest.studyfile import shipped
from argbest.studyfile.options import TOP, Plain, run_options, table, text
from argbest.table_files import read_table

_DATABASE = b"SQLite format 3\0"  # how its files begin
_MOST_ROWS = 10**7  # of a grid
_FORMS = ("labels", "grid", "rows", "file", "population")
_OF_POPULATIONS = ("n", "seed")
_OF_PROBLEM = (
    *("alternatives", "contexts", "simulator"),
    *("goal", "limits", "price", "responses", "description", "reward", "unit", "reward_range", "rate"),
    "noise_sd",
)


@dataclass(frozen=True, eq=False)
class StudyFile:
    """What a study file says, ready for `Study(problem, **options)` and its `run(**run)`.

    Only what the file gives is in ``options`` and ``run``; the defaults are those of the calls.
    """

    path: Path  # the file
    problem: Problem  # with the simulator, if the file names one
    options: dict[str, Any]  # policy, model, initial, seed, refit_every, common_random_numbers, cost
    checked: Options  # what these are, policy and model made
    run: dict[str, Any]  # budget, seconds, workers, batch, confirm, stop, timeout
    storage: str | None  # the path of a file or the URL of a database
    name: str  # which study of that storage
    remarks: tuple[str, ...]  # worth telling the user, no errors
    _run: Plain

    def plain(self) -> Plain:
        """Return the options of the run as JSON-ready values; `run_options` turns them back."""
        return copy.deepcopy(self._run)


def read(path: str | os.PathLike[str], *, earlier: str | os.PathLike[str] | None = None) -> StudyFile:
    """Return the study that a file describes; every error names the file and the key.

    Args:
        path: The study file; relative paths in it start at its folder.
        earlier: A table of prior runs that takes the place of what the file says of them.
    """
    file = Path(path)
    content = _parsed(file)
    if earlier is not None:
        content["prior_runs"] = {"file": str(Path(earlier).resolve())}
    with within(file.name):
        return _study_file(file, table(TOP, content))


def _parsed(file: Path) -> dict[str, Any]:
    try:
        content = file.read_bytes()
        if content.startswith(_DATABASE):
            again = f"argbest resume {shlex.quote(hiding_secrets(file))}"
            raise InputError(f"{file.name} is a stored study, not a study file. To continue it: {again}")
        return tomllib.loads(content.decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(
            f"there is no study file {hiding_secrets(file)!r}; `argbest init` writes an example."
        ) from None
    except OSError as error:
        raise InputError(f"cannot read {hiding_secrets(file)!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file.name}: this is not UTF-8 text ({error}). Save it as UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error) or "nested too deep"
        raise InputError(f"{file.name}: this is not TOML: {reason}.") from error


def _study_file(file: Path, content: Mapping[str, Any]) -> StudyFile:
    folder = file.parent.resolve()
    problem, limit, remarks = _problem(content, folder, file.stem)
    problem, notes = _beginning_with(problem, content.get("prior_runs"), folder)
    options = file_options.study_options(content.get("study"))
    checked = Options.read(problem, **options, where="[study] ")
    cost = _cost(content.get("cost"), *problem.shape)
    plain = {} if content.get("run") is None else table("[run]", content["run"])
    if limit is not None:
        plain["timeout"] = limit
    run = run_options(plain)
    needed = checked.n_designed(run.get("budget"))
    afford(run.get("budget"), needed, named="[run] budget is {},", smaller="lower [study] initial")
    storage, name = _storage(content.get("storage"), file.parent)
    return StudyFile(
        path=file, problem=problem, options=options if cost is None else options | {"cost": cost}, run=run,
        checked=checked, storage=storage, name=name, remarks=(*remarks, *notes), _run=plain,
    )  # fmt: skip


def _problem(
    content: Mapping[str, Any], folder: Path, stem: str
) -> tuple[Problem, float | None, tuple[str, ...]]:
    """Return the problem, the time limit of its simulator where argbest has to keep it, and remarks."""
    if "problem" in content:
        return _registered(content), None, ()
    for key in ("name", "description", "reward"):
        if key in content and not isinstance(content[key], str):
            raise InputError(f"{key} must be text, got {content[key]!r}.")
    wanted = _wanted(content)
    alternatives = _axis("alternative", content.get("alternatives"), folder)
    contexts = _axis("context", content.get("contexts"), folder)
    simulate, limit = file_options.simulator(content.get("simulator"), folder, wanted.named)
    rate = declared_rates(content.get("rate", False), wanted.responses)
    ranges = declared_ranges(content.get("reward_range"), rate, wanted.responses)
    noise = content.get("noise_sd")
    if isinstance(noise, Mapping):
        noise = {name: not_negative(f"noise_sd of {name}", each) for name, each in noise.items()}
    elif noise is not None:
        noise = not_negative("noise_sd", noise)
    with within("[contexts]"):
        problem = Problem(
            alternatives.axis, contexts.axis, simulate, weights=contexts.weights, bounds=contexts.bounds,
            goal=str(wanted.goal), limits=wanted.limits, price=wanted.price,
            responses=wanted.responses or None, name=content.get("name") or stem,
            description=content.get("description", ""), reward=content.get("reward", "reward"),
            unit=content.get("unit"), reward_range=ranges, rate=rate, noise_sd=noise,
        )  # fmt: skip
    return problem, limit, file_options.remarks(simulate, alternatives.axis, contexts.axis)


def _beginning_with(problem: Problem, given: object, folder: Path) -> tuple[Problem, list[str]]:
    """Return the problem with the prior runs of a file, if it names some, and remarks on them."""
    if given is None:
        return problem, []
    options = table("[prior_runs]", {"file": given} if isinstance(given, str) else given)
    source = None if "source" not in options else text("[prior_runs] source", options["source"])
    with within("[prior_runs]"):
        runs, notes = prior_runs.read(
            problem, read_table(folder / text("file", options.get("file"))), source=source
        )
    return problem.beginning_with(runs), notes


def _wanted(content: Mapping[str, Any]) -> Wanted:
    """Return what the file says of responses, goal and limits."""
    found = {key: content[key] for key in Wanted._fields if key in content}
    for key, example in (("limits", '["late <= 0.05"]'), ("responses", '["cost", "late"]')):
        if key in found and not isinstance(found[key], list):
            raise InputError(f"{key} must be a list of texts, such as {key} = {example}; got {found[key]!r}.")
    return Wanted.read(**found)


def _registered(content: Mapping[str, Any]) -> Problem:
    """Return a registered problem, whose simulator can be stored by name."""
    for key in _OF_PROBLEM:
        if key in content:
            raise InputError(f"problem and {key} exclude each other: a registered problem has its own {key}.")
    problem = copy.copy(registry.problem(text("problem", content["problem"])))
    simulate = shipped.simulator(content["problem"])
    problem.__dict__.update(simulate=simulate, name=text("name", content.get("name", problem.name)))
    return problem


def _storage(given: object, folder: Path) -> tuple[str | None, str]:
    """Return where the study is kept and its name there; paths start at the folder given."""
    if given is None:
        return None, "study"
    options = table("[storage]", {"url": given} if isinstance(given, str) else given)
    url = text("[storage] url", options.get("url"))
    return url if "://" in url else str(folder / url), text("[storage] name", options.get("name", "study"))


class _Given(NamedTuple):
    """An axis with what the file says of it."""

    axis: Axis
    weights: object
    bounds: object


def _axis(kind: Kind, given: object, folder: Path) -> _Given:
    """Return the alternatives or contexts of a study file.

    They are a list of labels or of tables, or a table with one of ``labels``, ``rows`` (a list of tables),
    ``grid`` (columns, every combination of their values, the last column changing fastest), ``file`` (CSV,
    Parquet or Excel).
    Contexts may be a ``population``: a file with a row per person, of whom ``n`` are drawn by ``seed``.
    ``columns`` selects columns of rows or of a file, ``label`` names the column that holds the labels;
    ``categorical`` lists columns whose numbers are names, not amounts (of plain labels: the kind itself);
    ``weights`` are numbers in order or the name of a column, ``bounds`` pairs by column or one pair.
    """
    where = f"[{kind}s]"
    if given is None:
        raise InputError(
            f"the file has no {where}; give for example {kind}s = ['a', 'b'], or a {where} table."
        )
    if isinstance(given, list):
        given = {"labels" if not any(isinstance(entry, dict) for entry in given) else "rows": given}
    options = table(where, given)
    forms = [form for form in _FORMS if form in options]
    if len(forms) != 1:
        raise InputError(f"{where} has {' and '.join(forms) or 'none of them'}; expected one of {_FORMS}.")
    with within(where):
        people = [key for key in _OF_POPULATIONS if key in options]
        if people and forms[0] != "population":
            raise InputError(f"{people[0]} belongs to a population; there is none. Leave it out.")
        entries, weights = _entries(kind, forms[0], options, folder)
        (found,) = declared([Axis.of(kind, entries)], options.get("categorical", []))
        return _Given(found, weights, options.get("bounds"))


def _cost(given: object, alternatives: int, contexts: int) -> Array | str | None:
    """Return "measured", or the cost of a replication [alternative, context]; None without a word on it.

    [cost] has ``measured = true``, or a ``table``, or numbers per alternative, per context or both, which
    are multiplied then.
    """
    if given is None or given == "measured":
        return "measured" if given else None
    options = table("[cost]", given)
    exclusive = [key for key in ("measured", "table") if key in options]
    if not options or (exclusive and len(options) > 1):
        raise InputError(
            f"[cost] has {' and '.join(options) or 'no key'}; expected measured = true, a table, or numbers "
            "for alternatives, contexts or both."
        )
    if "measured" in options:
        if options["measured"] is not True:
            raise InputError(f"[cost] measured must be true, got {options['measured']!r}; or leave it out.")
        return "measured"
    if "table" in options:
        rows = _list("[cost] table", options["table"], alternatives)
        return np.array(
            [_positive(f"[cost] table, row {i + 1},", row, contexts) for i, row in enumerate(rows)]
        )
    sizes = {"alternatives": alternatives, "contexts": contexts}
    factors = [
        _positive(f"[cost] {key}", options[key], size) if key in options else np.ones(size)
        for key, size in sizes.items()
    ]
    return np.multiply.outer(*factors)


def _entries(kind: Kind, form: str, options: Mapping[str, Any], folder: Path) -> tuple[object, object]:
    """Return what `Axis.of` takes, and the weights."""
    weights = options.get("weights")
    if form == "population":
        return _population(options, folder)
    extra = [key for key in ("columns", "label") if key in options and form not in ("rows", "file")]
    if extra or (isinstance(weights, str) and form not in ("rows", "file")):
        raise InputError(f"{(extra or ['weights'])[0]} names columns of rows or of a file; there are none.")
    if form == "labels":
        return options[form], weights
    if form == "grid":
        return _crossed(options[form]), weights
    if form == "rows":
        frame = pd.DataFrame(Axis.of(kind, options[form]).columns, dtype=object)
    else:
        frame = _file(folder / text("file", options[form]))
    return _selected(frame, options)


def _population(options: Mapping[str, Any], folder: Path) -> tuple[Axis, Array]:
    """Return the people that are drawn from the table of a file, and their weights."""
    if "label" in options:
        raise InputError("label names contexts; people of a population have none. Leave it out.")
    weights = options.get("weights")
    if weights is not None and not isinstance(weights, str):
        raise InputError(f"weights of a population name a column of its file; got {weights!r}.")
    chosen, numbers = _selected(_file(folder / text("population", options["population"])), options)
    size = {name: options[name] for name in _OF_POPULATIONS if name in options}
    return Population(chosen, weights=numbers, **size).drawn()


def _crossed(given: object) -> list[dict[str, Any]]:
    """Return every combination of the columns' values."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"grid must be a table of columns, such as grid.servers = [3, 4, 5]; got {given!r}.")
    for name, values in given.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"grid.{name} must be a list of values, got {values!r}.")
    affordable("the grid has rows", math.prod(map(len, given.values())), _MOST_ROWS)
    return [dict(zip(given, row, strict=True)) for row in itertools.product(*given.values())]


def _file(path: Path) -> pd.DataFrame:
    """Return the table in a file, which has something in every cell."""
    frame = read_table(path)
    names = list(frame.columns)
    if len(set(names)) < len(names):
        raise InputError(f"the file {str(path)!r} has the columns {names}; give each its own name.")
    gaps = np.argwhere(frame.isna().to_numpy())
    if len(gaps):
        row, column = gaps[0]
        raise InputError(f"row {row + 1} of the file {str(path)!r} has no {names[column]}. Complete it.")
    return frame.astype(object)


def _selected(frame: pd.DataFrame, options: Mapping[str, Any]) -> tuple[object, object]:
    """Return the columns asked for, indexed by the labels if there are any, and the weights."""
    weights = options.get("weights")
    label = options.get("label")
    roles = [name for name in (weights, label) if isinstance(name, str)]
    names = options.get("columns", [name for name in frame.columns if name not in roles])
    if not isinstance(names, list):
        raise InputError(f"columns must be a list of names, got {names!r}.")
    for name in (*names, *roles, *([] if label is None else [label])):
        one_of("column", name, frame.columns)
    if isinstance(weights, str):
        weights = frame[weights].tolist()
    if not names and label is not None:
        return frame[label].tolist(), weights
    chosen = frame[names]
    return (chosen if label is None else chosen.set_index(pd.Index(frame[label]))), weights


def _list(where: str, given: object, size: int) -> Sequence[Any]:
    if not isinstance(given, list) or len(given) != size:
        got = f"{len(given)} entries" if isinstance(given, list) else repr(given)
        raise InputError(f"{where} must be a list of {size} entries, got {got}.")
    return given


def _positive(where: str, given: object, size: int) -> Array:
    return np.array([finite(f"every entry of {where}", each, above=0) for each in _list(where, given, size)])
