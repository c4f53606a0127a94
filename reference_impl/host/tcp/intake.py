"""Bound the memory of all requests that have not arrived completely.

Source: SocketServer.java and SimpleMemoryPool.java (`queued.max.request.bytes`): beyond the bound
no more is read. Kafka's default is no bound but its heap; here `DEFAULT_BYTES` stands for it. Kafka
takes the size that a client claims, this broker the bytes that have come. Two things keep the bound
from stopping every client: small requests are always read, and the oldest one in progress is read
on, unless it makes no progress, which ends its connection as soon as others wait for it.
"""

from __future__ import annotations

from typing import Protocol

DEFAULT_BYTES = 512 << 20
SMALL_BYTES = 16 << 10
STANDSTILL_S = 2.0


class Sender(Protocol):
    """A connection with a request under way."""

    last_used_s: float

    def read_on(self) -> None:
        """Resume reading from this client."""

    def end(self, reason: str) -> None:
        """Close it at once."""


class Intake:
    """How many bytes each sender holds, in the order in which they began."""

    def __init__(self, configured_bytes: int, request_bytes_max: int) -> None:
        self.bytes_max = configured_bytes
        if configured_bytes <= 0:
            self.bytes_max = max(DEFAULT_BYTES, request_bytes_max)
        self.held_bytes = 0
        self._held: dict[Sender, int] = {}
        self._waiting: dict[Sender, None] = {}

    def note(self, sender: Sender, pending_bytes: int) -> bool:
        """Note how much of a request has come. Return False if no more may be read for now."""
        was = self._held.get(sender, 0)
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
        """Free the memory of a request that is complete or gone, so that others may go on."""
        self.held_bytes -= self._held.pop(sender, 0)
        self._waiting.pop(sender, None)
        oldest = next(iter(self._held), None)
        for waiting in list(self._waiting):
            if self.held_bytes <= self.bytes_max or waiting is oldest:
                del self._waiting[waiting]
                waiting.read_on()

    def end_standstills(self, now_s: float) -> None:
        """Drop those who send nothing while others wait for what they hold."""
        if not self._waiting:
            return
        for sender in list(self._held):
            if sender not in self._waiting and now_s - sender.last_used_s > STANDSTILL_S:
                sender.end(
                    f"it sent no more of its request for {STANDSTILL_S:g} s while others waited"
                    f" for memory (queued.max.request.bytes: {self.bytes_max})"
                )
