"""Limit the memory of all requests that have not arrived completely.

Source: SocketServer.java and SimpleMemoryPool.java (`queued.max.request.bytes`): beyond the limit
the broker reads no more. Kafka's default is no limit but its heap; here it is `DEFAULT_BYTES`.
Kafka counts the size that a client claims, this broker the bytes that have arrived. Two rules keep
the limit from blocking every client: small requests are always read, and so is the oldest
incomplete one. If that makes no progress while others wait, its connection is closed.
"""

from __future__ import annotations

from typing import Protocol

DEFAULT_BYTES = 512 << 20
SMALL_BYTES = 16 << 10
READ_BYTES = 256 << 10
"""The most bytes that one read of a connection returns."""
STANDSTILL_S = 2.0


class Sender(Protocol):
    """A connection with an incomplete request."""

    last_used_s: float

    def read_on(self) -> None:
        """Resume reading from this client."""

    def end(self, reason: str) -> None:
        """Close the connection at once."""


class Intake:
    """The limit of the memory of incomplete requests: it knows how many bytes each sender holds, in
    the order in which their requests began, and which senders wait for room."""

    def __init__(self, configured_bytes: int, request_bytes_max: int) -> None:
        self.bytes_max = configured_bytes
        if configured_bytes <= 0:
            self.bytes_max = max(DEFAULT_BYTES, request_bytes_max)
        self.held_bytes = 0
        self._held: dict[Sender, int] = {}
        self._waiting: dict[Sender, None] = {}
        self._resumed: set[Sender] = set()
        """The senders that may read on, and have not read since: there is room for each."""

    def note(self, sender: Sender, pending_bytes: int) -> bool:
        """Record how many bytes of a request have arrived. Return False if no more may be read
        until the sender's `read_on` is called."""
        was = self._held.get(sender, 0)
        self._resumed.discard(sender)
        if pending_bytes <= SMALL_BYTES:
            if was:
                self.forget(sender)
            return True
        self._held[sender] = pending_bytes
        self.held_bytes += pending_bytes - was
        if self.held_bytes <= self.bytes_max or sender is next(iter(self._held)):
            return True
        self._waiting[sender] = None
        return False

    def forget(self, sender: Sender) -> None:
        """Release the memory of a request that is complete or abandoned, so that others can
        continue."""
        self.held_bytes -= self._held.pop(sender, 0)
        self._waiting.pop(sender, None)
        self._resumed.discard(sender)
        self._let_read_on()

    def _let_read_on(self) -> None:
        """Resume the oldest of all incomplete requests if it waits, even without room; then, while
        there is room, the others in the order in which they began to wait."""
        oldest = next(iter(self._held), None)
        if oldest is not None and oldest in self._waiting:
            self._resume(oldest)
        while self._waiting and self._has_room():
            self._resume(next(iter(self._waiting)))

    def _has_room(self) -> bool:
        promised = READ_BYTES * (len(self._resumed) + 1)
        return self.held_bytes + promised <= self.bytes_max

    def _resume(self, sender: Sender) -> None:
        del self._waiting[sender]
        self._resumed.add(sender)
        sender.read_on()

    def end_standstills(self, now_s: float) -> None:
        """Resume senders for which there is room. If others still wait, close the connections that
        hold memory and have sent nothing for STANDSTILL_S."""
        self._let_read_on()
        if not self._waiting:
            return
        for sender in list(self._held):
            if sender not in self._waiting and now_s - sender.last_used_s > STANDSTILL_S:
                sender.end(
                    f"it sent no more of its request for {STANDSTILL_S:g} s while others waited"
                    f" for memory (queued.max.request.bytes: {self.bytes_max})"
                )
