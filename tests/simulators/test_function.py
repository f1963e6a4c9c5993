"""Python functions by name: found where users expect them, and sent to other processes by name."""

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import argbest
from argbest import InputError
from argbest.simulators import plain, simulator_from
from argbest.simulators.function import Function, load
from argbest.simulators.program import Program


@pytest.fixture(autouse=True)
def _same_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the search path and the modules as they were."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def module(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(folder)


GOOD = "def simulate(alternative, context, seed):\n    return alternative + context + seed\n"


def test_a_function_is_found_in_its_folder(tmp_path: Path) -> None:
    assert load("my_model_1:simulate", module(tmp_path, "my_model_1", GOOD))(1, 2, 3) == 6
    module(tmp_path / "my_package_1", "deep", GOOD)
    assert load("my_package_1.deep:simulate", tmp_path)(1, 2, 3) == 6


def test_methods_and_other_callables_are_taken(tmp_path: Path) -> None:
    text = "class Model:\n    @staticmethod\n    def run(a, c, seed): return 1\n"
    assert load("my_model_2:Model.run", module(tmp_path, "my_model_2", text))(1, 2, 3) == 1
    assert load("builtins:max")(1, 2, 3) == 3  # it has no signature to look at


def test_imports_made_later_are_found_too(tmp_path: Path) -> None:
    folder = module(tmp_path, "my_sibling", "value = 5\n")
    text = "def simulate(a, c, seed):\n    import my_sibling\n    return my_sibling.value\n"
    assert Function("my_model_3:simulate", module(tmp_path, "my_model_3", text))(1, 2, 3) == 5
    assert sys.path[0] == folder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("simulate", "got 'simulate' as a Python simulator; expected 'module:function'"),
        ("simulate.py:run", r"expected 'module:function'. Write simulate:run"),
        (":run", "expected 'module:function'"),
        ("a b:run", "expected 'module:function'"),
        ("os;print:run", "expected 'module:function'"),
        ("../up:run", "expected 'module:function'"),
        (3, "expected 'module:function'"),
        (
            "my_missing:run",
            "no module 'my_missing' in the installed packages or the folder '.*'; the current folder is",
        ),
        ("my_missing.deep:run", "no module 'my_missing' in"),
        ("json.my_missing:run", "no module 'json.my_missing' in"),
        ("my_model_4:simulat", "unknown function of my_model_4 'simulat'; .* Did you mean 'simulate'?"),
        ("my_model_4:NUMBER", "my_model_4:NUMBER is 3 .int.; expected a function"),
        (
            "my_model_4:two",
            r"my_model_4:two takes \(a, b\); expected a function \(alternative, context, seed\)",
        ),
        (
            "my_broken:run",
            "importing my_broken failed: No module named 'surely_missing'. Install what is missing",
        ),
        ("my_wrong:run", "importing my_wrong failed: SyntaxError: "),
        ("my_script:run", "importing my_script failed: SystemExit: 3"),
    ],
)
def test_what_is_no_simulator_is_refused_with_the_reason(name: str, message: str, tmp_path: Path) -> None:
    module(tmp_path, "my_model_4", GOOD + "NUMBER = 3\ndef two(a, b): return 1\n")
    module(tmp_path, "my_broken", "import surely_missing\n")
    module(tmp_path, "my_wrong", "def run(:\n")
    module(tmp_path, "my_script", "import sys\nsys.exit(3)\n")
    with pytest.raises(InputError, match=message):
        load(name, tmp_path)


def test_whether_the_current_folder_is_searched_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    with pytest.raises(
        InputError, match="the current folder is not searched. Correct the name, or name the folder"
    ):
        load("my_missing:run")
    sys.path.insert(0, "")
    with pytest.raises(InputError, match="the current folder is searched too"):
        load("my_missing:run")


def test_a_namesake_from_elsewhere_is_not_taken_for_the_simulator(tmp_path: Path) -> None:
    one, two = (module(tmp_path / each, "my_model_5", GOOD) for each in ("one", "two"))
    load("my_model_5:simulate", one)
    with pytest.raises(
        InputError, match="'.*two/my_model_5.py' is hidden by another module 'my_model_5', .*one"
    ):
        load("my_model_5:simulate", two)
    with pytest.raises(InputError, match="json.py' is hidden by another module 'json'.* Rename the file"):
        load("json:simulate", module(tmp_path, "json", GOOD))


def test_nothing_is_imported_before_it_is_needed(tmp_path: Path) -> None:
    function = Function("my_model_6:simulate", module(tmp_path, "my_model_6", GOOD))
    assert pickle.loads(pickle.dumps(function)) == function  # noqa: S301
    assert hash(function) == hash(Function("my_model_6:simulate", str(tmp_path)))
    assert "my_model_6" not in sys.modules
    assert function(1, 2, 3) == 6
    assert pickle.loads(pickle.dumps(function))(1, 2, 4) == 7  # noqa: S301


def test_a_sent_function_is_found_where_it_arrives(tmp_path: Path) -> None:
    function = Function("my_model_7:simulate", module(tmp_path, "my_model_7", GOOD))
    code = (
        "import pickle, sys, types\n"
        "sys.modules['argbest'] = types.ModuleType('argbest')\n"  # without loading all of it
        f"sys.modules['argbest'].__path__ = {list(argbest.__path__)!r}\n"
        "print(pickle.loads(bytes.fromhex(sys.argv[1]))(1, 2, 3))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(function).hex()], capture_output=True, text=True, check=True
    )
    assert done.stdout == "6\n"


def test_marks_of_the_function_show(tmp_path: Path) -> None:
    folder = module(tmp_path, "my_model_8", GOOD + "simulate.takes_many = True\n")
    function = Function("my_model_8:simulate", folder)
    assert function.takes_many is True
    assert getattr(function, "another", None) is None


@pytest.mark.parametrize(
    "simulator",
    [Program(["echo", "{seed}"], timeout=3.0), Function("module:run"), Function("a.b:c.d", "/some/folder")],
    ids=str,
)
def test_a_simulator_is_stored_as_plain_values(simulator: Program | Function) -> None:
    stored = plain(simulator)
    assert stored is not None
    assert simulator_from(json.loads(json.dumps(stored))) == simulator


def test_what_has_no_name_cannot_be_stored() -> None:
    assert plain(max) is None
    assert plain(None) is None


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({}, r"got a simulator with the keys \[\]; expected"),
        (
            {"program": {"command": ["echo"]}, "python": "a:b"},
            "unknown option of a Python simulator 'program'",
        ),
        ({"program": "echo"}, "expected {'program'"),
        ({"python": "a:b", "foldr": "x"}, "Did you mean 'folder'?"),
        ({"python": 3}, "expected 'module:function'"),
        ({"program": {"comand": ["echo"]}}, "Did you mean 'command'?"),
    ],
)
def test_plain_values_that_are_no_simulator_are_refused(stored: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulator_from(stored)
