"""All kinds of cases; run as a script, it plays as many as one likes: ROOM|all FIRST CASES."""

import sys
import tempfile
import time
from pathlib import Path

from fuzz import api, commands, files
from fuzz.judge import Room

_PLAYS = {
    "problem": api.problem,
    "study": api.study,
    "parts": api.parts,
    "at-once": api.at_once,
    "study-file": files.study_file,
    "table": files.table,
    "lines": files.lines,
    "command": commands.any_command,
    "dear-command": commands.dear_command,
}
ROOMS = {name: Room(name, number, play) for number, (name, play) in enumerate(_PLAYS.items())}


def faults(room: Room, first: int, cases: int, folder: Path) -> list[str]:
    """Return the faults of some cases, each played in a folder of its own."""
    found = []
    for number in range(first, first + cases):
        own = folder / f"{room.name}-{number}"
        own.mkdir()
        fault = room.fault(number, own)
        if fault is not None:
            found.append(fault)
    return found


def main(name: str, first: int, cases: int) -> int:
    """Return how many of the cases are faults, after printing these."""
    total = 0
    for room in ROOMS.values() if name == "all" else [ROOMS[name]]:
        begun = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            found = faults(room, first, cases, Path(folder))
        for fault in found:
            print(fault, end="\n\n")
        print(f"{room.name}: {len(found)} faults in {cases} cases, {time.process_time() - begun:.1f} s")
        total += len(found)
    return total


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) > 0)
