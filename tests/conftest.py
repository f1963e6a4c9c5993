import gc
import os
import signal
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import coarse
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "reference"

settings.register_profile("argbest", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("argbest")

_lasting: set[str] = set()  # modules that stay, so that the thousands of them are looked at once

# Started in the background of a shell, a program is told to ignore Ctrl-C, and so would all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cases of a grid to the slow tests that ``fast_cases`` does not name."""
    left = {item.nodeid.partition("[")[0] for item in items if item.get_closest_marker("fast_cases")}
    for item in items:
        if (named := item.get_closest_marker("fast_cases")) is None:
            continue
        case = item.nodeid.partition("[")[2].removesuffix("]")
        if any(fnmatchcase(case, pattern) for pattern in named.args):
            left.discard(item.nodeid.partition("[")[0])
        else:
            item.add_marker(pytest.mark.slow)
    if left and config.args_source is config.ArgsSource.TESTPATHS:
        raise pytest.UsageError(f"no case of {', '.join(sorted(left))} is as its fast_cases say")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the garbage collector pass by what stays anyway: eight thousand tests and all modules."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of published data; it may be missing on a user's machine, never where CI is set."""
    if not REFERENCE.is_dir():
        reason = "the published reference data are not beside this checkout"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return REFERENCE


@pytest.fixture(scope="module")
def few_draws() -> Iterator[None]:
    """Answers rest on fewer draws than users get: for tests that hold whatever the figures are."""
    with coarse.few_draws():
        yield


@pytest.fixture(autouse=True)
def no_simulators_of_other_tests() -> Iterator[None]:
    """Forget the modules that a test's studies have imported: the next test has others of the same names."""
    yield
    ours = (str(ROOT), sys.prefix, sys.base_prefix)
    _lasting.intersection_update(sys.modules)
    for name in sys.modules.keys() - _lasting:
        file = getattr(sys.modules[name], "__file__", None)
        if isinstance(file, str) and os.path.isabs(file) and not file.startswith(ours):
            del sys.modules[name]
        else:
            _lasting.add(name)
