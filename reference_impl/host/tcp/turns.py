"""Share the event loop's time among connections, so that no client waits for another's queue of
requests.

A client may pipeline thousands of requests, and one read may return all of them. They are processed
in turns of a few milliseconds, and between two turns the event loop polls its sockets: a request of
a client without a queue is answered there first. Clients with queues take turns round robin. Kafka
reads one request of a connection at a time instead (SocketServer.java mutes the channel meanwhile).
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

TURN_S = 0.005


class Piled(Protocol):
    """A connection with requests left when its turn is over."""

    def take_turn(self) -> None:
        """Process at least one request, and further ones until the turn is over."""


class Turns:
    """The queue of connections that still have requests when their turn is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Piled, None] = {}
        self._ends_s: float | None = None

    def is_over(self) -> bool:
        """Return whether the event loop must poll its sockets now. The first call begins a turn."""
        now_s = time.monotonic()  # the event loop's clock does not advance within a turn
        if self._ends_s is None:
            self._ends_s = now_s + TURN_S
            self._loop.call_soon(self._next)
            return False
        return now_s >= self._ends_s

    def wait(self, connection: Piled) -> None:
        """Queue a connection for one of the next turns; do nothing if it is queued already."""
        if connection not in self._waiting:
            self._waiting[connection] = None
            if self._ends_s is None:
                self._ends_s = time.monotonic()
                self._loop.call_soon(self._next)

    def forget(self, connection: Piled) -> None:
        """Remove a connection from the queue."""
        self._waiting.pop(connection, None)

    def _next(self) -> None:
        if not self._waiting:
            self._ends_s = None
            return
        self._ends_s = time.monotonic() + TURN_S
        self._loop.call_soon(self._next)
        while self._waiting:
            connection = next(iter(self._waiting))
            del self._waiting[connection]
            connection.take_turn()
            if self.is_over():
                break
