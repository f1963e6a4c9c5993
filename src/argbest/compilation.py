"""Compiled generalized ufuncs, kept between processes where only the user can put files."""

import functools
import hashlib
import json
import math
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
from numba import cfunc, config, guvectorize
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target

from argbest.errors import CompilationNotice

CONTENTS = "argbest-contents.json"  # the digest of every file of compiled code beside it


def compile_ufunc(body: Callable[..., None], signature: str, layout: str) -> Callable[..., Any]:
    """Return the generalized ufunc of ``body``, loaded if it was compiled before from the same sources.

    Numba keeps a ufunc in several files that must stem from one process, and looks only at the file of
    ``body`` to see whether they are stale. So every version of our sources has a folder of its own for every
    kind of processor, which appears all at once: processes that compile at the same time cannot mix their
    files. To load compiled code is to run it, so it must come from a folder that nobody else can write to.
    """
    return _compiled(body, lambda cache: guvectorize([signature], layout, nopython=True, cache=cache)(body))


def compile_function(body: Callable[..., Any], signature: Any) -> Any:
    """Return the function that compiled code can call by its ``address``, kept as a ufunc is."""
    return _compiled(body, lambda cache: cfunc(signature, cache=cache)(body))


def _compiled(body, make):
    build = functools.partial(_build, body, make)
    try:
        root = Path(FunctionCache(body).cache_path).resolve()
        root.mkdir(parents=True, exist_ok=True)
        reason = distrust(root)
    except (RuntimeError, OSError):  # Numba knows no folder, or it cannot be reached
        return _build_uncached(build, "no folder for compiled code is writable")
    if reason:
        return _build_uncached(build, f"compiled code in {root} is not used, because {reason}")
    kept = (
        root / f"argbest-{_digest(Path(body.__code__.co_filename).parent)}-{body.__module__}.{body.__name__}"
    )
    if _is_whole(kept):
        with suppress(Exception), _cache_folder(kept):  # a process may be replacing the files just now
            return build(cache=True)
    return _build_kept(build, kept)


def ready_since() -> float:
    """Return the `time.monotonic` at which code was last compiled or loaded: now, while some is."""
    return time.monotonic() if _preparing.n else _preparing.ended


def seconds_since(begun: float) -> float:
    """Return for how long code was compiled or loaded since that `time.monotonic`."""
    spans = [*_preparing.spans, (_preparing.begun, time.monotonic())] if _preparing.n else _preparing.spans
    return sum(max(0.0, end - max(start, begun)) for start, end in spans)


def _build_kept(build: Callable[..., Any], kept: Path) -> Callable[..., Any]:
    """Return the ufunc, compiled anew, and keep it in the folder ``kept`` if that is possible."""
    scratch = None
    try:
        scratch = Path(tempfile.mkdtemp(prefix=kept.name, dir=kept.parent))
        with _cache_folder(scratch):
            ufunc: Callable[..., Any] = build(cache=True)
    except OSError as error:  # the disk is full, or the folder has become read-only
        return _build_uncached(
            build, f"compiled code cannot be kept in {kept.parent} ({error.strerror or error})"
        )
    else:
        _put_in_place(scratch, kept)
        return ufunc
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _put_in_place(scratch: Path, kept: Path) -> None:
    """Give the folder just filled its name, unless another process was first."""
    with suppress(OSError):  # a full disk, too: this process has its ufunc all the same
        (scratch / CONTENTS).write_text(json.dumps(_contents(scratch)))
        if kept.exists() and not _is_whole(kept):
            with tempfile.TemporaryDirectory(dir=kept.parent, ignore_cleanup_errors=True) as aside:
                kept.rename(Path(aside) / "broken")
        scratch.rename(kept)


