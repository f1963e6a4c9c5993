"""Compiled functions, kept between processes where only the user can put files."""

import functools
import gc
import hashlib
import json
import math
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
from numba import cfunc, config, guvectorize
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.registry import cpu_target

from argbest.errors import CompilationNotice
from argbest.trust import distrust

_one_thread = threading.RLock()
_lasting: list[Any] = []  # all that was compiled or loaded by this process
CONTENTS = "argbest-contents.json"  # the digest of every file of compiled code beside it


def compile_ufunc(
    body: Callable[..., None], signature: str, layout: str, *, seconds: float = 5.0
) -> Callable[..., Any]:
    """Return the generalized ufunc of ``body``, loaded if it was compiled before from the same sources.

    ``seconds`` is about how long that takes, for the notice (`one_notice`).

    Numba keeps a ufunc in several files that must stem from one process, and looks only at the file of
    ``body`` to see whether they are stale. So every version of our sources has a folder of its own for every
    kind of processor, which appears all at once: processes that compile at the same time cannot mix their
    files. To load compiled code is to run it, so it must come from a folder that nobody else can write to.
    """

    def make(*, cache: bool) -> Callable[..., Any]:
        ufunc: Callable[..., Any] = guvectorize([signature], layout, nopython=True, cache=cache)(body)
        return ufunc

    with one_notice(seconds):
        found: Callable[..., Any] = _compiled(body, make)
    return found


def compile_function(body: Callable[..., Any], signature: Any, *, seconds: float = 5.0) -> Any:
    """Return a function that other compiled code can call by its ``address``, loaded or compiled likewise."""
    with one_notice(seconds):
        return _compiled(body, lambda *, cache: cfunc(signature, cache=cache)(body))


@contextmanager
def one_notice(seconds: float) -> Iterator[None]:
    """Let whatever the block compiles be announced once: it takes about so many seconds, all together."""
    if _notice.get() is not None:
        yield
        return
    token = _notice.set(_Notice(seconds))
    try:
        yield
    finally:
        _notice.reset(token)


def under_way() -> str:
    """Return what is being compiled now, and how long that takes; "" if nothing is."""
    return _preparing.words


def _compiled(body: Callable[..., Any], make: Callable[..., Any]) -> Any:
    """Return what is loaded or compiled, one thread at a time, and keep it for the life of the process.

    Compiled code calls other compiled code by its address. Two threads that need the same for the first time
    make it twice, and a cache (`functools.cache`) then lets go of one, whose address may be in use.
    """
    with _one_thread:  # the folder of Numba's files is a setting of the whole process
        found = _loaded_or_compiled(body, make)
        _lasting.append(found)
    return found


def _loaded_or_compiled(body: Callable[..., Any], make: Callable[..., Any]) -> Any:
    build = functools.partial(_build, make)
    try:
        root = Path(FunctionCache(body).cache_path).resolve()
        root.mkdir(parents=True, exist_ok=True)
        reason = distrust(root)
    except (RuntimeError, OSError):  # Numba knows no folder, or it cannot be reached
        return _build_uncached(build, "no folder for compiled code is writable")
    if reason:
        return _build_uncached(build, f"compiled code in {root} is not used, because {reason}")
    what = _made_for(Path(body.__code__.co_filename).parent)
    kept = root / f"argbest-{_digest(what)}-{body.__module__}.{body.__name__}"
    if _is_whole(kept):
        with suppress(Exception), _cache_folder(kept):  # a process may be replacing the files just now
            return build(cache=True)
    return _build_kept(functools.partial(build, again=_why_again(kept, what)), kept, what)


def _why_again(kept: Path, what: dict[str, str]) -> str:
    """Return why code that was compiled before cannot be used, "" if none was."""
    if kept.exists():
        return f"its files in {kept} are damaged"
    name = kept.name.split("-", 2)[2]
    with suppress(OSError):
        others = sorted(kept.parent.glob(f"argbest-*-{name}"), key=lambda path: path.stat().st_mtime)
        if others:
            return _difference(_listed(others[-1]).get("made for", {}), what)
    return ""


def _difference(before: dict[str, str], now: dict[str, str]) -> str:
    if before.get("numba") not in (None, now["numba"]):
        return f"Numba was {before['numba']} and is {now['numba']}"
    if before.get("python") not in (None, now["python"]):
        return f"Python was {before['python']} and is {now['python']}"
    if before.get("processor") not in (None, now["processor"]):
        return "it is for another kind of processor"
    return "argbest has changed since then"


def ready_since() -> float:
    """Return the `time.monotonic` at which code was last compiled or loaded: now, while some is."""
    return time.monotonic() if _preparing.n else _preparing.ended


def seconds_since(begun: float) -> float:
    """Return for how long code was compiled or loaded since that `time.monotonic`."""
    spans = [*_preparing.spans, (_preparing.begun, time.monotonic())] if _preparing.n else _preparing.spans
    return sum(max(0.0, end - max(start, begun)) for start, end in spans)


