"""Requests that wait: a Fetch for data, a Produce for replicas.

Source: DelayedOperationPurgatory.java, DelayedFetch.java, DelayedProduce.java. A connection has one
request in flight, so the connection identifies the waiting ("parked") request. A parked request
watches partitions. Each time one of them changes, `answer` is called to find out whether the
request can be answered now. That takes long if it watches many partitions, so it gives way to other
requests meanwhile.
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
    """A set of partitions whose changes may complete a request. It lasts as long as the request
    waits, or as long as the fetch session that the request belongs to."""

    keys: dict[PartitionKey, None]
    lasts: bool = False
    """Whether the watch continues while no request waits, as for a fetch session."""
    noted: dict[PartitionKey, None] = field(default_factory=dict)
    """The partitions that have changed since the last call of `take_noted`."""
    waiting: dict[int, None] = field(default_factory=dict)
    """The connections whose requests wait for a change."""

    @classmethod
    def over(cls, keys: Iterable[PartitionKey]) -> Watch:
        """Return the watch of one request over these partitions, which ends when the request is
        answered."""
        return cls(dict.fromkeys(keys))

    def take_noted(self) -> dict[PartitionKey, None]:
        """Return the partitions that have changed since the last call, and forget them."""
        noted, self.noted = self.noted, {}
        return noted


class Parked(Protocol):
    """A request that waits in the purgatory."""

    request: Request

    def watch(self) -> Watch:
        """Return a watch of the partitions whose change may complete the request."""

    def answer(self, *, expired: bool) -> Generator[Effect, None, Struct | None]:
        """Return the answer, or None if the request must wait longer. Once it has expired, always
        return an answer. Give way to other requests in between."""


def answered(request: Request, body: Struct) -> Respond:
    """Return the response to a parked request. Its throttle time also applies to the connection."""
    return Respond(request, body, throttle_ms=body.throttle_time_ms)


class Purgatory:
    """All requests that wait, in the order in which they came."""

    def __init__(self) -> None:
        self._parked: dict[int, Parked] = {}
        self._watch_of: dict[int, Watch] = {}
        self._watches: dict[PartitionKey, dict[Watch, None]] = {}
        self.changed: dict[PartitionKey, None] = {}
        """The watched partitions that have changed, and whose parked requests have not been tried
        since."""
        self.awaited: dict[PartitionKey, dict[int, None]] = {}
        """Partition -> the numbers of the handlers' waits (`core/waiting`) that a change of it may
        end."""
        self.moved: dict[PartitionKey, None] = {}
        """The partitions with waiting handlers that have changed, and whose handlers have not been
        tried since."""
        self._asked: dict[int, bool] = {}
        """Connection -> whether its request must be tried again, for requests whose `answer` is
        running now."""
        self._expired: set[int] = set()
        self.changes = 0
        """The number of changes noted so far, over all partitions."""

    def __len__(self) -> int:
        return len(self._parked)

    def park(self, parked: Parked, timeout_ms: int) -> Iterator[Effect]:
        """Keep a request waiting for at most this time, and watch the partitions that may complete
        it."""
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
        """Stop watching one partition."""
        watch.keys.pop(key, None)
        self._unwatch(watch, key)

    def end_watch(self, watch: Watch) -> None:
        """End the watch of a fetch session: at once, or when its waiting request is answered."""
        watch.lasts = False
        if not watch.waiting:
            for key in watch.keys:
                self._unwatch(watch, key)

    def watched(self) -> Iterable[PartitionKey]:
        """Return the partitions that any request or session watches."""
        return self._watches.keys()

    def note_change(self, topic: str, index: int) -> None:
        """Note that a partition has more to read, another high watermark, log start or leader, or
        is gone. A fetch session reads a partition again only after such a note."""
        self.changes += 1
        key = topic, index
        if key in self._watches:
            self.changed[key] = None
            for watch in self._watches[key]:
                watch.noted[key] = None
        if key in self.awaited:
            self.moved[key] = None

    def woken(self) -> Iterator[tuple[int, Iterator[Effect]]]:
        """Take the noted changes, and yield (connection, handler) for each request that they may
        have completed. The handler tries to answer the request."""
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
        """Answer a request if that is possible now. Try again if its partitions have changed while
        it gave way to other requests. Do nothing for a connection without a waiting request; if its
        answer is being made already, only have that tried again."""
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
        """Answer, with the data at hand, the request whose timer has fired; do nothing if it was
        answered."""
        connection = int(key[1])
        if connection in self._parked:
            self._expired.add(connection)
            yield from self.ask(connection)

    def drop(self, connection: int) -> Iterator[Effect]:
        """Forget the waiting request of a client that is gone."""
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
