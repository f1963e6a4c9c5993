"""The server of a live view: on this machine alone unless told otherwise, until Ctrl-C."""

import logging
import os
import socket
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

from argbest.errors import ArgbestError, InputError
from argbest.serve.watch import StudyWatch

if TYPE_CHECKING:
    import uvicorn

LOOPBACK = "127.0.0.1"
_LAST_ANSWERS = 2  # seconds for requests under way when the server ends


class LiveView:
    """A live view of a stored study at an address of this machine; ``port`` 0 takes a free one.

    Without ``allow_remote`` only this machine can reach it: whoever can may read the whole study.
    """

    def __init__(
        self,
        storage: str,
        *,
        name: str = "study",
        host: str = LOOPBACK,
        port: int = 8000,
        allow_remote: bool = False,
    ) -> None:
        _need_the_extra()
        family, number = _resolved(host, allow_remote=allow_remote)
        self.watch = StudyWatch(storage, name=name)
        self._socket = _listening(family, number, port)
        shown = f"[{number}]" if family is socket.AF_INET6 else number
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}/"
        self.server = _server(self.watch, _allowed(host, allow_remote=allow_remote))

    def serve(self) -> None:
        """Answer until Ctrl-C, or until `stop`."""
        self.watch.start()
        try:
            self.server.run(sockets=[self._socket])
        finally:
            self.watch.close()
            self._socket.close()

    def stop(self) -> None:
        """Let `serve` end, from another thread."""
        self.server.should_exit = True


def _need_the_extra() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ArgbestError(
            f"the live view needs Starlette and uvicorn, and there is no {missing.name}: "
            "pip install 'argbest[serve]'"
        ) from missing


def _resolved(host: str, *, allow_remote: bool) -> tuple[socket.AddressFamily, str]:
    """Return the family and the number of the address that a host names, if it may be served."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"host={host!r} names no address of this machine. Give {LOOPBACK!r}.") from error
    addresses = [(family, str(address[0])) for family, _, _, _, address in found]
    family, number = min(addresses, key=lambda each: each[0] != socket.AF_INET)
    if not allow_remote and not ip_address(number.partition("%")[0]).is_loopback:
        raise InputError(
            f"host={host!r} can be reached from other machines, and the live view asks for no password and "
            "does not encrypt: anyone who reaches it can read the whole study. Use a tunnel instead: "
            f"ssh -L 8000:{LOOPBACK}:8000 MACHINE. If everyone may read it, add --allow-remote."
        )
    return family, number


def _listening(family: socket.AddressFamily, number: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # take a port that the last server left; elsewhere it means to share it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((number, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"port {port} of {number} cannot be used ({reason}). Give another one, or --port 0 for "
            "any free one."
        ) from error
    return listener


def _allowed(host: str, *, allow_remote: bool) -> Callable[[str], bool]:
    from argbest.serve.application import is_loopback, is_own

    if not allow_remote:
        return is_loopback
    names = {"localhost", host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
    return partial(is_own, names=frozenset(names))


def _server(watch: StudyWatch, allowed: Callable[[str], bool]) -> "uvicorn.Server":
    import uvicorn

    from argbest.serve.application import BriefProtocol, application

    config = uvicorn.Config(
        application(watch, allowed),
        loop="asyncio",
        http=BriefProtocol,
        ws="none",
        lifespan="off",
        log_level="error",  # a warning for every request that is none would be a flood
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_LAST_ANSWERS,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_error)
    return uvicorn.Server(config)


def _is_error(record: logging.LogRecord) -> bool:
    """Return whether a line of the server's log is worth showing: clients that linger at the end are not."""
    return not record.getMessage().endswith("timeout graceful shutdown exceeded")
