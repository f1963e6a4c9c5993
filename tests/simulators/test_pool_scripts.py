"""Whole scripts that use a pool: killed, ended early, without a main guard."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import misbehaving
import pytest
from watching import PATIENCE, announced, eventually, is_running

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are watched in /proc")
TESTS = Path(misbehaving.__file__).parent

SCRIPT = """
    import misbehaving, pathlib, sys, watching
    from argbest.simulators.pool import SimulationPool

    def main() -> None:
        pool = SimulationPool(2, context=sys.argv[2])
        jobs = [pool.submit(misbehaving.compute, sys.argv[1], sys.argv[3]) for _ in range(2)]
        {then}
"""


def script(folder: Path, then: str, *, guard: str = 'if __name__ == "__main__":') -> Path:
    path = folder / "script.py"
    path.write_text(textwrap.dedent(SCRIPT).format(then=then) + f"\n{guard}\n    main()\n")
    return path


def start(path: Path, folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    # Processes share the standard error. Without buffers they write a line in pieces ("OSError", ": ", "only
    # once"), which mix with those of others.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.Popen(
        [sys.executable, str(path), str(folder), *arguments],
        env={**inherited, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize(("context", "kind"), [("spawn", "yields"), ("fork", "never yields")])
def test_children_die_with_a_parent_that_is_killed(tmp_path: Path, context: str, kind: str) -> None:
    with start(script(tmp_path, "jobs[0].result()"), tmp_path, context, kind) as parent:
        children = announced(tmp_path, 2)
        parent.kill()
    assert eventually(lambda: not any(is_running(child) for child in children))


def test_a_parent_that_ends_without_waiting_ends_its_children(tmp_path: Path) -> None:
    path = script(tmp_path, "watching.announced(pathlib.Path(sys.argv[1]), 2)")
    with start(path, tmp_path, "fork", "yields") as parent:
        assert parent.wait(timeout=PATIENCE) == 0
        assert parent.stderr is not None
        assert parent.stderr.read() == ""
    children = announced(tmp_path, 2)
    assert eventually(lambda: not any(is_running(child) for child in children))


def test_a_script_without_a_main_guard_is_told_once(tmp_path: Path) -> None:
    path = script(tmp_path, "jobs[0].result()", guard="if True:")
    with start(path, tmp_path, "spawn", "yields") as parent:
        _, err = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == 1
    assert err.count('if __name__ == "__main__":') == 1
    assert "InputError: each of several processes imports the script" in err
    assert list(tmp_path.glob("*.pid")) == []


def test_a_script_that_cannot_be_imported_again_is_told(tmp_path: Path) -> None:
    path = script(tmp_path, "jobs[0].result()")
    path.write_text(path.read_text() + "else:\n    raise OSError('only once')\n")
    with start(path, tmp_path, "spawn", "yields") as parent:
        _, err = parent.communicate(timeout=PATIENCE)
    assert "InputError: a process for simulations ended with exit code 1 before it was ready" in err
    assert "OSError: only once" in err


def test_what_a_simulator_prints_is_seen_even_if_it_is_killed_later(tmp_path: Path) -> None:
    then = "del jobs; pool.shutdown(cancel_futures=True); pool = SimulationPool(1, context='fork');"
    then += "pool.submit(misbehaving.print_line, 'hello').result(); pool.shutdown(cancel_futures=True)"
    with start(script(tmp_path, then), tmp_path, "fork", "yields") as parent:
        out, err = parent.communicate(timeout=PATIENCE)
    assert (out, err) == ("hello\n", "HELLO\n")
