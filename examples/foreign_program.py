"""A simulator that is not Python: a C program (or, without a compiler, awk) and a TOML study file.

    python examples/foreign_program.py --out inventory-study --budget 150

It copies examples/inventory into the folder, compiles the program, and then does what you would do by hand:

    cd inventory-study && argbest run study.toml

Nothing in the study file says that the program is written in C: any command that ends its output with a
number will do.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parent / "inventory"


def prepare(folder: Path, *, compiler: str | None = None) -> str:
    """Return in which language the program is, after making it and its study file in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("inventory.c", "inventory.awk", "inventory.sh", "study.toml"):
        shutil.copy(SOURCES / name, folder)
    if compiler is not None:
        command = [compiler, "-O2", "-o", "inventory", "inventory.c", "-lm"]
        subprocess.run(command, cwd=folder, check=True)  # noqa: S603 (the user's own compiler)
        return "C"
    if shutil.which("awk") is None:
        raise SystemExit("this example needs a C compiler (cc) or awk.")
    program = Path(shutil.copy(folder / "inventory.sh", folder / "inventory"))
    program.chmod(0o755)
    return "awk"


def main(arguments: list[str] | None = None) -> None:
    """Make the program, let `argbest run` do the study, and say how to go on."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("inventory-study"), help="folder of the study")
    parser.add_argument(
        "--budget", type=int, default=150, help="runs of the program; the first 60 are two each"
    )
    parser.add_argument("--compiler", default=shutil.which("cc"), help="C compiler; '' for the awk program")
    options = parser.parse_args(arguments)

    language = prepare(options.out, compiler=options.compiler or None)
    print(f"the simulator is written in {language}; argbest runs it {options.budget} times", flush=True)
    argbest = shutil.which("argbest", path=Path(sys.executable).parent) or "argbest"
    command = [argbest, "run", "study.toml", "--budget", str(options.budget), "--quiet"]
    subprocess.run(command, cwd=options.out, check=True)  # noqa: S603 (this very program)
    print(f"continue with: argbest resume {options.out / 'inventory.db'} --budget {2 * options.budget}")


if __name__ == "__main__":
    main()
