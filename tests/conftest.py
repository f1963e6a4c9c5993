import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

import argbest

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = ROOT.parent / "shared" / "reference"

# Numba's cache knows only the file of the outermost function; named after all sources it is never stale.
_sources = b"".join(p.read_bytes() for p in sorted((Path(argbest.__file__).parent / "core").glob("*.py")))
_digest = hashlib.sha256(_sources).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"argbest-tests-{_digest}"))

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
