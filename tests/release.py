"""A release: its number in all places, and whether what would be uploaded works where nothing else is.

    python tests/release.py version 0.3.0   # pyproject.toml, CITATION.cff and the heading of the changelog
    python tests/release.py check dist      # the wheel and the sdist in this folder, for `make release-check`

The check installs the wheel without extras in an environment of its own, and calls the commands in an empty
folder, where neither the repository nor a network can be reached.
"""

import datetime
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NUMBER = re.compile(r"\d+\.\d+\.\d+")
# Calls a command of ours in a process that opens no connection but to sockets of the same machine.
_OFFLINE = """
import sys
def refuse(event, given):
    if event in ("socket.connect", "socket.getaddrinfo") and not isinstance(given[-1], (str, bytes)):
        raise OSError(f"the command reaches for a network: {event} {given}")
sys.addaudithook(refuse)
from argbest.cli import main
main(sys.argv[1:], prog_name="argbest")
"""
_WITHOUT_PICTURES = "pictures need matplotlib: pip install 'argbest[plot]'"


def numbered(texts: Mapping[str, str], number: str, day: datetime.date) -> dict[str, str]:
    """Return the files that name the version, by name, with this one."""
    if not _NUMBER.fullmatch(number):
        raise SystemExit(f"got the version {number!r}; expected three numbers, as in 0.3.0.")
    changes = {
        "pyproject.toml": [(r'^version = ".*"$', f'version = "{number}"')],
        "CITATION.cff": [
            (r"^version: .*$", f"version: {number}"),
            (r"^date-released: .*$", f"date-released: {day}"),
        ],
        "CHANGELOG.md": [(r"^## \[Unreleased\]$", f"## [{number}] - {day}")],
    }
    found = {}
    for name, pairs in changes.items():
        text = texts[name]
        for old, new in pairs:
            text, n = re.subn(old, new, text, flags=re.MULTILINE)
            if n != 1:
                raise SystemExit(f"{name} has {n} lines like {old}; expected one. Correct it by hand.")
        found[name] = text
    return found


def left_out(tracked: Collection[str], packed: Collection[str]) -> list[str]:
    """Return the tracked files that a package does not hold."""
    return sorted(set(tracked) - set(packed))


def complaints_about_heading(changelog: str, version: str) -> list[str]:
    """Return why the changelog is not that of this version."""
    headings = re.findall(r"^## \[(.*?)\]", changelog, re.MULTILINE)
    if headings[:1] == [version]:
        return []
    return [
        f"CHANGELOG.md begins with [{headings[0]}], and the version is {version}. Call `make release "
        "VERSION=…` once nobody writes to the changelog any more."
    ]


def check(dist: Path) -> None:
    """Raise SystemExit unless the packages are whole and the wheel works by itself."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    wheel, sdist = dist / f"argbest-{version}-py3-none-any.whl", dist / f"argbest-{version}.tar.gz"
    tracked = subprocess.run(
        ["git", "ls-files"],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    _refuse(f"{sdist.name} lacks", left_out(tracked, packed))
    ours = [name.removeprefix("src/") for name in tracked if name.startswith("src/")]
    with zipfile.ZipFile(wheel) as archive:
        inside = archive.namelist()
    _refuse(f"{wheel.name} lacks", left_out(ours, inside))
    _refuse(f"{wheel.name} holds", [name for name in inside if not name.startswith(("argbest/", "argbest-"))])
    print(
        f"{sdist.name}: {len(packed)} files, every tracked one; {wheel.name}: {len(inside)} files", flush=True
    )
    with tempfile.TemporaryDirectory(prefix="argbest-release-") as folder:
        _try_out(wheel.resolve(), version, Path(folder))
    _refuse(
        "not yet a release:", complaints_about_heading((ROOT / "CHANGELOG.md").read_text("utf-8"), version)
    )
    print(f"argbest {version} can be released")


def _try_out(wheel: Path, version: str, folder: Path) -> None:
    """Install the wheel in a new environment, and call what a newcomer calls."""
    venv.create(folder / "clean", with_pip=True)
    python = folder / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
    _run([str(python), "-m", "pip", "install", "--quiet", str(wheel)], folder)
    _run([str(python), "-m", "pip", "check"], folder)
    place = folder / "empty"
    place.mkdir()

    def called(*words: str) -> tuple[str, str]:
        print("argbest", *words, flush=True)
        return _run([str(python), "-c", _OFFLINE, *words], place)

    _expect(called("--version")[0], f"argbest {version}\n")
    program = python.with_name("argbest")
    _expect(_run([str(program), "--version"], place)[0], f"argbest {version}\n")
    answer, notices = called("demo", "--out", "demo")
    _expect(answer, "truth, known for this problem: right in")
    _expect(notices, _WITHOUT_PICTURES)
    written = sorted(path.name for path in (place / "demo").iterdir())
    _expect(" ".join(written), "observations.csv report.html selection.csv")
    _expect(called("problems")[0], "queue-staffing")
    called("problems", "queue-staffing@1", "--truth", "truth.csv")
    _expect((place / "truth.csv").read_text("utf-8"), "alternative.servers,context.rate,weight,mean")
    called("init", "study.toml")
    for kind in ("policies", "models"):
        called(kind)
    called(
        "compare", "classical", "--policy", "equal", "--replications", "10", "--macroreps", "2", "--out", "c"
    )
    listed = "from argbest.experiment import published; print(len(published.numbers()))"
    _run([str(python), "-c", listed], place)


def _run(command: list[str], folder: Path) -> tuple[str, str]:
    """Return what a command prints; it sees nothing of the repository."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ended = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout, ended.stderr


def _expect(text: str, part: str) -> None:
    if part not in text:
        raise SystemExit(f"expected {part!r} in what was printed:\n{text}")


def _refuse(what: str, wrong: list[str]) -> None:
    if wrong:
        raise SystemExit(f"{what} {', '.join(wrong[:10])}{' and more' if len(wrong) > 10 else ''}")


def main(arguments: list[str]) -> None:
    """Do what the first word says."""
    match arguments:
        case ["version", number]:
            names = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
            texts = {name: (ROOT / name).read_text("utf-8") for name in names}
            for name, text in numbered(texts, number, datetime.date.today()).items():
                (ROOT / name).write_text(text, "utf-8")
                print(f"{name}: {number}")
        case ["check", folder]:
            check(Path(folder))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
