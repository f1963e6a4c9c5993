import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "reference"

settings.register_profile("argbest", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("argbest")


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of published data; it may be missing on a user's machine, never where CI is set."""
    if not REFERENCE.is_dir():
        reason = "the published reference data are not beside this checkout"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return REFERENCE


ALSO = ("test_cli_stored", "test_clusters", "test_parallel", "test_run_troubles", "test_processes")
AMONG_PROCESSES = ("browser", "robustness", "serve", "simulators", "storage")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests that wait for other processes try twice: a busy machine may keep these waiting too long."""
    for item in items:
        folders = item.path.parts
        if any(name in folders for name in AMONG_PROCESSES) or item.path.stem in ALSO:
            item.add_marker(pytest.mark.flaky(reruns=1))
