"""Requests that wait: a Fetch for data, a Produce for replicas.

Source: DelayedOperationPurgatory.java, DelayedFetch.java, DelayedProduce.java. A connection has one
request in flight, so the connection is the name of what waits. A parked request watches partitions;
each time one of them changes it is asked whether it can be answered now. To find out takes long
where it watches many: it then gives way to others like any request.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from reference_impl.core.effects import CancelTimer, Effect, Respond, SetTimer
from reference_impl.core.events import Request, TimerKey
from reference_impl.wire import Struct

PartitionKey = tuple[str, int]
"""Topic name and partition index."""
TIMER = "parked"


@dataclass(slots=True, eq=False)
class Watch:
    """The partitions whose changes may complete a request: as long as the request waits, or as long
    as the fetch session exists that the request belongs to."""

    keys: dict[PartitionKey, None]
    lasts: bool = False
    """Whether the watch goes on while no request waits."""
    noted: dict[PartitionKey, None] = field(default_factory=dict)
    """The partitions that have changed since `take_noted`."""
    waiting: dict[int, None] = field(default_factory=dict)
    """The connections whose requests wait for a change."""

    @classmethod
    def over(cls, keys: Iterable[PartitionKey]) -> Watch:
        """Return the watch of one request."""
        return cls(dict.fromkeys(keys))

    def take_noted(self) -> dict[PartitionKey, None]:
        """Return the partitions that have changed since the last call."""
        noted, self.noted = self.noted, {}
        return noted


class Parked(Protocol):
    """A request that waits."""

    request: Request

    def watch(self) -> Watch:
        """Return a watch of the partitions whose change may complete the request."""

    def answer(self, *, expired: bool) -> Generator[Effect, None, Struct | None]:
        """Return the answer, or None if the request must wait on; once it has expired there always
        is one. Give way to other requests in between."""


def answered(request: Request, body: Struct) -> Respond:
    """Return the response of a parked request; its throttle time also holds for the connection."""
    return Respond(request, body, throttle_ms=body.throttle_time_ms)


class Purgatory:
    """All requests that wait, in the order in which they came."""

    def __init__(self) -> None:
        self._parked: dict[int, Parked] = {}
        self._watch_of: dict[int, Watch] = {}
        self._watches: dict[PartitionKey, dict[Watch, None]] = {}
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
        """Keep a request waiting for at most this time."""
        connection = parked.request.connection
        self._parked[connection] = parked
        self._watch_of[connection] = watch = parked.watch()
        watch.waiting[connection] = None
        if not watch.lasts:
            for key in watch.keys:
                self._watches.setdefault(key, {})[watch] = None
        yield SetTimer((TIMER, connection), timeout_ms)

    def add_key(self, watch: Watch, key: PartitionKey) -> None:
        """Watch one more partition."""
        watch.keys[key] = None
        if watch.lasts or watch.waiting:
            self._watches.setdefault(key, {})[watch] = None

    def remove_key(self, watch: Watch, key: PartitionKey) -> None:
        """Watch a partition no longer."""
        watch.keys.pop(key, None)
        self._unwatch(watch, key)

    def end_watch(self, watch: Watch) -> None:
        """End the watch of a fetch session as soon as no request of the session waits."""
        watch.lasts = False
        if not watch.waiting:
            for key in watch.keys:
                self._unwatch(watch, key)

    def watched(self) -> Iterable[PartitionKey]:
        """Return the partitions that any request or session watches."""
        return self._watches.keys()

    def note_change(self, topic: str, index: int) -> None:
        """Note that a partition has more to read, has moved its high watermark or its log start,
        has another leader, or is gone. Only then does a fetch session read it again."""
        self.changes += 1
        key = topic, index
        if key in self._watches:
            self.changed[key] = None
            for watch in self._watches[key]:
                watch.noted[key] = None
        if key in self.awaited:
            self.moved[key] = None

    def woken(self) -> Iterator[tuple[int, Iterator[Effect]]]:
        """Ask each request that the noted changes may have completed. Return the connection and a
        handler for each."""
        while self.changed:
            changed, self.changed = self.changed, {}
            waiting = {
                connection: None
                for key in changed
                for watch in self._watches.get(key, ())
                for connection in watch.waiting
            }
            for connection in waiting:
                yield connection, self.ask(connection)

    def ask(self, connection: int) -> Iterator[Effect]:
        """Answer a request if that can be done now. Start again if its partitions change while it
        gives way to other requests."""
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
        """Answer a request whose wait has expired with the data at hand."""
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
        watch = self._watch_of.pop(connection)
        del watch.waiting[connection]
        if not watch.lasts:
            self.end_watch(watch)

    def _unwatch(self, watch: Watch, key: PartitionKey) -> None:
        watches = self._watches.get(key)
        if watches is not None:
            watches.pop(watch, None)
            if not watches:
                del self._watches[key]
