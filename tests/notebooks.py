"""Notebooks run in a kernel: `python tests/notebooks.py NOTEBOOK OUT` keeps what its cells show."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"


def code_cells(path: Path) -> list[dict[str, Any]]:
    """The cells with code, their sources and outputs as whole texts."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell | {"source": "".join(cell["source"])} for cell in cells if cell["cell_type"] == "code"]


def executed(path: Path, out: Path) -> list[dict[str, Any]]:
    """The cells after a run in a process of its own: kernels and event loops stay out of the tests'."""
    subprocess.run([sys.executable, __file__, path, out], check=True, timeout=900, capture_output=True)
    return code_cells(out)


def main(path: str, out: str) -> None:
    """Run the notebook, once more if that compiled and said so, and write it with its outputs."""
    import nbformat
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            notebook = nbformat.read(path, as_version=4)
            NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
            shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
            if not any("compiling" in out.get("text", "") for out in shown):
                break
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    nbformat.write(notebook, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
