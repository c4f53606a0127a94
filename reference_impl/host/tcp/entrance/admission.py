"""Let connections in, keep them waiting, or close them, as the limits of connections say.

Source: SocketServer.java (Acceptor). Kafka does not accept a connection that must wait. Here it is
accepted and not read, which is the same to its client.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from typing import Protocol

from reference_impl.core.quotas.connections import ConnectionLimits


class Visitor(Protocol):
    """The parts of a connection that the admission uses."""

    @property
    def address(self) -> str:
        """The IP address of its client."""

    def hold(self) -> None:
        """Read nothing from now on."""

    def let_in(self) -> None:
        """Read again."""

    def end(self, reason: str) -> None:
        """Close at once, and log the reason."""


class Admission:
    """The connections that count towards the limits, and those that wait until the limits permit
    them."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._inside: set[Visitor] = set()
        self._waiting: deque[Visitor] = deque()
        self._next_look: asyncio.TimerHandle | None = None

    def arrived(self, visitor: Visitor) -> None:
        """Queue a new connection, and admit it if no other waits and the limits permit it."""
        self._waiting.append(visitor)
        visitor.hold()
        self._look()

    def left(self, visitor: Visitor) -> None:
        """Forget a closed connection, and admit those that wait as far as the limits permit now."""
        if visitor in self._inside:
            self._inside.discard(visitor)
            self._limits.leave(visitor.address)
        elif visitor in self._waiting:
            self._waiting.remove(visitor)
        self._look()

    def close(self) -> None:
        """Admit no further connection."""
        self._waiting.clear()
        if self._next_look is not None:
            self._next_look.cancel()

    def _look(self) -> None:
        """Admit waiting connections in order until one must wait longer, and set a timer for that
        one. End one that the limits refuse, after the delay that they say."""
        loop = asyncio.get_running_loop()
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        while self._waiting:
            now_ms = time.monotonic_ns() // 1_000_000
            wait_ms = self._limits.wait_ms(now_ms)
            if wait_ms:
                if wait_ms != math.inf:
                    self._next_look = loop.call_later(wait_ms / 1000, self._look)
                return
            visitor = self._waiting.popleft()
            refusal = self._limits.enter(visitor.address, now_ms)
            if refusal is None:
                self._inside.add(visitor)
                visitor.let_in()
            else:
                loop.call_later(refusal.after_ms / 1000, visitor.end, refusal.reason)
