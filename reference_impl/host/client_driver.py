"""Connect a client's state machine to the world: it owns connections, one timer, and the futures of
calls.

The state machine (`reference_impl.client`) makes all decisions; this module converts bytes to
events and effects to bytes. Everything runs in the thread of one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, cast

from reference_impl.access import PLAINTEXT, Access, LoginRefused, login
from reference_impl.client.calls import Call
from reference_impl.client.effects import (
    Ask,
    CloseConnection,
    Complete,
    Destination,
    Effect,
    Fail,
    PartitionsChanged,
    WakeAt,
)
from reference_impl.client.errors import ClientError
from reference_impl.client.events import Abandoned, Answered, Called, ConnectionLost, Event, Woken
from reference_impl.client.machine import Machine
from reference_impl.wire import (
    ApiKey,
    ErrorCode,
    FrameReader,
    Malformed,
    Struct,
    decode_response,
    encode_request,
)

log = logging.getLogger("reference_impl.client")


class ClientConnection(asyncio.Protocol):
    """One connection to a broker. Requests made before it is established and logged in are sent
    afterwards."""

    def __init__(self, driver: ClientDriver, destination: Destination) -> None:
        self._driver = driver
        self._destination = destination
        self._reader = FrameReader()
        self._asked: dict[int, tuple[int, int]] = {}
        """API and version of each request that awaits its answer."""
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._login = login(driver.access) if driver.access.uses_sasl else None
        """The login, until it is done."""
        self._is_over = False
        self._opening = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            host, port = self._destination.host, self._destination.port
            access = self._driver.access
            tls = access.context if access.uses_tls else None
            await loop.create_connection(lambda: self, host, port, ssl=tls)
        except OSError as error:
            self._lost(f"no connection: {error}")

    def ask(self, effect: Ask) -> None:
        """Send a request."""
        frame = encode_request(
            effect.api_key, effect.api_version, effect.request_id, effect.client_id, effect.body
        )
        if effect.expects_answer:
            self._asked[effect.request_id] = (effect.api_key, effect.api_version)
        if self._transport is None or self._login is not None:
            self._unsent.append(frame)
        elif not self._transport.is_closing():  # else connection_lost is about to come
            self._transport.write(frame)

    def abandon(self) -> None:
        """Close without an event to the state machine, which has asked for it."""
        self._is_over = True
        self._opening.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _lost(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._driver.connection_lost(self._destination, reason)

    # --- asyncio.Protocol ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._is_over:
            self._transport.abort()
        elif self._login is not None:
            self._transport.write(next(self._login))
        else:
            self._send_what_waits()

    def _send_what_waits(self) -> None:
        assert self._transport is not None
        self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _log_in(self, frame: bytearray) -> None:
        """Continue the login with the broker's response. Raise LoginRefused."""
        assert self._login is not None and self._transport is not None
        try:
            self._transport.write(self._login.send(frame))
        except StopIteration:
            self._login = None
            self._send_what_waits()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(f"the connection broke: {exc or 'closed by the broker'}")

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                if self._login is not None:
                    self._log_in(frame)
                elif not self._is_over:
                    self._driver.answered(*self._decode(frame))
        except LoginRefused as error:
            self._lost(str(error))
            self.abandon()
        except Malformed as error:
            self._lost(f"an answer cannot be read: {error}")
            self.abandon()

    def _decode(self, frame: bytearray) -> tuple[int, Struct]:
        request_id = int.from_bytes(frame[:4], "big")
        if request_id not in self._asked:
            raise Malformed(f"nobody has asked {request_id}", "correlation_id", "ResponseHeader")
        api_key, version = self._asked.pop(request_id)
        code = int.from_bytes(frame[4:6], "big", signed=True)
        if api_key == ApiKey.API_VERSIONS and code == ErrorCode.UNSUPPORTED_VERSION:
            version = 0  # whoever does not know the version answers in the oldest (KIP-511)
        return request_id, decode_response(frame, api_key, version)[1]


