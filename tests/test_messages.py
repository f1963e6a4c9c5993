"""What people read in a shell names no call of Python."""

import ast
import re
from pathlib import Path

import argbest

SOURCE = Path(argbest.__file__).parent
CALL = re.compile(r"\b(?:study|Study)\.(?!db)[a-z_]+\b|(?<![\w.(])(?!P\()[A-Za-z_][\w.]*\((?!s\))[^)]*\)?")
# Messages that no command can cause: they are about arguments of Python functions.
IN_PYTHON_ALONE = {
    "core/allocation.py": {"separated(truth, delta)"},
    "experiment/runner.py": {"Experiment(problem, ...)", "run()"},
    "experiment/spec.py": {"Contender(policy, model)", "_()", "draw(_)", "draw(seed)"},
    "problems/base.py": {
        "Problem(..., noise_sd=number or table)",
        "Problem(..., truth=[alternative][context])",
        "simulate(alternative, context, seed)",
    },
    "problems/covid/parameters.py": {"Stay(mean, longest)"},
    "problems/design.py": {"ExtremeContexts(r)", "RandomContexts(m)", "SpaceFilling(n)"},
    "report/comparison.py": {"Results.summary()"},
    "report/notebook.py": {"study.plot"},
    "report/style.py": {"argbest.Study(...)", "argbest.Study.load(...)"},
    "simulators/ray.py": {"RayExecutor(ray)", "ray.init()", "ray.init(address=...)"},
    "storage/connections.py": {"exclusive()"},
    "study/__init__.py": {"Study.from_observations", "study.posthoc"},
    "study/limits.py": {"ExpectedPCS(0.95)"},
    "study/runner.py": {"study.ask", "study.fail"},
    "study/trial.py": {"tell(trial, [a, b, c])", "tell(trial, mean=a, variance=b, n=c)"},
    "theory.py": {"Problem(..., truth=[alternative][context], noise_sd=number or table)"},
}


def messages(path: Path) -> list[str]:
    """The sentences of a file, but for docstrings; what is filled in shows as "_"."""
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = {ast.get_docstring(each, clean=False) for each in ast.walk(tree) if isinstance(each, kinds)}
    parts = {id(part) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in each.values}
    texts = [_text(each) for each in ast.walk(tree) if id(each) not in parts]
    return [text for text in texts if ". " in f"{text} " and text not in docs]


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "_" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_message_of_a_command_names_a_call_of_python() -> None:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(
            ("testing/", "studyfile/starts/", "studyfile/example")
        ):  # for authors; what `init` writes
            continue
        if calls := {call for text in messages(path) for call in CALL.findall(text)}:
            found[name] = calls
    assert found == IN_PYTHON_ALONE
