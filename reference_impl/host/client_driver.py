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
from typing import Any

from reference_impl.access import PLAINTEXT, Access
from reference_impl.client.calls import Call
from reference_impl.client.effects import Complete, Fail, PartitionsChanged, WakeAt
from reference_impl.client.errors import ClientError
from reference_impl.client.events import Abandoned, Answered, Called, ConnectionLost, Event, Woken
from reference_impl.client.machine import Machine
from reference_impl.host.outgoing.access_to import always
from reference_impl.host.outgoing.connections import Connections
from reference_impl.links.effects import Ask, Destination, Effect, HangUp
from reference_impl.wire import Struct

log = logging.getLogger("reference_impl.client")


class ClientDriver:
    """The driver of one state machine: it owns its connections, its timer and the futures of its
    calls."""

    def __init__(
        self,
        machine: Machine,
        on_change: Callable[[PartitionsChanged], None] | None = None,
        access: Access = PLAINTEXT,
    ) -> None:
        self._connections = Connections(self.answered, self.connection_lost, always(access))
        self._machine = machine
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._ids = count(1)
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._spawned: set[asyncio.Task[None]] = set()
        self._perform: dict[type[Effect], Callable[[Any], None]] = {
            Ask: self._connections.ask,
            HangUp: self._connections.hang_up,
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
        # Read the exception of an abandoned future, about which asyncio would log an error.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._step(Called(*clocks(), call_id, call))
        return future

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the caller, until it ends or the driver is closed."""
        task = self._loop.create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    def close(self) -> None:
        """Close the connections, and cancel the timer and the spawned coroutines other than the
        caller's own. Pending calls are not answered: close the state machine first."""
        current = asyncio.current_task(self._loop) if self._loop.is_running() else None
        for task in self._spawned - {current}:
            task.cancel()
        self._connections.close()
        if self._timer is not None:
            self._timer.cancel()

    # --- events -------------------------------------------------------------------------------

    def answered(self, request_id: int, body: Struct | None) -> None:
        """Pass a broker's response to the state machine. body: None if no response is
        expected."""
        self._step(Answered(*clocks(), request_id, body))

    def connection_lost(self, destination: Destination, reason: str) -> None:
        """Tell the state machine that a connection is lost, or was never established."""
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
            # A bug of the machine itself: fail all pending calls, so that no caller waits for ever.
            log.exception("the client failed at %s", type(event).__name__)
            for call_id in list(self._calls):
                self._fail(Fail(call_id, ClientError("CLIENT_FAILED", f"internal error: {error}")))
            return
        for effect in effects:
            self._perform[type(effect)](effect)

    # --- effects ------------------------------------------------------------------------------

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