class ClientDriver:
    """The driver of one state machine: it owns its connections, its timer and the futures of its
    calls."""

    def __init__(
        self,
        machine: Machine,
        on_change: Callable[[PartitionsChanged], None] | None = None,
        access: Access = PLAINTEXT,
    ) -> None:
        self.access = access
        self._machine = machine
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._ids = count(1)
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._connections: dict[Destination, ClientConnection] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._spawned: set[asyncio.Task[None]] = set()
        self._perform: dict[type[Effect], Callable[[Any], None]] = {
            Ask: self._ask,
            CloseConnection: self._close_connection,
            WakeAt: self._wake_at,
            Complete: self._complete,
            Fail: self._fail,
            PartitionsChanged: self._partitions_changed,
        }

    def call(self, call: Call) -> asyncio.Future[Any]:
        """Start a call of the state machine and return its future; cancelling the future abandons
        the call."""
        call_id = next(self._ids)
        future: asyncio.Future[Any] = self._loop.create_future()
        self._calls[call_id] = future
        future.add_done_callback(lambda done: self._call_is_over(call_id, done))
        # Whoever lets go of the future does not want to hear (asyncio would complain loudly).
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._step(Called(*clocks(), call_id, call))
        return future

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the caller, until it ends or the driver is closed."""
        task = self._loop.create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    def close(self) -> None:
        """Close the connections and cancel the timer; the state machine must have been closed
        before."""
        current = asyncio.current_task(self._loop) if self._loop.is_running() else None
        for task in self._spawned - {current}:
            task.cancel()
        for connection in self._connections.values():
            connection.abandon()
        self._connections.clear()
        if self._timer is not None:
            self._timer.cancel()

    # --- events -------------------------------------------------------------------------------

    def answered(self, request_id: int, body: Struct | None) -> None:
        """Pass a broker's response to the state machine."""
        self._step(Answered(*clocks(), request_id, body))

    def connection_lost(self, destination: Destination, reason: str) -> None:
        """Tell the state machine that a connection is lost, or was never established."""
        self._connections.pop(destination, None)
        self._step(ConnectionLost(*clocks(), destination, reason))

    def _call_is_over(self, call_id: int, future: asyncio.Future[Any]) -> None:
        if self._calls.pop(call_id, None) is not None and future.cancelled():
            self._step(Abandoned(*clocks(), call_id))

    def _woken(self) -> None:
        self._timer = None
        self._step(Woken(*clocks()))

    def _step(self, event: Event) -> None:
        try:
            effects = self._machine.step(event)
        except Exception as error:
            # A fault of the machine itself: whoever waits must not wait for ever.
            log.exception("the client failed at %s", type(event).__name__)
            for call_id in list(self._calls):
                self._fail(Fail(call_id, ClientError("CLIENT_FAILED", f"internal error: {error}")))
            return
        for effect in effects:
            self._perform[type(effect)](effect)

    # --- effects ------------------------------------------------------------------------------

    def _ask(self, effect: Ask) -> None:
        connection = self._connections.get(effect.destination)
        if connection is None:
            connection = ClientConnection(self, effect.destination)
            self._connections[effect.destination] = connection
        connection.ask(effect)
        if not effect.expects_answer:
            self._loop.call_soon(self.answered, effect.request_id, None)

    def _close_connection(self, effect: CloseConnection) -> None:
        connection = self._connections.pop(effect.destination, None)
        if connection is not None:
            connection.abandon()

    def _wake_at(self, effect: WakeAt) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay_s = max(0.0, effect.monotonic_ms / 1000 - time.monotonic())
        self._timer = self._loop.call_later(delay_s, self._woken)

    def _complete(self, effect: Complete) -> None:
        future = self._calls.pop(effect.call_id, None)
        if future is not None and not future.done():
            future.set_result(effect.value)

    def _fail(self, effect: Fail) -> None:
        future = self._calls.pop(effect.call_id, None)
        if future is not None and not future.done():
            future.set_exception(effect.error)

    def _partitions_changed(self, effect: PartitionsChanged) -> None:
        log.info("%s: %s", effect.change, ", ".join(map(str, effect.partitions)))
        if self._on_change is not None:
            self._on_change(effect)


def clocks() -> tuple[int, int]:
    """Return (wall clock, monotonic clock) in milliseconds. The monotonic one is rounded up, so
    that a timer never seems to fire early."""
    return time.time_ns() // 1_000_000, -(-time.monotonic_ns() // 1_000_000)
