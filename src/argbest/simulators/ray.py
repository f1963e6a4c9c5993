"""An executor on Ray, for those who have it: the module `ray` is given, never imported here."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import wait as wait_for
from typing import Any, ParamSpec, TypeVar, cast

from argbest.errors import InputError

_P = ParamSpec("_P")
_T = TypeVar("_T")


class RayExecutor(Executor):
    """Jobs as Ray tasks: ``RayExecutor(ray, num_cpus=1)`` after ``import ray; ray.init()``.

    Unlike Ray's own default, a job whose worker dies is not tried again (``max_retries=0``), since the study
    decides that. Ray sends functions by value, so lambdas will do; argbest has to be installed on the
    workers. Shutting the executor down leaves Ray itself running.

    Args:
        ray (module): Ray, imported and started.
        options (options of Ray): Those of `ray.remote`, such as ``num_cpus`` or ``memory``.
    """

    def __init__(self, ray: Any, **options: Any) -> None:
        missing = [name for name in ("remote", "is_initialized", "cancel") if not hasattr(ray, name)]
        if missing:
            raise InputError(
                f"got {ray!r}, which is not the module `ray`; import ray, and give it: RayExecutor(ray)."
            )
        if not ray.is_initialized():
            raise InputError("Ray has not been started; call ray.init(), or ray.init(address=...), first.")
        self._ray = ray
        self._task = ray.remote(**{"max_retries": 0, **options})(_call)
        self._lock = threading.Lock()
        self._open: dict[Future[Any], Any] = {}
        self._closed = False

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Return the future of ``fn(*args, **kwargs)`` as a Ray task.

        Args:
            fn: What to call.
            args: What it is called with.
            kwargs: What it is called with, by name.
        """
        with self._lock:
            if self._closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            task = self._task.remote(fn, args, kwargs)
            future = cast("Future[_T]", task.future())
            self._open[future] = task
        future.add_done_callback(self._done)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs; with ``cancel_futures`` cancel what has not ended, killing its workers."""
        with self._lock:
            self._closed = True
            unfinished = dict(self._open)
        if cancel_futures:
            for future, task in unfinished.items():
                future.cancel()
                self._ray.cancel(task, force=True)
        if wait:
            wait_for(unfinished)

    def _done(self, future: "Future[Any]") -> None:
        with self._lock:
            task = self._open.pop(future, None)
        if task is not None and future.cancelled():
            future.set_running_or_notify_cancel()  # Ray never does, and `wait` would wait for ever
            self._ray.cancel(task)


def _call(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)
