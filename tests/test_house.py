"""The shape of the house: what import-linter cannot see."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


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
