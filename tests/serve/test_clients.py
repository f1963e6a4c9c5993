"""Clients that never finish: they hold nothing for long, fill no log, and keep nobody else waiting."""

import http.client
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from serve.crowd import create
from serve.live import get, serving
from watching import PATIENCE, eventually

from argbest.serve import application
from argbest.serve.server import LiveView

HOST = "Host: 127.0.0.1\r\n"
UNFINISHED = {
    "silence": "",
    "headers that never end": f"GET / HTTP/1.1\r\n{HOST}X-Slow: ",
    "a body that never comes": f"POST / HTTP/1.1\r\n{HOST}Content-Length: 1000000\r\n\r\nx",
    "a body in pieces": f"POST /state HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nx",
    "answers that nobody reads": f"GET /live.js HTTP/1.1\r\n{HOST}\r\n" * 40,
    "a connection kept for nothing": f"GET /state HTTP/1.1\r\n{HOST}\r\n",
}


@pytest.fixture
def brief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveView]:
    """A live view with less patience than usual, and enough for an ordinary client on a busy machine."""
    monkeypatch.setattr(application, "PATIENCE", 10.0)
    create(tmp_path / "study.db", budget=40).run(24)
    with serving(tmp_path / "study.db") as view:
        yield view


def clients(view: LiveView, stack: ExitStack, number: int, said: str) -> list[socket.socket]:
    """Return open connections on which the same was said."""
    where = urlsplit(view.url)
    opened = []
    for _ in range(number):
        client = stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        client.connect((where.hostname, where.port))
        client.sendall(said.encode())
        opened.append(client)
    return opened


def held(view: LiveView) -> int:
    return len(view.server.server_state.connections)


def answered(view: LiveView) -> None:
    """Check that an ordinary client gets its page, with the time-out of any client."""
    assert get(view, "/").status == get(view, "/state").status == 200


def test_clients_that_never_finish_are_cut_off(brief: LiveView) -> None:
    with ExitStack() as stack:
        for said in UNFINISHED.values():
            clients(brief, stack, 20, said)
        answered(brief)
        assert eventually(lambda: held(brief) == 0)
        answered(brief)


def test_one_who_sends_a_letter_now_and_then_is_cut_off_as_well(brief: LiveView) -> None:
    with ExitStack() as stack:
        [client] = clients(brief, stack, 1, UNFINISHED["headers that never end"])

        def refused() -> bool:
            try:
                client.sendall(b"x")
            except OSError:
                return True
            return False

        assert not refused()
        assert eventually(refused)


def test_a_crowd_of_them_keeps_nobody_out(brief: LiveView, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "PATIENCE", 600.0)  # however long they may stay
    with ExitStack() as stack:
        for said in UNFINISHED.values():
            clients(brief, stack, 50, said)
            answered(brief)
            assert eventually(lambda: held(brief) <= application.MOST_CONNECTIONS + 1)
    assert eventually(lambda: held(brief) <= 1)
    answered(brief)


def test_an_ordinary_client_keeps_its_connection_while_it_asks(brief: LiveView) -> None:
    where = urlsplit(brief.url)
    with closing(http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)) as client:
        client.connect()
        opened = client.sock
        for _ in range(12):  # longer than anybody may be silent
            client.request("GET", "/state")
            assert client.getresponse().read().startswith(b"{")
            time.sleep(1.0)
        assert client.sock is opened


def test_a_client_that_lingers_at_the_end_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create(tmp_path / "study.db", budget=40).run(24)
    with serving(tmp_path / "study.db"):
        log = logging.getLogger("uvicorn.error")
        log.error("Cancel %s running task(s), timeout graceful shutdown exceeded", 0)  # as uvicorn says it
        log.error("Exception in ASGI application")
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("Exception in ASGI application")


def test_rubbish_fills_no_log_and_ctrl_c_still_ends_it(tmp_path: Path) -> None:
    create(tmp_path / "study.db", budget=40).run(24)
    command = [sys.executable, "-c", "from argbest.cli import main; main()"]
    with (
        subprocess.Popen(
            [*command, "serve", str(tmp_path / "study.db"), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        ) as process,
        ExitStack() as stack,
    ):
        assert process.stdout is not None
        where = urlsplit(process.stdout.readline().split(" at ")[1].strip())
        for said in (b"\x16\x03\x01\x1b[2J rubbish\r\n\r\n", b"GET / HTTP/1.1\r\nX: \x00\r\n\r\n") * 100:
            client = stack.enter_context(
                socket.create_connection((where.hostname, where.port), timeout=PATIENCE)
            )
            client.sendall(said)
            assert client.recv(100).startswith(b"HTTP/1.1 400")
        unfinished = stack.enter_context(socket.create_connection((where.hostname, where.port)))
        unfinished.sendall(b"GET /")
        process.send_signal(signal.SIGINT)
        out, complaint = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert complaint == ""
    assert "the live view has ended." in out
