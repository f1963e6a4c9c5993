"""What people read in a shell names no call of Python."""

import ast
import re
from pathlib import Path

import argbest

SOURCE = Path(argbest.__file__).parent
CALL = re.compile(r"\b(?:study|Study)\.(?!db)[a-z_]+\b|(?<![\w.(])(?!P\()[A-Za-z_][\w.]*\((?!s\))[^)]*\)?")
# In messages that no command can cause: they are about arguments of Python functions.
IN_PYTHON_ALONE = {
    *(
        "separated(truth, delta)",
        "Experiment(problem, ...)",
        "Experiment(..., replications=200)",
        "forecast(study, 100)",
        "run()",
        "Contender(policy, model)",
        "_()",
    ),
    *(
        "draw(_)",
        "draw(seed)",
        "Problem(..., noise_sd=number or table)",
        "simulate(alternative, context, seed)",
        "numpy.random.default_rng(seed)",
        "argbest.registry.problem(name)",
    ),
    *("Problem(..., truth=[alternative][context])", "Stay(mean, longest)", "Results.summary()", "study.plot"),
    *("ExtremeContexts(r)", "RandomContexts(m)", "SpaceFilling(n)", "argbest.Study(...)", "ray.init()"),
    *("argbest.Study.load(...)", "RayExecutor(ray)", "ray.init(address=...)", "exclusive()", "study.posthoc"),
    *("Study.from_observations", "ExpectedPCS(0.95)", "study.ask", "study.fail", "tell(trial, [a, b, c])"),
    *(
        "Population(table, n=...)",
        "Population(..., weights=)",
        "Problem(..., contexts=argbest.Population(...)",
    ),
    *("check_population(people=...)", "check_population()", "predict(people)"),
    "study.readmit",
    "take_over(problem)",
    "study.run",  # beside the commands that do the same
    "study.tell",
    "tell(trial, mean=a, variance=b, n=c)",
    "Problem(..., reward_range=(0, 1)",  # beside what to write in a study file
    "Problem(..., truth=[alternative][context], noise_sd=number or table)",
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
    elsewhere = ("testing", "starts", "example.py")  # for authors of policies; and what `init` writes
    paths = [path for path in SOURCE.rglob("*.py") if not {*path.parts} & {*elsewhere}]
    assert {
        call for path in paths for text in messages(path) for call in CALL.findall(text)
    } == IN_PYTHON_ALONE
