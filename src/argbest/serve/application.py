"""The web application: four addresses to read, for allowed hosts, on connections that end after a while."""

import asyncio
import hashlib
import html
from collections.abc import Awaitable, Callable
from importlib.resources import files
from ipaddress import ip_address

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from argbest.report.page.document import script, styles
from argbest.serve.watch import StudyWatch
from argbest.texts import harmless

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
MOST_CONNECTIONS = 128  # at once, well below the files that a process may have open
PATIENCE = 30.0  # seconds for a request to come and its answer to be taken


def application(watch: StudyWatch, allowed: Callable[[str], bool]) -> ASGIApp:
    """Return the application that shows what is watched to requests whose Host is ``allowed``.

    A page elsewhere can have its own name point at this machine and then read from it as if from itself;
    but such requests carry that name.
    """
    page = _read("live.html").replace("{{title}}", html.escape(harmless(watch.title))).encode()
    code = "\n".join((script(), _read("standing.js"), _read("live.js"))).encode()
    look = f"{styles()}\n{_read('live.css')}".encode()

    async def state(_: Request) -> Response:
        return JSONResponse(watch.state(), headers={"Cache-Control": "no-store"})

    async def picture(request: Request) -> Response:
        found = watch.picture()
        if found is None:
            return PlainTextResponse("Nothing is known yet.", 404, {"Cache-Control": "no-store"})
        return _unless_known(request, found[1], "application/json", found[0])

    fixed = {
        "/": (page, "text/html; charset=utf-8"),
        "/live.js": (code, "text/javascript; charset=utf-8"),
        "/live.css": (look, "text/css; charset=utf-8"),
    }
    routes = [Route(path, _fixed(*what), methods=["GET"]) for path, what in fixed.items()]
    routes += [Route("/state", state, methods=["GET"]), Route("/picture", picture, methods=["GET"])]
    return _Guarded(Starlette(routes=routes), allowed)


def is_loopback(host: str) -> bool:
    """Return whether a host's name or number, as a URL has it, means this machine and no other."""
    number = _number(host)
    return host.lower() == "localhost" if number is None else ip_address(number).is_loopback


def is_own(host: str, names: frozenset[str]) -> bool:
    """Return whether a host is a number, which nobody can point elsewhere, or one of our names."""
    return _number(host) is not None or host.lower() in names


def _number(host: str) -> str | None:
    number = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return str(ip_address(number))
    except ValueError:
        return None


class _Guarded:
    """The application behind the check of the Host, with the same headers on everything it says."""

    def __init__(self, inside: ASGIApp, allowed: Callable[[str], bool]) -> None:
        self._inside, self._allowed = inside, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        inside = self._inside
        if scope["type"] == "http" and not self._allowed(_host(scope)):
            inside = PlainTextResponse("This live view is not served under that name.", 421)
        await inside(scope, receive, send_with_headers)


def _host(scope: Scope) -> str:
    """Return the host that a request names, without its port; "" if it names none, or several."""
    named: list[str] = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    if len(named) != 1:
        return ""
    host, colon, port = named[0].rpartition(":")
    return host if colon and port.isdigit() else named[0]


def _fixed(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    tag = hashlib.sha256(content).hexdigest()[:16]

    async def answer(request: Request) -> Response:
        return _unless_known(request, content, kind, tag)

    return answer


def _unless_known(request: Request, content: bytes, kind: str, version: str) -> Response:
    """Return the content, or status 304 where the browser has it already."""
    headers = {"ETag": f'"{version}"', "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


def _read(name: str) -> str:
    return files("argbest.serve").joinpath("page", name).read_text(encoding="utf-8")


class BriefProtocol(H11Protocol):
    """HTTP that closes connections whose answer takes too long, and the oldest where there are too many."""

    _since = 0.0  # when it was opened, or the last answer was complete
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and make room if there are too many."""
        super().connection_made(transport)
        self._renew()
        if len(self.connections) > MOST_CONNECTIONS:
            others = (each for each in self.connections if isinstance(each, BriefProtocol))
            oldest = min(others, key=lambda each: each._since)  # noqa: SLF001  # of this very class
            self.connections.discard(oldest)
            oldest.transport.abort()

    def on_response_complete(self) -> None:
        """Grant the time for another request; the answer itself may still be on its way."""
        super().on_response_complete()
        self._renew()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)

    def _renew(self) -> None:
        if self._end is not None:
            self._end.cancel()
        self._since = self.loop.time()
        self._end = self.loop.call_later(PATIENCE, self.transport.abort)
