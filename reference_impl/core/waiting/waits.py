"""The waits that a handler may yield beside its effects, and work that nobody waits for.

A handler is sent the outcome of what it waited for, or is thrown Refused; then it must look again
at all it knew. `core/waiting` suspends and resumes it; GiveWay (`core/effects.py`) is one more.

Source: DelayedOperation.java, DeferredEventQueue.java, where each of these is a callback.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference_impl.core.effects import Effect, Wait
from reference_impl.core.refused import Refused
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct


@dataclass(slots=True)
class Later(Wait):
    """Continue after this many milliseconds. The outcome is None."""

    ms: int


@dataclass(slots=True)
class Pause(Wait):
    """Go on when others have had their turn, if any has waited long enough: GiveWay for work that
    no request began. The outcome is None."""


@dataclass(slots=True)
class Applied(Wait):
    """Go on when this broker has applied the metadata log up to this offset. The outcome is None,
    or REQUEST_TIMED_OUT after the time; with a time of None it waits on."""

    metadata_offset: int
    timeout_ms: int | None = None
    decided_in: int | None = None
    """Set where the controller of this node has decided what is waited for, in this epoch: the
    outcome is NOT_CONTROLLER once the epoch is over, as another record may take the offset."""


@dataclass(slots=True)
class Replicated(Wait):
    """Go on when the high watermark of a partition has reached this offset. The outcome is None,
    the reason why this broker does not lead the partition, or REQUEST_TIMED_OUT after the time;
    with a time of None it waits on."""

    topic: str
    index: int
    offset: int
    timeout_ms: int | None = None


@dataclass(slots=True)
class MetadataNews(Wait):
    """Go on when the metadata log goes beyond this offset or is committed beyond this high
    watermark, or this node has changed its part in the quorum (`Quorum.turn`). The outcome is None,
    or REQUEST_TIMED_OUT after the time."""

    end_offset: int
    high_watermark: int
    turn: int
    timeout_ms: int


@dataclass(slots=True)
class Answer(Wait):
    """Ask a node, which may be this one, in the newest version that both speak. The outcome is the
    body of its answer, or Unanswered."""

    node: int
    api_key: ApiKey
    body: Struct
    timeout_ms: int
    lane: Lane = Lane.DATA


class Unanswered(Refused):
    """A node has not answered: NETWORK_EXCEPTION, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, or
    BROKER_NOT_AVAILABLE for one whose address is unknown."""

    def __init__(self, code: ErrorCode, message: str, *, was_sent: bool) -> None:
        super().__init__(code, message)
        self.was_sent = was_sent
        """Whether the node may have acted on the request."""


class Outbox:
    """Work to be done after the current event, which nobody waits for. `Node.step` empties it."""

    def __init__(self) -> None:
        self.posted: dict[str, Iterator[Effect]] = {}

    def post(self, name: str, handler: Iterator[Effect]) -> None:
        """Run a handler at the end of the step, unless one of this name is posted or under way."""
        self.posted.setdefault(name, handler)