def _build_kept(build: Callable[..., Any], kept: Path, what: dict[str, str]) -> Any:
    """Return what is built anew, and keep it in the folder ``kept`` if that is possible."""
    scratch = None
    try:
        scratch = Path(tempfile.mkdtemp(prefix=kept.name, dir=kept.parent))
        with _cache_folder(scratch):
            made = build(cache=True)
    except OSError as error:  # the disk is full, or the folder has become read-only
        return _build_uncached(
            build, f"compiled code cannot be kept in {kept.parent} ({error.strerror or error})"
        )
    else:
        _put_in_place(scratch, kept, what)
        return made
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _put_in_place(scratch: Path, kept: Path, what: dict[str, str]) -> None:
    """Give the folder just filled its name, unless another process was first."""
    with suppress(OSError):  # a full disk, too: this process has its code all the same
        (scratch / CONTENTS).write_text(json.dumps({"made for": what, "files": _contents(scratch)}))
        if kept.exists() and not _is_whole(kept):
            with tempfile.TemporaryDirectory(dir=kept.parent, ignore_cleanup_errors=True) as aside:
                kept.rename(Path(aside) / "broken")
        scratch.rename(kept)


def _build_uncached(build: Callable[..., Any], reason: str) -> Any:
    """Return what is built for this process alone, and say why."""
    sentence = (
        f"{reason}, so every process compiles again. Set NUMBA_CACHE_DIR to a folder that only you can "
        "write to, because the code in it is run as your program."
    )
    shared = _notice.get()
    if shared is None or sentence not in shared.reasons:
        warnings.warn(sentence, CompilationNotice, stacklevel=6)
        if shared is not None:
            shared.reasons.add(sentence)
    return build(cache=False, again="")


def _build(make: Callable[..., Any], *, cache: bool, again: str | None = None) -> Any:
    """Return what was kept, or where that is known to be impossible (``again`` says why) what is compiled."""
    with _quickly(), _preparing.one_more():
        if again is None:
            with event.install_listener("numba:compile", _Unexpected()):
                return make(cache=cache)
        _announce(again, kept=cache)
        return make(cache=cache)


@contextmanager
def _quickly() -> Iterator[None]:
    """Let Numba compile in an eighth less time: it makes very many objects and hardly any garbage."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _is_whole(kept: Path) -> bool:
    """Return whether the folder belongs to the user and holds just the files that were put there."""
    try:
        files = _listed(kept).get("files")
        return not distrust(kept) and bool(files) and _contents(kept) == files
    except (OSError, ValueError):
        return False


def _listed(kept: Path) -> dict[str, Any]:
    """Return what a folder of compiled code says of itself."""
    found = json.loads((kept / CONTENTS).read_text())
    return found if isinstance(found, dict) else {}


def _contents(folder: Path) -> dict[str, str]:
    """Return the digest of every file of compiled code below the folder, by its name there."""
    files = (path for kind in ("nbi", "nbc") for path in folder.rglob(f"*.{kind}"))
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


@functools.cache
def _made_for(folder: Path) -> dict[str, str]:
    """Return all that compiled code depends on: our sources, Python, Numba and the processor.

    The sources are those that may be compiled, the core and this folder, and this file, which says how.
    Machines with different processors may share the folder above.
    """
    core = (Path(__file__).parent / "core").glob("*.py")
    sources = sorted({Path(__file__), *core, *folder.glob("*.py")})
    return {
        "sources": hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest(),
        "python": str(sys.implementation.cache_tag),
        "numba": numba.__version__,
        "processor": repr(cpu_target.target_context.codegen().magic_tuple()),  # system, processor, features
    }


def _digest(what: dict[str, str]) -> str:
    """Return a name for what compiled code depends on."""
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


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
    words: str = ""  # of the compilation under way; loading has none
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
                    self.words = ""
                    self.spans.append((self.begun, self.ended))
                    self.begun = math.inf


_preparing = _Preparation()


@dataclass
class _Notice:
    """What is shown of all that is compiled together."""

    seconds: float
    shown: bool = False
    reasons: set[str] = field(default_factory=set)  # why it cannot be kept


_notice: ContextVar[_Notice | None] = ContextVar("notice", default=None)


def _announce(again: str, *, kept: bool) -> None:
    """Say that a compilation begins, once for all that is compiled together."""
    notice = _notice.get() or _Notice(5.0)
    if notice.shown:
        return
    notice.shown = True
    time_needed = f"about {notice.seconds:.0f} s"
    if again:
        words = f"compiling numerical code again: {time_needed}. What is there cannot be used: {again}."
    else:
        words = f"compiling numerical code: {time_needed}{', only the first time' if kept else ''}."
    _preparing.words = f"compiling, {time_needed}"
    warnings.warn(words, CompilationNotice, stacklevel=8)


class _Unexpected(event.Listener):
    """Says so if Numba compiles what was kept: it thinks otherwise of the files."""

    def on_start(self, event: Any) -> None:
        """Announce it."""
        _announce("Numba does not accept its files", kept=True)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""
