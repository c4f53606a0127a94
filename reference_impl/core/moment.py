"""The time and the randomness of the event that is handled now, which all parts of a broker share.

The core has neither a clock nor a random source: each event brings time and random bytes
(`core/events.py`).
"""

from __future__ import annotations

import hashlib
from uuid import UUID

from reference_impl.core.events import Event


class Moment:
    """The current moment; it changes with every event."""

    def __init__(self, event: Event) -> None:
        self.enter(event)

    def enter(self, event: Event) -> None:
        """Take over the clocks and the random bytes of this event."""
        self.now_ms = event.now_ms
        self.monotonic_ms = event.monotonic_ms
        self._entropy = event.entropy
        self._draws = 0

    def random_bytes(self, count: int) -> bytes:
        """Return this many bytes (at most 64), drawn from the entropy of the current event and
        different at each call."""
        self._draws += 1
        key = self._draws.to_bytes(8, "big")
        return hashlib.blake2b(self._entropy, key=key, digest_size=count).digest()

    def random_uuid(self) -> UUID:
        """Return a random UUID (version 4)."""
        return UUID(bytes=self.random_bytes(16), version=4)
