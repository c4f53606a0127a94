"""Requests that wait: a Fetch for data, a Produce for replicas.

Source: DelayedOperationPurgatory.java, DelayedFetch.java, DelayedProduce.java. A connection has one
request in flight, so the connection is the name of what waits. A parked request watches partitions;
each time one of them changes it is asked whether it can be answered now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from reference_impl.core.effects import CancelTimer, Effect, Respond, SetTimer
from reference_impl.core.events import Request, TimerKey
from reference_impl.wire import Struct

PartitionKey = tuple[str, int]
"""Topic name and partition index."""
TIMER = "parked"


class Parked(Protocol):
    """A request that waits."""

    request: Request

    def watched(self) -> tuple[PartitionKey, ...]:
        """Return the partitions whose change may complete it."""

    def answer(self, *, expired: bool) -> Struct | None:
        """Return the response if it can be given now, or (when expired) as it must be given."""


def answered(request: Request, body: Struct) -> Respond:
    """Return the response of a parked request; its throttle time also holds for the connection."""
    return Respond(request, body, throttle_ms=body.throttle_time_ms)


class Parking:
    """All requests that wait, in the order in which they came."""

    def __init__(self) -> None:
        self._parked: dict[int, Parked] = {}
        self._watched: dict[int, tuple[PartitionKey, ...]] = {}
        """As it was when the request was parked: a fetch session may change meanwhile."""
        self._watchers: dict[PartitionKey, dict[int, None]] = {}
        self._changed: dict[PartitionKey, None] = {}

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, parked: Parked, timeout_ms: int) -> Iterator[Effect]:
        """Let a request wait, no longer than this."""
        connection = parked.request.connection
        self._parked[connection] = parked
        self._watched[connection] = parked.watched()
        for key in self._watched[connection]:
            self._watchers.setdefault(key, {})[connection] = None
        yield SetTimer((TIMER, connection), timeout_ms)

    def note_change(self, topic: str, index: int) -> None:
        """Note that a partition has more to read, has moved its high watermark, or is gone."""
        if (topic, index) in self._watchers:
            self._changed[topic, index] = None

    def answer_ready(self) -> Iterator[Effect]:
        """Answer every request that the noted changes completed."""
        while self._changed:
            changed, self._changed = self._changed, {}
            waiting = {c: None for key in changed for c in self._watchers.get(key, ())}
            for connection in waiting:
                parked = self._parked[connection]
                body = parked.answer(expired=False)
                if body is not None:
                    self._forget(connection)
                    yield CancelTimer((TIMER, connection))
                    yield answered(parked.request, body)

    def expire(self, key: TimerKey) -> Iterator[Effect]:
        """Answer a request whose wait has expired with what there is."""
        connection = int(key[1])
        parked = self._parked.get(connection)
        if parked is not None:
            self._forget(connection)
            body = parked.answer(expired=True)
            if body is not None:
                yield answered(parked.request, body)

    def drop(self, connection: int) -> Iterator[Effect]:
        """Forget the requests of a client that is gone."""
        if connection in self._parked:
            self._forget(connection)
            yield CancelTimer((TIMER, connection))

    def _forget(self, connection: int) -> None:
        del self._parked[connection]
        for key in self._watched.pop(connection):
            watchers = self._watchers.get(key)
            if watchers is not None:
                watchers.pop(connection, None)
                if not watchers:
                    del self._watchers[key]