def _build_uncached(build: Callable[..., Any], reason: str) -> Callable[..., Any]:
    """Return the ufunc, compiled for this process alone, and say why."""
    notice = (
        f"{reason}, so every process compiles again. Set NUMBA_CACHE_DIR to a folder that only you can "
        "write to, because the code in it is run as your program."
    )
    warnings.warn(notice, CompilationNotice, stacklevel=4)
    return build(cache=False)  # type: ignore[no-any-return]


def _build(body, make, *, cache: bool) -> Callable[..., Any]:
    with _preparing.one_more(), event.install_listener("numba:compile", _Announcement()):
        ufunc: Callable[..., Any] = make(cache)
    return ufunc


def _is_whole(kept: Path) -> bool:
    """Return whether the folder belongs to the user and holds just the files that were put there."""
    try:
        listed = json.loads((kept / CONTENTS).read_text())
        return not distrust(kept) and bool(listed) and _contents(kept) == listed
    except (OSError, ValueError):
        return False


def _contents(folder: Path) -> dict[str, str]:
    """Return the digest of every file of compiled code below the folder, by its name there."""
    files = (path for kind in ("nbi", "nbc") for path in folder.rglob(f"*.{kind}"))
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@functools.cache
def _digest(folder: Path) -> str:
    """Return a name for all that compiled code depends on: our sources, Python, Numba and the processor.

    The sources are those that may be compiled: the core, and this folder. Machines with different processors
    may share the folder above.
    """
    sources = sorted({*(Path(__file__).parent / "core").glob("*.py"), *folder.glob("*.py")})
    processor = cpu_target.target_context.codegen().magic_tuple()  # system, processor and its features
    versions = sys.implementation.cache_tag, numba.__version__, processor
    return hashlib.sha256(
        repr(versions).encode() + b"".join(path.read_bytes() for path in sources)
    ).hexdigest()[:16]


@contextmanager
def _cache_folder(folder: Path) -> Iterator[None]:
    """Let Numba keep its files in this folder meanwhile."""
    usual, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = usual


@dataclass
class _Preparation:
    """How much code is being compiled or loaded, by all threads, and when that was."""

    n: int = 0
    begun: float = math.inf
    ended: float = -math.inf
    spans: list[tuple[float, float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count the block."""
        with self.lock:
            self.n, self.begun = self.n + 1, min(self.begun, time.monotonic())
        try:
            yield
        finally:
            with self.lock:
                self.n, self.ended = self.n - 1, time.monotonic()
                if not self.n:
                    self.spans.append((self.begun, self.ended))
                    self.begun = math.inf


_preparing = _Preparation()


class _Announcement(event.Listener):
    """Says once that a compilation has begun; loading from the cache begins none."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        """Warn at the first function that is compiled."""
        if not self.said:
            self.said = True
            notice = "compiling numerical code: some seconds, once per installation."
            warnings.warn(notice, CompilationNotice, stacklevel=2)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


def distrust(folder: Path) -> str:
    """Return why others could put files into this folder or in its place, or "" if nobody could.

    ``folder`` is a resolved path, so that no link in it leads elsewhere later. It and its parents must belong
    to the user or to root. Others may write to a parent only if its sticky bit keeps them from renaming what
    is not theirs, as in /tmp. Windows keeps the users' folders apart by other means.
    """
    if not hasattr(os, "geteuid"):
        return ""
    for place in (folder, *folder.parents):
        found = place.stat()
        if found.st_uid not in (0, os.geteuid()):
            return f"{place} belongs to another user (number {found.st_uid})"
        if _others_write(found) and (place == folder or not found.st_mode & stat.S_ISVTX):
            return f"other users may write to {place}"
    return ""


def _others_write(found: os.stat_result) -> bool:
    """Return whether anybody besides the user and root may write; a group of the user alone is nobody."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _alone_in(found.st_gid)


def _alone_in(group: int) -> bool:
    """Return whether this is the private group that many systems give to every user: named like the user."""
    import grp  # these two are not part of Python for Windows
    import pwd

    try:
        mine, theirs = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return theirs.gr_name == mine and set(theirs.gr_mem) <= {mine}
