"""A wire between a client and a PostgreSQL server that breaks when an acknowledgement is on its way."""

import re
import select
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NAME = ".s.PGSQL.5432"


class Wire:
    """Forwards everything; after ``spared`` more commits, ``cuts`` get through and their answers do not."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder, self.spared, self.cuts, self.done = folder, 0, 0, 0
        self._server = server
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / _NAME))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _cuts(self) -> bool:
        if self.spared > 0:
            self.spared -= 1
            return False
        self.cuts -= 1
        return self.cuts >= 0

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(str(self._server / _NAME))
            prepared = b"COMMIT"
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    (server if ready is client else client).sendall(data)
                    if named := re.search(rb"(_pg3_\d+)\0COMMIT\0", data):  # sent by this name from now on
                        prepared = named[1] + b"\0"
                    if ready is client and (b"COMMIT" in data or prepared in data) and self._cuts():
                        server.recv(65536)  # committed; but nobody will be told
                        self.done += 1
                        return


@contextmanager
def wired(server: Path) -> Iterator[Wire]:
    """Yield a wire to the server whose socket is in this folder."""
    with tempfile.TemporaryDirectory(prefix="argbest-wire-", dir="/tmp") as folder:
        wire = Wire(Path(folder), server)
        try:
            yield wire
        finally:
            wire.close()
