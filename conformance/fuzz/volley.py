"""Send frames over several connections at once, and tell what became of each."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from conformance.connection import Connection, ConnectionClosed, NoAnswer
from reference_impl.wire import Malformed

LANES = 8
ANSWER_S = 10.0
"""The seconds that a target may take for one answer, while the other threads send frames, too."""

Patience = Callable[[bytes], float]
Kind = Literal["answered", "closed", "silent", "refused", "no frame"]


@dataclass(frozen=True)
class Outcome:
    """The result of a frame: an answer (its bytes), the end of the connection, nothing at all, a
    target that accepts no connection, or an answer whose size is impossible."""

    kind: Kind
    answer: bytes = b""


class Volley:
    """Sends frames from several threads at once, each with its own connection, which it opens again
    after the target has closed it."""

    def __init__(self, connect: Callable[[float], Connection]) -> None:
        self._connect = connect
        self._local = threading.local()
        self._opened: list[Connection] = []
        self._pool = ThreadPoolExecutor(LANES)

    def __enter__(self) -> Volley:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for connection in self._opened:
            connection.close()

    def outcomes(self, frames: Iterable[bytes], patience_s: Patience) -> Iterator[Outcome]:
        """Send the frames, LANES of them at a time; yield the outcomes in the order of the
        frames. patience_s: a function that returns how long to wait for an answer to a frame."""
        return self._pool.map(lambda frame: self._in_lane(frame, patience_s(frame)), frames)

    def alone(self, frame: bytes, timeout_s: float = ANSWER_S) -> Outcome:
        """Return the outcome of one frame over a new connection while nothing else is sent."""
        return self._once(frame, timeout_s, None)[0]

    def _in_lane(self, frame: bytes, timeout_s: float) -> Outcome:
        used: Connection | None = getattr(self._local, "connection", None)
        outcome, self._local.connection = self._once(frame, timeout_s, used)
        if outcome.kind == "closed" and used is not None:
            # The target may have closed because of the frame before this one.
            outcome, self._local.connection = self._once(frame, timeout_s, None)
        return outcome

    def _once(
        self, frame: bytes, timeout_s: float, used: Connection | None
    ) -> tuple[Outcome, Connection | None]:
        """Return the outcome, and the connection if it may be used again, else None. Without a
        `used` connection, open one."""
        if used is None:
            try:
                used = self._connect(ANSWER_S)
            except OSError:
                return Outcome("refused"), None
            self._opened.append(used)
        try:
            used.send_bytes(struct.pack(">i", len(frame)) + frame)
            return Outcome("answered", used.receive_frame(timeout_s)), used
        except NoAnswer:
            outcome = Outcome("silent")
        except Malformed:
            outcome = Outcome("no frame")
        except (ConnectionClosed, OSError):
            outcome = Outcome("closed")
        used.close()
        self._opened.remove(used)
        return outcome, None
