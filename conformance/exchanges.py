"""The last bytes that a case has sent and received: the evidence beside a failure."""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass

from reference_impl.wire import API_NAMES

KEPT, BYTES_MAX = 6, 4096
"""The messages that a failure shows, and the bytes of each that are kept."""
KEPT_MAX = 40
"""The messages that are kept, as `touchstone compare` shows them of a case that passed: it went on
after the step at which another target failed."""
_START = struct.Struct(">ihh")
"""The size of a request, its API key and its version."""


@dataclass(frozen=True)
class Message:
    """The first bytes of a request (with its size) or of a response (without it)."""

    is_request: bool
    size: int
    start: bytes

    def as_dict(self) -> dict[str, object]:
        """Return the message as the results contain it: direction, size, hex and, for a request,
        its API and version."""
        told: dict[str, object] = {
            "direction": "request" if self.is_request else "response",
            "bytes": self.size,
            "hex": self.start.hex(),
        }
        if self.is_request and len(self.start) >= _START.size:
            _, key, version = _START.unpack_from(self.start)
            told |= {"api": API_NAMES.get(key, str(key)), "version": version}
        return told


class Exchanges:
    """The last messages of a case, over all its connections."""

    def __init__(self) -> None:
        self._kept: deque[Message] = deque(maxlen=KEPT_MAX)

    def sent(self, data: bytes) -> None:
        self._kept.append(Message(True, len(data), bytes(data[:BYTES_MAX])))

    def received(self, frame: bytes) -> None:
        self._kept.append(Message(False, len(frame), bytes(frame[:BYTES_MAX])))

    def forget(self) -> None:
        """Drop the messages of the last case."""
        self._kept.clear()

    def told(self) -> list[dict[str, object]]:
        """Return the last messages, the oldest first."""
        return [message.as_dict() for message in self._kept]


EXCHANGES = Exchanges()
"""The messages of the running case."""
