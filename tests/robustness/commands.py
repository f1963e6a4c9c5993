"""The command `argbest` as a process of its own, and study files for it."""

import json
import os
import sys
from pathlib import Path

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "default"}
PLAIN = (
    "def simulate(alternative, context, seed):\n    return len(alternative) * context + seed % 1000 / 500\n"
)


def argbest(*arguments: object) -> list[str]:
    """Return the words of a command."""
    return [sys.executable, "-c", "from argbest.cli import main; main()", *map(str, arguments)]


def study_file(
    folder: Path,
    *,
    python: str | None = None,
    command: list[str] | None = None,
    budget: int | None = 30,
    study: str = "",
    run: str = "",
    simulator: str = "",
    storage: str = "",
) -> Path:
    """Write a study of 2 x 2 pairs; its simulator is a source in Python, or a command."""
    if command is None:
        (folder / "own.py").write_text(PLAIN if python is None else python)
    named = 'python = "own:simulate"' if command is None else f"command = {json.dumps(command)}"
    text = f"""
name = "small"
alternatives = ["x", "yy"]
contexts = [1, 2]
[simulator]
{named}
{simulator}
[study]
policy = "equal"
initial = 1
seed = 5
{study}
[run]
{"" if budget is None else f"budget = {budget}"}
{run}
{storage}
"""
    file = folder / "study.toml"
    file.write_text(text)
    return file
