"""Requests that wait: a Fetch for data, a Produce for replicas.

Source: DelayedOperationPurgatory.java, DelayedFetch.java, DelayedProduce.java. A connection has one
request in flight, so the connection is the name of what waits. A parked request watches partitions;
each time one of them changes it is asked whether it can be answered now. To find out takes long
where it watches many: it then gives way to others like any request.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
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

    def answer(self, *, expired: bool) -> Generator[Effect, None, Struct | None]:
        """Return the answer, if it can be given now; when its time has run out it must be given.
        Give way to others in between."""


def answered(request: Request, body: Struct) -> Respond:
    """Return the response of a parked request; its throttle time also holds for the connection."""
    return Respond(request, body, throttle_ms=body.throttle_time_ms)


class Purgatory:
    """All requests that wait, in the order in which they came."""

    def __init__(self) -> None:
        self._parked: dict[int, Parked] = {}
        self._watched: dict[int, tuple[PartitionKey, ...]] = {}
        """As it was when the request was parked: a fetch session may change meanwhile."""
        self._watchers: dict[PartitionKey, dict[int, None]] = {}
        self.changed: dict[PartitionKey, None] = {}
        """Watched partitions whose watchers have not been asked since the change."""
        self.awaited: dict[PartitionKey, dict[int, None]] = {}
        """The numbers of the waits (`core/waiting`) that a change of a partition may end."""
        self.moved: dict[PartitionKey, None] = {}
        """Awaited partitions whose waits have not been looked at since the change."""
        self._asked: dict[int, bool] = {}
        """Requests that are finding out whether they can be answered: must they start again?"""
        self._expired: set[int] = set()
        self.changes = 0
        """How many were noted, of whatever partition."""

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
        self.changes += 1
        key = topic, index
        if key in self._watchers:
            self.changed[key] = None
        if key in self.awaited:
            self.moved[key] = None

    def woken(self) -> Iterator[tuple[int, Iterator[Effect]]]:
        """Ask each request that the noted changes may have completed. Return the connection and a
        handler for each."""
        while self.changed:
            changed, self.changed = self.changed, {}
            waiting = {c: None for key in changed for c in self._watchers.get(key, ())}
            for connection in waiting:
                yield connection, self.ask(connection)

    def ask(self, connection: int) -> Iterator[Effect]:
        """Answer a request if that can be done now; start again if its partitions change again
        while others have their turn."""
        if connection in self._asked:
            self._asked[connection] = True
            return
        parked = self._parked.get(connection)
        if parked is None:
            return
        body, again = None, True
        while again and body is None:
            self._asked[connection] = False
            body = yield from parked.answer(expired=connection in self._expired)
            again = self._asked.pop(connection)
        if body is not None or connection in self._expired:
            self._forget(connection)
            yield CancelTimer((TIMER, connection))
        if body is not None:
            yield answered(parked.request, body)

    def expire(self, key: TimerKey) -> Iterator[Effect]:
        """Answer a request whose wait has expired with what there is."""
        connection = int(key[1])
        if connection in self._parked:
            self._expired.add(connection)
            yield from self.ask(connection)

    def drop(self, connection: int) -> Iterator[Effect]:
        """Forget the requests of a client that is gone."""
        if connection in self._parked:
            self._forget(connection)
            yield CancelTimer((TIMER, connection))

    def _forget(self, connection: int) -> None:
        del self._parked[connection]
        self._asked.pop(connection, None)
        self._expired.discard(connection)
        for key in self._watched.pop(connection):
            watchers = self._watchers.get(key)
            if watchers is not None:
                watchers.pop(connection, None)
                if not watchers:
                    del self._watchers[key]
