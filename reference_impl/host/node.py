"""Run one node: turn incoming requests, time and random bytes into events, and perform the effects.

Everything runs in one thread: nothing else happens during `deliver`, so effects become visible in
their order.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from struct import Struct
from typing import Any, Protocol

from reference_impl.core.effects import (
    Admit,
    CancelTimer,
    CloseConnection,
    Effect,
    Failed,
    GiveWay,
    ReadTokens,
    Release,
    Report,
    Respond,
    SendToken,
    SetTimer,
    Stop,
)
from reference_impl.core.events import (
    Answered,
    ConnectionClosed,
    ConnectionLost,
    ConnectionOpened,
    Event,
    GoOn,
    Request,
    RequestArrived,
    Started,
    StopAsked,
    Stopping,
    TimerFired,
    TimerKey,
    TokenArrived,
)
from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.node import Node, never
from reference_impl.core.storage import StorageError
from reference_impl.host.outgoing.connections import Connections
from reference_impl.host.outgoing.peer_access import Refusals, access_to_nodes
from reference_impl.host.steps import LongestSteps
from reference_impl.host.timers import Timers
from reference_impl.links.effects import Ask, Destination, HangUp
from reference_impl.wire import API_NAMES, ApiKey, TooManyElements, encode_response_parts
from reference_impl.wire import Struct as Fields

log = logging.getLogger("reference_impl.host")
Parts = Sequence[bytes | Slice]
"""The parts of an answer: bytes, or slices of files."""
ELEMENTS_AT_ONCE = 2000
"""The number of elements above which a request is decoded, or an answer encoded, in another
thread."""
STEP_S_MIN = 0.001
"""The time for which any request may be worked on without a pause, even if the turn is over."""
ENTROPY = Struct("16s" * 256)
"""The random bytes of 256 events, drawn together, since the system call is the largest part of the
cost."""
_drawn: list[bytes] = []
"""Random bytes that no event has used yet."""


class Answerable(Protocol):
    """The parts of a connection that the node uses."""

    def answer(self, data: bytes | None) -> None:
        """Send the response to the request in progress (None: it has no response), and continue
        with the next request."""

    def answer_aside(self, encode: Callable[[], Parts]) -> None:
        """Encode a long response in another thread, then send it."""

    def answer_from_files(self, parts: Parts) -> None:
        """Send a response, parts of which lie in files."""

    def give_way(self) -> None:
        """Let other connections be served, then call `go_on`."""

    def drop(self, reason: str) -> None:
        """Close the connection, and log the reason."""

    def mute(self, for_ms: int) -> None:
        """Accept no further request from the connection for this time, starting now; still send the
        answer to the request in progress."""

    def read_tokens(self) -> None:
        """From now on, read SASL tokens without a request header."""

    def admit(self) -> None:
        """From now on, read requests instead of SASL tokens, and up to socket.request.max.bytes
        instead of the smaller limit before authentication."""


class NodeHost:
    """Runs one node: it owns the node's timers and knows its connections."""

    def __init__(
        self,
        node: Node,
        on_fatal: Callable[[str], None],
        resolve: Mapping[str, str] | None = None,
        steps_in: Path | None = None,
    ) -> None:
        """Prepare to run the node, which `start` begins. on_fatal gets the reason why it must end.
        resolve: host name -> address, used before the system's resolver. steps_in: the directory of
        the file of longest steps. Raise BadConfig if the keys or certificates for other nodes
        cannot be loaded."""
        self.node = node
        self.connections: dict[int, Answerable] = {}
        self.turn_is_over: Callable[[], bool] = never
        """Whether the turn is over, so that the event loop must look after other connections."""
        self.on_stop: Callable[[], None] = lambda: None
        """Called when a node that was asked to stop may end."""
        self._when_unfenced: Callable[[], None] | None = None
        node.must_give_way = self._must_give_way
        self._step_ends_s = 0.0
        self._longest = LongestSteps(steps_in)
        self._on_fatal = on_fatal
        self._timers = Timers(self._fire)
        self._outgoing = Connections(
            self._answered,
            self._lost,
            access_to_nodes(node.config),
            resolve,
            on_refused=Refusals().refused,
        )
        """The connections to other nodes."""
        self._perform: dict[type[Effect], Callable[[Any], None]] = {
            Respond: self._respond,
            Release: self._release,
            GiveWay: self._give_way,
            CloseConnection: self._close_connection,
            ReadTokens: self._read_tokens,
            SendToken: self._send_token,
            Admit: self._admit,
            SetTimer: self._set_timer,
            CancelTimer: self._cancel_timer,
            Report: self._report,
            Failed: self._failed,
            Stop: self._stop,
            Ask: self._outgoing.ask,
            HangUp: self._outgoing.hang_up,
        }

    def start(self) -> None:
        """Start the node, which opens its data directory. Raise the error of the core if it cannot,
        such as StorageError or CorruptLog."""
        self._deliver(Started(*moment()))

    def when_unfenced(self, call: Callable[[], None]) -> None:
        """Call this as soon as the controller has unfenced the broker: now, if it has already."""
        self._when_unfenced = call
        self._note_unfenced()

    def _note_unfenced(self) -> None:
        if self._when_unfenced is not None and self.node.broker.is_unfenced:
            call, self._when_unfenced = self._when_unfenced, None
            call()

    def ask_to_stop(self) -> None:
        """Let the node hand over its leaderships; `on_stop` is called afterwards."""
        self._deliver(StopAsked(*moment()))

    def stop(self) -> None:
        """Stop the timers, close the connections to other nodes, and let the node write everything
        to disk. No event may follow. Raise the error of the core if that fails."""
        self._timers.close()
        self._outgoing.close()
        self._deliver(Stopping(*moment()))

    def request_arrived(self, request: Request) -> None:
        """Pass a request to the node."""
        self._deliver(RequestArrived(*moment(), request))

    def go_on(self, connection: int) -> None:
        """Continue with the request for which `give_way` was called."""
        self._deliver(GoOn(*moment(), connection))

    def token_arrived(self, connection: int, token: bytes) -> None:
        """Pass on a SASL token that came without a request header."""
        self._deliver(TokenArrived(*moment(), connection, token))

    def _deliver(self, event: Event) -> None:
        """Step the node and perform its effects; an error in one of them does not prevent the
        others."""
        began_s = time.monotonic()
        self._step_ends_s = began_s + STEP_S_MIN
        self._event = event
        for effect in self.node.step(event):
            try:
                self._perform[type(effect)](effect)
            except Exception as error:
                self._failed(Failed(connection_of(effect), error))
        if self._when_unfenced is not None:
            self._note_unfenced()
        ended_s = time.monotonic()
        self._longest.note(ended_s - began_s, ended_s, partial(_named, event))

    def _failed(self, effect: Failed) -> None:
        """Log an error inside the broker and close the connection that caused it; the broker itself
        continues, unless its storage has failed."""
        if isinstance(effect.error, StorageError):
            self._on_fatal(f"the broker cannot continue without its disk: {effect.error}")
            return
        log.error("%s: the broker failed", _named(self._event), exc_info=effect.error)
        if effect.connection is not None:
            self._close_connection(CloseConnection(effect.connection, "internal error"))

    def _stop(self, effect: Stop) -> None:
        if effect.failure is None:
            self.on_stop()
        else:
            self._on_fatal(effect.failure)

    def _must_give_way(self) -> bool:
        return time.monotonic() >= self._step_ends_s and self.turn_is_over()

    def connection_opened(
        self, connection: int, listener: str, client_port: int, subject: str | None = None
    ) -> None:
        """Tell the node that a client has connected to this listener from this port. subject: that
        of its certificate, if it has shown one."""
        opened = ConnectionOpened(*moment(), connection, listener, client_port, subject)
        self._deliver(opened)

    def connection_closed(self, connection: int) -> None:
        """Tell the node that a connection is closed, so that no response can be sent on it."""
        if self.connections.pop(connection, None) is not None:
            self._deliver(ConnectionClosed(*moment(), connection))

    def _answered(self, request_id: int, body: Fields | None) -> None:
        self._deliver(Answered(*moment(), request_id, body))

    def _lost(self, destination: Destination, reason: str) -> None:
        self._deliver(ConnectionLost(*moment(), destination, reason))

    def _respond(self, effect: Respond) -> None:
        connection = self.connections.get(effect.request.connection)
        if connection is None:
            return  # it was closed while its request waited
        request = effect.request
        if effect.throttle_ms:
            connection.mute(effect.throttle_ms)
        version = request.api_version if effect.version is None else effect.version
        api_key, number, body = request.api_key, request.correlation_id, effect.body
        try:
            parts = encode_response_parts(
                api_key, version, number, body, elements_max=ELEMENTS_AT_ONCE
            )
        except TooManyElements:
            connection.answer_aside(partial(encode_response_parts, api_key, version, number, body))
            return
        if api_key == ApiKey.FETCH and Slice in map(type, parts):
            connection.answer_from_files(parts)
        else:
            connection.answer(b"".join(parts))

    def _release(self, effect: Release) -> None:
        connection = self.connections.get(effect.request.connection)
        if connection is not None:
            if effect.throttle_ms:
                connection.mute(effect.throttle_ms)
            connection.answer(None)

    def _give_way(self, effect: GiveWay) -> None:
        connection = self.connections.get(effect.request.connection)
        if connection is not None:
            connection.give_way()

    def _read_tokens(self, effect: ReadTokens) -> None:
        connection = self.connections.get(effect.connection)
        if connection is not None:
            connection.read_tokens()

    def _send_token(self, effect: SendToken) -> None:
        connection = self.connections.get(effect.connection)
        if connection is not None:
            connection.answer(len(effect.token).to_bytes(4, "big") + effect.token)

    def _admit(self, effect: Admit) -> None:
        connection = self.connections.get(effect.connection)
        if connection is not None:
            connection.admit()

    def _close_connection(self, effect: CloseConnection) -> None:
        connection = self.connections.get(effect.connection)
        if connection is not None:
            connection.drop(effect.reason)

    def _set_timer(self, effect: SetTimer) -> None:
        self._timers.set(effect.key, effect.delay_ms)

    def _cancel_timer(self, effect: CancelTimer) -> None:
        self._timers.cancel(effect.key)

    def _fire(self, key: TimerKey) -> None:
        self._deliver(TimerFired(*moment(), key))

    def _report(self, effect: Report) -> None:
        log.warning("%s", effect.sentence)


def connection_of(effect: Effect) -> int | None:
    """Return the connection that an effect concerns, or None."""
    if isinstance(effect, Respond | Release | GiveWay):
        return effect.request.connection
    if isinstance(effect, SendToken | ReadTokens | Admit | CloseConnection):
        return effect.connection
    return None


def _named(event: Event) -> str:
    """Return an event's description for the log, without tokens and records."""
    if isinstance(event, RequestArrived):
        api = event.request.api_key
        return f"{API_NAMES.get(api, f'API {api}')} version {event.request.api_version}"
    if isinstance(event, TimerFired):
        return f"timer of {event.key[0]}"
    if isinstance(event, Answered) and event.body is not None:
        return type(event.body).__name__
    return type(event).__name__


def moment() -> tuple[int, int, bytes]:
    """Return the wall clock and the monotonic clock in milliseconds, and random bytes."""
    return time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000, entropy()


def entropy() -> bytes:
    """Return 16 random bytes for the ids that the core may create during one event."""
    if not _drawn:
        _drawn.extend(ENTROPY.unpack(os.urandom(ENTROPY.size)))
    return _drawn.pop()
