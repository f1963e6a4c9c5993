"""The example of `argbest init`: it runs as it is, and names every option there is."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from argbest import InputError
from argbest.studyfile import example
from argbest.studyfile.options import KEYS, TOP
from argbest.studyfile.reading import read

OPTION = re.compile(r"^# ([a-z_.]+ = .+)$")
HEADER = re.compile(r"^(?:# )?(\[[a-z_]+\])$")
NEEDING_MORE = {  # forms that exclude what the example uses, or need files it does not have
    *("problem", "labels", "rows", "file", "columns", "label", "folder", "python"),
    *("alternatives", "contexts", "table", "measured", "name", "limits", "responses"),
    *("population", "n", "seed", "source"),
}


def written(folder: Path) -> Path:
    return example.write(folder / "study.toml")[0]


def options(text: str) -> list[tuple[str, str, int]]:
    """Section, assignment and line of every option in a comment."""
    found, section = [], TOP
    for number, line in enumerate(text.splitlines()):
        if header := HEADER.match(line):
            section = header[1]
        if option := OPTION.match(line):
            found.append((section, option[1], number))
    return found


def test_every_option_in_a_comment_is_a_known_key(tmp_path: Path) -> None:
    seen = options(written(tmp_path).read_text())
    assert len(seen) == 46
    for section, assignment, _ in seen:
        [(key, value)] = tomllib.loads(assignment).items()
        assert key in KEYS[section]
        if isinstance(value, dict) and f"{section} {key}" in KEYS:
            assert set(value) <= set(KEYS[f"{section} {key}"])


def test_every_known_key_is_in_the_example(tmp_path: Path) -> None:
    text = written(tmp_path).read_text()
    found: dict[str, set[str]] = {section: set() for section in KEYS}
    for section, assignment, _ in options(text):
        for key, value in tomllib.loads(assignment).items():
            found[section].add(key)
            if isinstance(value, dict) and f"{section} {key}" in KEYS:
                found[f"{section} {key}"] |= set(value)
    for key, value in tomllib.loads(text).items():
        found[TOP].add(key)
        if isinstance(value, dict) and f"[{key}]" in KEYS:
            found[f"[{key}]"] |= set(value)
    found["[contexts]"] |= found["[alternatives]"]  # "the same forms"
    found[TOP] |= {"cost", "prior_runs"}  # tables in comments
    assert found == {section: set(keys) for section, keys in KEYS.items()}


def test_options_in_comments_can_be_used_as_they_stand(tmp_path: Path) -> None:
    path = written(tmp_path)
    lines = path.read_text().splitlines()
    used = 0
    for section, assignment, number in options(path.read_text()):
        key = assignment.split(" ")[0]
        if key in NEEDING_MORE:
            continue
        changed = [line for line in lines if not line.startswith(f"{key} = ")]
        changed[changed.index(lines[number])] = assignment
        path.write_text("\n".join(changed))
        read(path)
        used += 1
        assert section in KEYS
    assert used == 26


def test_the_example_says_what_it_does(tmp_path: Path) -> None:
    file = read(written(tmp_path))
    assert file.problem.shape == (5, 5)
    assert (file.problem.name, file.problem.goal) == ("call-centre", "min")
    assert file.run == {"budget": 200}
    assert file.storage == str(tmp_path.resolve() / "study.db")
    assert file.remarks == ()


def test_the_example_runs(tmp_path: Path) -> None:
    problem = read(written(tmp_path)).problem
    assert problem.simulate is not None
    values = [
        problem.simulate(problem.alternatives.item(k), problem.contexts.item(k), seed)
        for k in range(5)
        for seed in (0, 2**31 - 1)
    ]
    assert all(20 < value < 500 for value in values)
    assert len(set(values)) > 5


def test_program_and_function_of_the_example_agree(tmp_path: Path) -> None:
    path = written(tmp_path)
    program = read(path).problem.simulate
    text = path.read_text()
    begin, end = text.index("command = ["), text.index("]\ntimeout")
    path.write_text(text[:begin] + 'python = "simulate:simulate"' + text[end + 1 :])
    before = list(sys.path)
    try:
        function = read(path).problem.simulate
        assert program is not None
        assert function is not None
        for seed in (1, 2**63):
            assert program({"servers": 3}, {"rate": 30}, seed) == function({"servers": 3}, {"rate": 30}, seed)
    finally:
        sys.path[:] = before
        del sys.modules["simulate"]


def test_the_best_number_of_servers_of_the_example_grows_with_the_rate(tmp_path: Path) -> None:
    # Fixed seeds, so it cannot change by chance; the nearest rivals differ by three standard errors or more.
    written(tmp_path)
    code = (
        "from simulate import simulate\n"
        "mean = lambda s, r: sum(simulate({'servers': s}, {'rate': r}, seed) for seed in range(150))\n"
        "print([min(range(2, 7), key=lambda s: mean(s, r)) for r in (10, 20, 30, 40, 50)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[2, 3, 4, 5, 6]\n"


def test_a_folder_gets_a_study_file_and_missing_folders_are_made(tmp_path: Path) -> None:
    assert example.write(tmp_path) == [tmp_path / "study.toml", tmp_path / "simulate.py"]
    path = tmp_path / "new" / 'a "b" c.toml'
    assert example.write(path) == [path, path.with_name("simulate.py")]
    assert read(path).storage == str((tmp_path / "new").resolve() / 'a "b" c.db')


@pytest.mark.parametrize("name", ["study.toml", "simulate.py"])
def test_nothing_is_overwritten_or_half_written(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=f"'.*{name}' already exists and is left alone"):
        example.write(tmp_path / "study.toml")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"
    example.write(tmp_path / "study.toml", force=True)
    assert (tmp_path / name).read_text() != "mine"


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write '.*': (Not a directory|File exists)"):
        example.write(tmp_path / "file" / "study.toml")
    with pytest.raises(InputError, match="'simulate.py' is the name of the example's simulator"):
        example.write(tmp_path / "simulate.py")


@pytest.mark.skipif(os.name != "posix", reason="a link that leads nowhere")
def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "study.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(InputError, match="already exists"):
        example.write(tmp_path / "study.toml")
    assert not (tmp_path / "elsewhere.toml").exists()
