"""A live view for tests, served by a thread, and what its pages answer."""

import http.client
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from watching import PATIENCE, eventually

from argbest.serve.server import LiveView

CROWD = Path(__file__).parent / "crowd.py"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def serving(storage: Path | str, **options: Any) -> Iterator[LiveView]:
    """Give a live view at a free port, and end it."""
    view = LiveView(str(storage), **{"port": 0} | options)
    thread = threading.Thread(target=view.serve)
    thread.start()
    try:
        yield view
    finally:
        view.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def get(view: LiveView, path: str, *, method: str = "GET", **headers: str) -> Answer:
    """Return what the server answers; the path is sent as it is."""
    where = urlsplit(view.url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)
    with closing(connection):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host="Host" in named)
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders()
        found = connection.getresponse()
        return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())


def known(view: LiveView, replications: int) -> Any:
    """Return the picture once it shows so many replications, asking all along as a page does."""

    def shown() -> bool:
        return (get(view, "/state").json()["picture_replications"] or 0) >= replications

    assert eventually(shown)
    return get(view, "/picture").json()


@contextmanager
def crowd(file: Path, workers: int, budget: int) -> Iterator[Callable[[int], None]]:
    """Give what allows so many simulations in all to children that work at the study; they end well."""
    allowed = file.with_suffix(".allowed")
    allowed.touch()

    def allow(simulations: int) -> None:
        allowed.write_bytes(b"." * simulations)

    command = [sys.executable, str(CROWD), str(file), str(workers), str(budget), str(allowed)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield allow
            _, complaint = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, complaint
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def rows(file: Path) -> list[str]:
    """Return everything that a database holds, as the statements that would make it again."""
    with closing(sqlite3.connect(file)) as database:
        return list(database.iterdump())
