"""Run handlers, and keep those that wait (`core/waiting/waits.py`) until they can continue.

A handler belongs to the connection whose request it serves, and is closed with it: a host delivers
one request of a connection at a time, so the connection identifies the handler. Background work,
which no client waits for, has a name; only one handler of a name runs at a time. An error in one
handler is reported with the effects that came before it, and stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

from reference_impl.core.broker import Broker
from reference_impl.core.effects import (
    CancelTimer,
    CloseConnection,
    Effect,
    Failed,
    GiveWay,
    Release,
    Respond,
    SetTimer,
    Wait,
)
from reference_impl.core.events import Request, TimerKey
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.quorum.metadata_log import METADATA
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.refused import Refused
from reference_impl.core.security.listeners import Endpoint
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.peers import Peers
from reference_impl.core.waiting.waits import (
    Answer,
    Applied,
    Later,
    MetadataNews,
    Pause,
    Replicated,
    Unanswered,
)
from reference_impl.links.effects import Lane
from reference_impl.wire import ErrorCode

TIMER = "waiting"
Owner = int | str | None
"""The owner of a handler: a connection, the name of background work, or None for the handler of a
timer."""
Handler = Iterator[Effect]
Outcome = Any
"""The value that a waiting handler is resumed with, or the Refused that is raised in it."""


@dataclass(slots=True, eq=False)
class Suspended:
    """A handler that waits."""

    owner: Owner
    handler: Generator[Effect, Outcome, None]
    wait: Wait


class Waiting:
    """The running and waiting handlers of one node."""

    def __init__(
        self,
        broker: Broker,
        must_give_way: Callable[[], bool],
        address_of: Callable[[int, Lane], Endpoint | None],
        handler_of: Callable[[Request], Handler],
    ) -> None:
        """Create an empty table. must_give_way: returns whether another request has waited long
        enough. address_of: returns another node's address. handler_of: returns the handler for a
        request to this node, including its own."""
        self._broker = broker
        self._must_give_way = must_give_way
        self._handler_of = handler_of
        self.peers = Peers(broker.moment, broker.node_id, address_of, self._tell)
        self._own: dict[int, int] = {}
        """The waits for answers of this node to itself: connection -> number of the wait. These
        connections are negative numbers, which no host uses."""
        self._own_requests: dict[int, Request] = {}
        self._numbers = count(1)
        self._suspended: dict[int, Suspended] = {}
        self._by_owner: dict[Owner, int] = {}
        self._ready: dict[int, Outcome] = {}
        """The outcomes of waits that are over, by the numbers of the waits."""

    def __len__(self) -> int:
        return len(self._suspended)

    # --- running ------------------------------------------------------------------------------

    def run(self, owner: Owner, handler: Handler, effects: list[Effect]) -> None:
        """Run a handler until it ends or waits, and add its effects. Raise only StorageError;
        report any other error of the handler as Failed."""
        try:
            for effect in handler:
                if not isinstance(effect, Wait):
                    effects.append(effect)
                elif self._waits(owner, handler, effect, effects):
                    return
        except StorageError:
            raise
        except Exception as error:
            effects.append(failed(owner, error))

    def settle(self, effects: list[Effect]) -> None:
        """Run everything that the event has made possible, such as waiting handlers and the node's
        own requests, until nothing is left. Raise only StorageError."""
        purgatory, outbox = self._broker.purgatory, self._broker.outbox
        while True:
            if purgatory.changed:
                for connection, handler in purgatory.woken():
                    self.run(connection, handler, effects)
            elif purgatory.moved:
                self._look_at_moved()
            elif self._ready:
                number = next(iter(self._ready))
                self._resume(number, self._ready.pop(number), effects)
            elif self._own_requests:
                connection = next(iter(self._own_requests))
                request = self._own_requests.pop(connection)
                self.run(connection, self._handler_of(request), effects)
            elif self._own and self._takes_own_answers(effects):
                continue
            elif outbox.posted:
                name = next(iter(outbox.posted))
                handler = outbox.posted.pop(name)
                if name not in self._by_owner:
                    self.run(name, handler, effects)
            else:
                return

    def go_on(self, connection: int, effects: list[Effect]) -> None:
        """Resume the handler that has given way to other requests, if its request still exists."""
        number = self._by_owner.get(connection)
        if number is not None and isinstance(self._suspended[number].wait, GiveWay):
            self._resume(number, None, effects)

    def timer_fired(self, key: TimerKey) -> None:
        """Store the outcome of a wait whose time is over, if its handler still waits: a pause is
        over, or the awaited answer or change has not come in time. `settle` resumes the handler."""
        number = int(key[1])
        if number in self._suspended:
            self._ready[number] = outcome_at_end(self._suspended[number].wait)

    def close(self, connection: int, effects: list[Effect]) -> None:
        """Close the waiting handler of a connection that is gone, if it has one. Raise only
        StorageError; report any other error of the handler as Failed."""
        number = self._by_owner.get(connection)
        if number is None:
            return
        handler = self._forget(number, effects).handler
        try:
            handler.close()
        except StorageError:
            raise
        except Exception as error:
            effects.append(failed(connection, error))

    # --- waits --------------------------------------------------------------------------------

    def _waits(self, owner: Owner, handler: Handler, wait: Wait, effects: list[Effect]) -> bool:
        """Suspend a handler with the timer and the request of its wait, and return True. Return
        False, without suspending it, if it need not wait. Raise RuntimeError if another handler of
        the same owner waits."""
        if isinstance(wait, GiveWay | Pause) and not self._must_give_way():
            return False
        if isinstance(wait, Pause):
            wait = Later(0)
        elif isinstance(wait, GiveWay):
            owner = wait.request.connection
            if owner in self._own:  # this node's own request: the host does not know it
                wait = Later(0)
            else:
                effects.append(wait)
        if owner is not None and owner in self._by_owner:
            raise RuntimeError(f"a handler of {owner!r} waits already: the host must let it end")
        number = next(self._numbers)
        if (key := watched(wait)) is not None:
            try:
                if has_come(self._broker, wait):
                    return False
            except Refused as refused:
                self._ready[number] = refused
            self._broker.purgatory.awaited.setdefault(key, {})[number] = None
        generator = cast("Generator[Effect, Outcome, None]", handler)
        self._suspended[number] = Suspended(owner, generator, wait)
        if owner is not None:
            self._by_owner[owner] = number
        if (delay_ms := time_of(wait)) is not None:
            effects.append(SetTimer((TIMER, number), delay_ms))
        if isinstance(wait, Answer):
            self._ask(number, wait, effects)
        return True

    def _ask(self, number: int, wait: Answer, effects: list[Effect]) -> None:
        if wait.node != self._broker.node_id:
            effects += self.peers.ask(number, wait)
            return
        connection = -number
        version = self._broker.apis_for(connection)[wait.api_key].max_version
        self._own[connection] = number
        self._own_requests[connection] = Request(
            connection, wait.api_key, version, number, None, "", wait.body
        )

    def _takes_own_answers(self, effects: list[Effect]) -> bool:
        """Take the answers to this node's requests to itself out of `effects`, and store them as
        the outcomes of their waits. Return whether there were any."""
        came = len(self._own)
        kept: list[Effect] = []
        for effect in effects:
            match effect:
                case Respond(request=request) if request.connection in self._own:
                    self._tell(self._own.pop(request.connection), effect.body)
                case Release(request=request) if request.connection in self._own:
                    self._tell(self._own.pop(request.connection), None)
                case CloseConnection(connection=connection) if connection in self._own:
                    self._tell(self._own.pop(connection), closed(effect.reason))
                case Failed(connection=int(connection)) if connection in self._own:
                    self._tell(self._own.pop(connection), closed("internal error"))
                    kept.append(effect)
                case _:
                    kept.append(effect)
        effects[:] = kept
        return len(self._own) < came

    def _tell(self, number: int, outcome: Outcome) -> None:
        """Store the outcome of a wait, if its handler still waits and no outcome is stored yet."""
        if number in self._suspended:
            self._ready.setdefault(number, outcome)

    def _look_at_moved(self) -> None:
        purgatory = self._broker.purgatory
        moved, purgatory.moved = purgatory.moved, {}
        for key in moved:
            for number in purgatory.awaited.get(key, ()):
                self._look_at(number)

    def _look_at(self, number: int) -> None:
        """Store the outcome of a wait if its condition is fulfilled (None), or can never be
        (Refused)."""
        try:
            if has_come(self._broker, self._suspended[number].wait):
                self._ready[number] = None
        except Refused as refused:
            self._ready[number] = refused

    def _resume(self, number: int, outcome: Outcome, effects: list[Effect]) -> None:
        suspended = self._forget(number, effects)
        owner, handler = suspended.owner, suspended.handler
        try:
            is_refused = isinstance(outcome, Refused)
            effect = handler.throw(outcome) if is_refused else handler.send(outcome)
            if not isinstance(effect, Wait):
                effects.append(effect)
            elif self._waits(owner, handler, effect, effects):
                return
        except StopIteration:
            return
        except StorageError:
            raise
        except Exception as error:
            effects.append(failed(owner, error))
            return
        self.run(owner, handler, effects)

    def _forget(self, number: int, effects: list[Effect]) -> Suspended:
        """Remove a wait from all tables, cancel its timer and its request to a node, and return its
        suspended handler."""
        suspended = self._suspended.pop(number)
        self._by_owner.pop(suspended.owner, None)
        self._ready.pop(number, None)
        if time_of(suspended.wait) is not None:
            effects.append(CancelTimer((TIMER, number)))
        if isinstance(suspended.wait, Answer):
            self.peers.withdraw(number)
            if self._own.pop(-number, None) is not None:
                self._own_requests.pop(-number, None)
                self.close(-number, effects)
                effects += self._broker.purgatory.drop(-number)
        if (key := watched(suspended.wait)) is not None:
            watchers = self._broker.purgatory.awaited[key]
            del watchers[number]
            if not watchers:
                del self._broker.purgatory.awaited[key]
        return suspended


def watched(wait: Wait) -> PartitionKey | None:
    """Return the partition whose change may end this wait, METADATA if a change of the metadata
    may, or None if neither ends it."""
    match wait:
        case Applied() | MetadataNews():
            return METADATA
        case Replicated():
            return wait.topic, wait.index
    return None


def has_come(broker: Broker, wait: Wait) -> bool:
    """Return whether the condition of an Applied, MetadataNews or Replicated is fulfilled. Raise
    Refused if it never will be."""
    if isinstance(wait, Applied):
        if wait.decided_in is not None:
            broker.rules.check_still_decides(wait.decided_in, broker.quorum.active_epoch)
        return broker.applied_end_offset >= wait.metadata_offset
    if isinstance(wait, MetadataNews):
        return is_news(broker.quorum, wait)
    assert isinstance(wait, Replicated)
    partition = broker.led_partition(wait.topic, None, wait.index)
    return partition.high_watermark >= wait.offset


def is_news(quorum: Quorum, wait: MetadataNews) -> bool:
    """Return whether the metadata log is longer, its high watermark is higher, or this node's part
    in the quorum is another than when the wait began."""
    is_longer = quorum.end_offset > wait.end_offset
    return is_longer or quorum.told_high_watermark > wait.high_watermark or quorum.turn != wait.turn


def time_of(wait: Wait) -> int | None:
    """Return the milliseconds after which a timer ends this wait, or None if no timer does."""
    match wait:
        case Later():
            return wait.ms
        case Applied() | Replicated() | Answer() | MetadataNews():
            return wait.timeout_ms
    return None


def outcome_at_end(wait: Wait) -> Outcome:
    """Return the outcome of a wait that its timer ends: None for a pause, else an error with
    REQUEST_TIMED_OUT."""
    match wait:
        case Later():
            return None
        case Answer():
            reason = f"node {wait.node} has not answered within {wait.timeout_ms} ms"
            return Unanswered(ErrorCode.REQUEST_TIMED_OUT, reason, was_sent=True)
    return Refused(ErrorCode.REQUEST_TIMED_OUT)


def closed(reason: str) -> Unanswered:
    """Return the outcome of a request of this node to itself that was answered by closing its
    connection."""
    return Unanswered(ErrorCode.NETWORK_EXCEPTION, reason, was_sent=True)


def failed(owner: Owner, error: Exception) -> Failed:
    """Return the report of an error in a handler. It names the connection only if a request of a
    connection caused it."""
    return Failed(owner if isinstance(owner, int) else None, error)
