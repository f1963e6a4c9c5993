"""Connections of a live view: no client can hold one for long, and no crowd of clients keeps others out."""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 128  # at once, well below the files that a process may have open
PATIENCE = 30.0  # seconds for a request to come and its answer to be taken


class BriefProtocol(H11Protocol):
    """HTTP on connections that are cut off if no answer is complete for too long, the oldest if too many."""

    _since = 0.0  # when it was opened, or the last answer was complete
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and make room if there are too many."""
        super().connection_made(transport)
        self._renew()
        if len(self.connections) > MOST:
            others = (each for each in self.connections if isinstance(each, BriefProtocol))
            oldest = min(others, key=lambda each: each._since)
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
