"""A PostgreSQL server for the tests: started once per session on a socket, gone at its end in any case."""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from watching import PATIENCE

# The shell outlives the tests only until its standard input closes, which even SIGKILL cannot prevent.
_GUARD = """
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync="$3" -c max_connections=100 \
    >"$2/log" 2>&1 </dev/null &
server=$!
read -r _
kill -QUIT $server 2>/dev/null
wait $server
rm -rf "$2"
"""
_ACCOUNTS = ("postgres", "nobody")  # the server refuses to run as root
_numbers = itertools.count()


@dataclass(frozen=True)
class Server:
    """A running server; whoever reaches its socket is let in."""

    folder: Path
    programs: Path
    account: Mapping[str, Any]  # whom its processes belong to

    def url(self, database: str = "postgres") -> str:
        """Return the URL of a database, as a user would write it."""
        return f"postgresql://argbest@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """Return the URL of a new and empty database."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def stop(self, mode: str) -> None:
        """Stop the server: "fast", "immediate" (without a word to anybody), or "kill" all of a sudden."""
        if mode != "kill":
            self._control("stop", "-m", mode)
            return
        process = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(process, signal.SIGKILL)

    def start(self) -> None:
        """Start it again; what its last life left behind may have to vanish first."""
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        # A server that was killed may go on as a zombie, and count as alive.
        for left in (self.folder / "data" / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):
            left.unlink(missing_ok=True)
        deadline = time.monotonic() + PATIENCE
        while self._control("start", "-l", str(self.folder / "log"), "-o", options, "-w") != 0:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.1)

    def _control(self, *words: str) -> int:
        command = [str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), *words]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        return subprocess.run(command, check=False, timeout=PATIENCE, **quiet, **self.account).returncode

    def run(self, statement: str, url: str | None = None) -> list[tuple[object, ...]]:
        """Run one statement behind argbest's back, and return its rows."""
        import psycopg

        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return list(cursor.fetchall()) if cursor.description else []


def programs() -> Path | None:
    """Return the folder of initdb and postgres, None if there is none."""
    on_path = shutil.which("initdb")
    if on_path and shutil.which("postgres"):
        return Path(on_path).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def running(folder_of_programs: Path, *, fsync: str = "off") -> Iterator[Server]:
    """Yield a new server, and stop it; with fsync "on" it waits for the disk as a real one does."""
    folder = Path(tempfile.mkdtemp(prefix="argbest-pg-", dir="/tmp"))  # a socket wants a short name
    account: dict[str, Any] = {}
    if os.getuid() == 0:
        known = {each.pw_name: each for each in pwd.getpwall()}
        user = next(known[name] for name in _ACCOUNTS if name in known)
        account = {"user": user.pw_uid, "group": user.pw_gid}
        os.chown(folder, user.pw_uid, user.pw_gid)
    initdb = [str(folder_of_programs / "initdb"), "-D", str(folder / "data"), "-U", "argbest", "-A", "trust"]
    options = ["-E", "UTF8", "--locale=C", "--no-sync"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    subprocess.run(
        [*initdb, *options],
        check=True,
        capture_output=True,
        cwd=folder,
        env=clean,
        timeout=PATIENCE,
        **account,
    )
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "guard", str(folder_of_programs), str(folder), fsync],
        stdin=subprocess.PIPE,
        start_new_session=True,  # an interrupt at the terminal is for the tests
        cwd="/",
        env=clean,
        **account,
    )
    try:
        server = Server(folder, folder_of_programs, account)
        _wait_for(server, guard)
        yield server
    finally:
        assert guard.stdin is not None
        server.stop("immediate")  # one that was started again is not the guard's
        guard.stdin.close()
        guard.wait(timeout=PATIENCE)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(server: Server, guard: "subprocess.Popen[bytes]") -> None:
    import psycopg

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            server.run("SELECT 1")
            return
        except psycopg.OperationalError as error:
            if guard.poll() is not None or time.monotonic() > deadline:
                log = server.folder / "log"
                raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}") from error
            time.sleep(0.05)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server; its programs may be missing on a user's machine, never where CI is set."""
    found = programs()
    if found is None:
        reason = "initdb and postgres are neither on PATH nor under /usr/lib/postgresql"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with running(found) as server:
        yield server
