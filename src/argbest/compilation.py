"""Compiled generalized ufuncs, kept between processes where a folder is writable."""

import functools
import hashlib
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import config, guvectorize
from numba.core import event
from numba.core.caching import FunctionCache

from argbest.errors import CompilationNotice


def compile_ufunc(body: Callable[..., None], signature: str, layout: str) -> Callable[..., Any]:
    """Return the generalized ufunc of ``body``, loaded if it was compiled before from the same sources.

    Numba keeps a ufunc in several files that must stem from one process, and looks only at the file of
    ``body`` to see whether they are stale. So every version of our sources has a folder of its own, which
    appears all at once: processes that compile at the same time cannot mix their files.
    """
    build = functools.partial(_build, body, signature, layout)
    try:
        root = Path(FunctionCache(body).cache_path)
        root.mkdir(parents=True, exist_ok=True)
        kept = (
            root
            / f"argbest-{_digest(Path(body.__code__.co_filename).parent)}-{body.__module__}.{body.__name__}"
        )
        if kept.is_dir():
            with _cache_folder(kept):
                return build(cache=True)
        scratch = Path(tempfile.mkdtemp(prefix=kept.name, dir=root))
    except (RuntimeError, OSError):  # Numba knows no folder, or it cannot be written
        notice = (
            "no folder for compiled code is writable, so every process compiles anew; set NUMBA_CACHE_DIR."
        )
        warnings.warn(notice, CompilationNotice, stacklevel=3)
        return build(cache=False)
    try:
        with _cache_folder(scratch):
            ufunc = build(cache=True)
        scratch.rename(kept)
    except OSError:  # another process was first
        shutil.rmtree(scratch, ignore_errors=True)
    return ufunc


def _build(body: Callable[..., None], signature: str, layout: str, *, cache: bool) -> Callable[..., Any]:
    with event.install_listener("numba:compile", _Announcement()):
        ufunc: Callable[..., Any] = guvectorize([signature], layout, nopython=True, cache=cache)(body)
    return ufunc


@functools.cache
def _digest(folder: Path) -> str:
    """Return a name for the present state of all sources that may be compiled: the core, and this folder."""
    sources = sorted({*(Path(__file__).parent / "core").glob("*.py"), *folder.glob("*.py")})
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    """Let Numba keep its files in this folder meanwhile."""
    usual, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = usual


class _Announcement(event.Listener):
    """Says once that a compilation has begun; loading from the cache begins none."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Warn at the first function that is compiled."""
        if not self.said:
            self.said = True
            notice = "compiling numerical code: some seconds, once per installation."
            warnings.warn(notice, CompilationNotice, stacklevel=2)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""
