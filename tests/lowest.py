"""Print the lowest version that pyproject.toml allows of every direct dependency, as constraints for pip."""

import re
import tomllib
from pathlib import Path


def lowest(requirement: str) -> str | None:
    """Return the requirement with its lower bound as the one version, None if none is needed."""
    found = re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)(\s*;.*)?", requirement)
    if found is None or found[1].endswith("-stubs"):  # these say nothing at run time
        return None
    return f"{found[1]}=={found[2]}{found[3] or ''}"


def constraints(pyproject: Path) -> list[str]:
    """Return the constraints of all dependencies, those of extras too."""
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for name in sorted(extras) for each in extras[name])]
    return sorted(filter(None, map(lowest, wanted)))


if __name__ == "__main__":
    print(*constraints(Path(__file__).parent.parent / "pyproject.toml"), sep="\n")
