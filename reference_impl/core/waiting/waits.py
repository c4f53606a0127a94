"""The waits that a handler may yield beside its effects, and the outbox for background work.

After a wait, its outcome is sent to the handler (a generator), or Refused is raised in it. From
then on the handler must not rely on state that it read before. `core/waiting` suspends and resumes
it; GiveWay (`core/effects.py`) is one more.

Source: DelayedOperation.java, DeferredEventQueue.java, where each of these is a callback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count

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
    """Let other requests have their turn if one has waited long enough; else continue without a
    wait. This is GiveWay for work that no request began. The outcome is None."""


@dataclass(slots=True)
class Applied(Wait):
    """Continue when this broker has applied the metadata log up to this offset. The outcome is
    None, or REQUEST_TIMED_OUT after timeout_ms; None waits without limit."""

    metadata_offset: int
    timeout_ms: int | None = None
    decided_in: int | None = None
    """The epoch in which the controller of this node made the decision that is awaited, or None.
    When the epoch is over, the outcome is NOT_CONTROLLER, since another record may get the
    offset."""


@dataclass(slots=True)
class Replicated(Wait):
    """Continue when the high watermark of a partition has reached this offset. The outcome is None,
    the reason why this broker does not lead the partition, or REQUEST_TIMED_OUT after timeout_ms;
    None waits without limit."""

    topic: str
    index: int
    offset: int
    timeout_ms: int | None = None


@dataclass(slots=True)
class MetadataNews(Wait):
    """Continue when the metadata log goes beyond this offset or is committed beyond this high
    watermark, or this node has changed its part in the quorum (`Quorum.turn`). The outcome is None,
    or REQUEST_TIMED_OUT after the time."""

    end_offset: int
    high_watermark: int
    turn: int
    timeout_ms: int


@dataclass(slots=True)
class Answer(Wait):
    """Send a request to a node, which may be this one, in the newest version that both support. The
    outcome is the body of its answer, or Unanswered."""

    node: int
    api_key: ApiKey
    body: Struct
    timeout_ms: int
    lane: Lane = Lane.DATA


class Unanswered(Refused):
    """No answer from another node: NETWORK_EXCEPTION, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, or
    BROKER_NOT_AVAILABLE if its address is unknown."""

    def __init__(self, code: ErrorCode, message: str, *, was_sent: bool) -> None:
        super().__init__(code, message)
        self.was_sent = was_sent
        """Whether the node may have acted on the request."""


AT_ONCE = 10
"""The number of handlers that `post_each` lets run in one step."""


class Outbox:
    """Background work to be run after the current event. `Node.step` empties it."""

    def __init__(self) -> None:
        self.posted: dict[str, Iterator[Effect]] = {}
        self._numbers = count(1)

    def post(self, name: str, handler: Iterator[Effect]) -> None:
        """Run a handler at the end of the step. Drop it if one of this name is already posted, or
        waits when its turn comes."""
        self.posted.setdefault(name, handler)

    def post_each(self, names: Iterable[str], post: Callable[[str], None]) -> None:
        """Post background work that calls `post` with each name; `post` posts a handler if there is
        work for that name. Let AT_ONCE of these handlers run in each step, since there may be ten
        thousand."""
        self.post(f"handlers {next(self._numbers)}", self._post_each(names, post))

    def _post_each(self, names: Iterable[str], post: Callable[[str], None]) -> Iterator[Effect]:
        for name in names:
            post(name)
            yield Later(0) if len(self.posted) >= AT_ONCE else Pause()
