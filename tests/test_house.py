"""The shape of the house: what import-linter cannot see."""

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import argbest.models
import argbest.policies
from argbest.core import belief as beliefs
from argbest.models import base as models
from argbest.policies import base as policies

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def modules() -> dict[str, Path]:
    found = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in found.items()}


def imported_at_once(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that loading a file loads; imports inside functions wait until they are called."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{each.name}" for each in node.names]
            found |= {name if name in known else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found & known.keys()


def test_no_module_needs_itself_to_load() -> None:
    known = modules()
    graph = {name: imported_at_once(path, known) - {name} for name, path in known.items()}
    order = list(TopologicalSorter(graph).static_order())  # raises a CycleError where there is a cycle
    assert (
        order.index("argbest.errors")
        < order.index("argbest.core.belief")
        < order.index("argbest.study.study")
    )


def test_a_cycle_would_be_found(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text("from argbest import files\nfrom argbest.errors import InputError\nimport argbest.cli\n")
    assert imported_at_once(file, modules()) == {"argbest.files", "argbest.errors", "argbest.cli"}


def reached_from(module: str, graph: dict[str, set[str]]) -> set[str]:
    """Return all modules that loading one loads, by whatever way."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        news = graph[waiting.pop()] - found
        found |= news
        waiting += news
    return found


def walk_in_contributing() -> list[str]:
    """Return the modules on the walk of one value, in its order."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.partition("## The walk of one value")[2].partition("\n## ")[0]
    files = re.findall(r"\w+(?:/\w+)+\.py", section.split("```")[1])
    missing = [name for name in files if not (SOURCE / "argbest" / name).is_file()]
    assert missing == []
    return ["argbest." + name.removesuffix(".py").replace("/", ".") for name in files]


def against_the_walk(walk: list[str]) -> list[tuple[str, str]]:
    """Return who imports what comes later; only files of the core may be used by all others."""
    known = modules()
    graph = {name: imported_at_once(path, known) for name, path in known.items()}

    def in_core(module: str) -> bool:
        return module.startswith("argbest.core.")

    return [
        (earlier, later)
        for i, earlier in enumerate(walk)
        for later in walk[i + 1 :]
        if later in reached_from(earlier, graph) and (in_core(earlier) or not in_core(later))
    ]


def test_on_the_walk_of_one_value_nobody_imports_what_comes_later() -> None:
    walk = walk_in_contributing()
    ends = ["argbest.simulators.calling", "argbest.report.page.studies"]
    assert [walk[0], walk[-1]] == ends
    for core in ("tally", "belief", "question", "certificate"):
        assert f"argbest.core.{core}" in walk
    assert against_the_walk(walk) == []


def test_a_walk_the_wrong_way_would_be_found() -> None:
    back = against_the_walk(walk_in_contributing()[::-1])
    assert ("argbest.report.page.studies", "argbest.study.ledger") in back
    assert ("argbest.core.question", "argbest.core.belief") in back


def test_the_version_is_the_last_in_the_changelog_and_newer_than_those_that_messages_call_gone() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    released = re.search(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited is not None
    assert released is not None
    assert version == cited[1] == released[1]
    sources = "".join(path.read_text(encoding="utf-8") for path in modules().values())
    gone = {tuple(map(int, found.split("."))) for found in re.findall(r"of version (\d+\.\d+)", sources)}
    assert gone
    assert max(gone) < tuple(map(int, version.split(".")[:2]))


def names_in(node: ast.AST) -> set[str]:
    return {each.id if isinstance(each, ast.Name) else each.attr for each in ast.walk(node)
            if isinstance(each, ast.Name | ast.Attribute)}  # fmt: skip


def lookups(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of members looked up by name, and of classes that `isinstance` asks for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            asked = node.args[1]
            if node.func.id in ("getattr", "hasattr") and isinstance(asked, ast.Constant):
                yield node.lineno, str(asked.value)
            elif node.func.id == "isinstance":
                yield from ((node.lineno, name) for name in names_in(asked))


def test_what_beliefs_models_and_policies_offer_is_asked_for_by_protocols() -> None:
    every = (*beliefs.ABILITIES, *models.ABILITIES, *policies.ABILITIES)
    members = {name for each in every for name in (*vars(each), *vars(each).get("__annotations__", ()))}
    classes = {name for name in vars(beliefs) if name.endswith("Belief")} | {
        "AdditiveBelief",
        "FocusedBelief",
    }
    classes |= {*argbest.models.__all__, *argbest.policies.__all__}
    forbidden = {name for name in members if not name.startswith("_")} | classes
    assert {"plausible", "begin", "foremost", "BlockBelief", "GP"} <= forbidden
    found = [
        f"{module}:{line} {name}"
        for module, path in modules().items()
        for line, name in lookups(ast.parse(path.read_text(encoding="utf-8")))
        if name in forbidden
    ]
    assert found == []


def asked_for_by_protocol(trees: dict[str, ast.Module]) -> set[str]:
    """Return the members of all protocols that `offers` asks for, whatever offers them."""
    asked, members = set[str](), dict[str, set[str]]()
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "offers":
            asked |= names_in(node.args[-1])
        elif isinstance(node, ast.ClassDef):
            fields = [each.target.id for each in node.body
                      if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]  # fmt: skip
            methods = [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
            members[node.name] = {name for name in [*fields, *methods] if not name.startswith("_")}
    return {member for protocol in asked for member in members.get(protocol, ())}


def test_what_a_protocol_asks_for_is_never_looked_up_by_its_name() -> None:
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in modules().items()}
    members = asked_for_by_protocol(trees)
    assert {"plausible", "many", "numbers", "present", "within", "address", "missing"} <= members
    found = [
        f"{module}:{line} {name}"
        for module, tree in trees.items()
        for line, name in lookups(tree)
        if name in members - {"name"}  # a name is checked to be a text wherever users give one
    ]
    assert found == []


def test_such_a_lookup_would_be_found() -> None:
    written = "getattr(model, 'plausible', None)\nisinstance(belief, core.BlockBelief | GP)\nhasattr(a, b)"
    assert set(lookups(ast.parse(written))) >= {(1, "plausible"), (2, "BlockBelief"), (2, "GP")}


def test_the_page_on_extending_lists_what_models_and_policies_may_offer() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for ability in (*models.ABILITIES, *policies.ABILITIES):
        declared = {*vars(ability), *vars(ability).get("__annotations__", ())}
        rows = [line for line in page.splitlines() if line.startswith(f"| `{ability.__name__}` |")]
        assert len(rows) == 1, f"extending.md has {len(rows)} rows on {ability.__name__}"
        for member in (name for name in declared if not name.startswith("_")):
            assert f"`{member}" in rows[0], f"the row on {ability.__name__} does not name {member}"


def classes(found: dict[str, Path]) -> dict[str, list[str]]:
    """Return the modules that define a class of each name."""
    places: dict[str, list[str]] = {}
    for module, path in found.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module)
    return places


def test_a_name_means_one_class() -> None:
    every = classes(modules())
    assert every["Study"] == ["argbest.study.study"]
    assert {name: where for name, where in every.items() if len(where) > 1} == {}


def changed_behind_frozen(tree: Any, *, making: bool = False) -> Iterator[int]:
    """Yield the lines that write into an object past `frozen`, except where it is being made."""
    if isinstance(tree, ast.FunctionDef):
        making = tree.name in ("__init__", "__post_init__", "__setstate__")
    written: list[ast.expr] = []
    if isinstance(tree, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = tree.targets if isinstance(tree, ast.Assign) else [tree.target]
        written = [each.value for each in targets if isinstance(each, ast.Subscript)]
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
        changes = ("update", "pop", "setdefault", "clear", "popitem")
        written = [tree.func.value] if tree.func.attr in changes else []
    by_call = isinstance(tree, ast.Call) and ast.unparse(tree.func) == "object.__setattr__"
    by_dict = any(isinstance(each, ast.Attribute) and each.attr == "__dict__" for each in written)
    if (by_call or by_dict) and not making:
        yield tree.lineno
    for child in ast.iter_child_nodes(tree):
        yield from changed_behind_frozen(child, making=making)


# Where an object that nobody else holds yet is finished: a copy with another question, a problem that was
# read from a study or a file, options of a model for its `__post_init__`, an error about to be shown.
FINISHED_ELSEWHERE = {
    "argbest.problems.base",
    "argbest.study.definition",
    "argbest.studyfile.reading",
    "argbest.models.searched",
    "argbest.cli",
}


def test_nothing_is_changed_behind_frozen() -> None:
    found = {
        module
        for module, path in modules().items()
        if any(changed_behind_frozen(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == FINISHED_ELSEWHERE


def test_a_change_behind_frozen_would_be_found() -> None:
    written = "object.__setattr__(a, 'b', 1)\na.__dict__['b'] = 2\na.__dict__.update(b=3)\na['b'] = 4"
    assert list(changed_behind_frozen(ast.parse(written))) == [1, 2, 3]
    made = "def __post_init__(self):\n    object.__setattr__(self, 'b', 1)"
    assert list(changed_behind_frozen(ast.parse(made))) == []
