"""Share the time of the event loop among connections, so that no client waits for another's pile.

A client may pipeline thousands of requests, and one read brings them all. They are handed over in
turns of a few milliseconds, and between two turns the loop looks at its sockets: a request of a
client that has none waiting is answered there, before the pile goes on. Piles take turns round
robin. Kafka reads one request of a connection at a time instead (SocketServer.java mutes the
channel meanwhile).
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

TURN_S = 0.005


class Piled(Protocol):
    """A connection with requests that wait for their turn."""

    def take_turn(self) -> None:
        """Hand over at least one request, and more until the turn is over."""


class Turns:
    """Connections take turns, one at a time; `wait` is for those that did not get to the end of
    their requests."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[Piled, None] = {}
        self._ends_s: float | None = None

    def is_over(self) -> bool:
        """Return whether the loop must look at its sockets now. The first call begins a turn."""
        now_s = time.monotonic()  # the clock of the loop stands still within a turn
        if self._ends_s is None:
            self._ends_s = now_s + TURN_S
            self._loop.call_soon(self._next)
            return False
        return now_s >= self._ends_s

    def wait(self, connection: Piled) -> None:
        """Queue a connection for one of the next turns, once."""
        if connection not in self._waiting:
            self._waiting[connection] = None
            if self._ends_s is None:
                self._ends_s = time.monotonic()
                self._loop.call_soon(self._next)

    def forget(self, connection: Piled) -> None:
        """Give a connection no more turns."""
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
