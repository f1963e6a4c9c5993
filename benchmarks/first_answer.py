"""Time the first answer on a fresh installation: a small study with defaults, nothing compiled before.

Prints the CPU seconds of a process that imports the library, runs `argbest.select` and asks for the
selections, with an empty folder for compiled code, and again with what the first one has left there. Half of
the studies share random numbers, so that both kinds of noise are fitted.

With ``--against COMMIT`` both versions take turns, and the ratio is printed.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import random, time
import argbest

def simulate(alternative, context, seed):
    return -((alternative - context) ** 2) + random.Random(seed).gauss(0.0, 0.3)

def apart(alternative, context, seed):
    return simulate(alternative, context, hash((alternative, context, seed)))

for program in (simulate, apart):
    study = argbest.select(program, [0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.3, 0.6, 0.9], budget=60)
    study.selection(), study.certificate()
    print(time.process_time(), flush=True)
"""


def seconds(source: Path, folder: str) -> list[float]:
    """Return the CPU seconds of a process after its first answer, and after one with other noise."""
    environment = os.environ | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": folder}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    return [float(line) for line in done.stdout.split()]


def turn(source: Path) -> dict[str, float]:
    """Return the CPU seconds of a fresh installation, and of a process after that."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = seconds(source, folder)
        later, _ = seconds(source, folder)
    return {"first answer": first, "and one with other noise": second, "the first of a later process": later}


@contextlib.contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Yield the sources of another version, in a worktree that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)  # noqa: S603
        try:
            yield tree / "src"
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)  # noqa: S603


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="COMMIT", help="compare with another version")
    parser.add_argument("--rounds", type=int, default=1, help="turns of each version; the least time counts")
    given = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        sources = {"now": ROOT / "src"}
        if given.against:
            sources = {given.against[:10]: stack.enter_context(checked_out(given.against))} | sources
        turns = [[turn(source) for source in sources.values()] for _ in range(given.rounds)]
    print(f"{'CPU seconds':30} " + " ".join(f"{name:>10}" for name in sources), flush=True)
    for what in turns[0][0]:
        least = [min(each[i][what] for each in turns) for i in range(len(sources))]
        ratio = f" {least[0] / least[1]:9.1f} times" if len(least) > 1 else ""
        print(f"{what:30} " + " ".join(f"{one:10.1f}" for one in least) + ratio)


if __name__ == "__main__":
    main()
