"""Drive the state machines of the reference clients in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import count
from random import Random
from typing import Any, Protocol, TypeVar

from chaos.sim.agenda import Agenda, Entry
from chaos.sim.connections import Connections
from chaos.sim.network import CLIENTS, Network
from chaos.sim.tasks import Tasks, VirtualTask, Wait
from reference_impl.client.awaited.driver import Drive, OnChange
from reference_impl.client.calls import Call
from reference_impl.client.effects import Complete, Fail, PartitionsChanged, WakeAt
from reference_impl.client.errors import ClientError
from reference_impl.client.events import Abandoned, Answered, Called, ConnectionLost, Event, Woken
from reference_impl.client.machine import Machine
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.links.effects import Ask, Destination, Effect, HangUp
from reference_impl.wire import Struct

T = TypeVar("T")


class Surroundings(Protocol):
    """The parts of a World of virtual time that drivers need."""

    agenda: Agenda
    tasks: Tasks
    network: Network

    def wall_us(self) -> int: ...


class VirtualMachines:
    """The means by which one client of a run runs its state machines in virtual time
    (chaos.clients.reference.machines)."""

    def __init__(self, world: Surroundings, chance: Random, rules: ClientRules = CORRECT) -> None:
        self.chance = chance
        self.rules = rules
        self._world = world

    def drive(self, bootstrap: str) -> Drive:
        return lambda machine, on_change: VirtualDriver(self._world, machine, on_change)

    async def perform(self, work: Coroutine[Any, Any, T]) -> T:
        return await work

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        result: T = await self._world.tasks.within(timeout_s, work)
        return result

    async def close(self) -> None:
        """Do nothing: there are no resources to release."""


class VirtualDriver:
    """The driver of one machine: its connections, its timer, and its pending calls."""

    def __init__(self, world: Surroundings, machine: Machine, on_change: OnChange) -> None:
        self.world = world
        self._machine = machine
        self._on_change = on_change
        self._ids = count(1)
        self._calls: dict[int, Wait] = {}
        self._connections = Connections(
            world.network, CLIENTS, self._answered, self._connection_lost
        )
        self._timer: Entry | None = None
        self._spawned: list[VirtualTask] = []
        self._is_closed = False

    def call(self, call: Call) -> VirtualCall:
        """Make a call at once. Awaiting the result returns the machine's answer, or raises its
        ClientError."""
        call_id, wait = next(self._ids), Wait(self.world.tasks)
        self._calls[call_id] = wait
        self._step(Called(*self._clocks(), call_id, call))
        return VirtualCall(wait, lambda: self._abandon(call_id))

    def _abandon(self, call_id: int) -> None:
        if self._calls.pop(call_id, None) is not None:
            self._step(Abandoned(*self._clocks(), call_id))

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the caller, until it ends or the driver is closed."""
        self._spawned = [task for task in self._spawned if not task.has_ended]
        self._spawned.append(VirtualTask(self.world.tasks, "a listener", work))

    def close(self) -> None:
        """Drop the connections, the timer, and the coroutines started by `spawn`. Calls that are
        pending get no result any more."""
        self._is_closed = True
        for task in self._spawned:
            task.cancel()
        self._connections.close()
        if self._timer is not None:
            self._timer.cancel()

    # --- events -------------------------------------------------------------------------------

    def _answered(self, request_id: int, body: Struct | None) -> None:
        self._step(Answered(*self._clocks(), request_id, body))

    def _connection_lost(self, destination: Destination, reason: str) -> None:
        self._step(ConnectionLost(*self._clocks(), destination, reason))

    def _clocks(self) -> tuple[int, int]:
        now_us = self.world.agenda.now_us
        return self.world.wall_us() // 1000, -(-now_us // 1000)

    def _step(self, event: Event) -> None:
        try:
            effects = self._machine.step(event)
        except Exception as error:
            # A bug of the machine itself: fail all pending calls, so that no caller waits for ever.
            failure = ClientError("CLIENT_FAILED", f"internal error: {error}")
            for wait in self._calls.values():
                wait.end(error=failure)
            self._calls.clear()
            return
        for effect in effects:
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Ask():
                self._connections.ask(effect)
            case HangUp(destination=destination):
                self._connections.hang_up(destination)
            case WakeAt(monotonic_ms=at_ms):
                self._wake_at(at_ms)
            case Complete(call_id=call_id, value=value):
                if (wait := self._calls.pop(call_id, None)) is not None:
                    wait.end(value)
            case Fail(call_id=call_id, error=error):
                if (wait := self._calls.pop(call_id, None)) is not None:
                    wait.end(error=error)
            case PartitionsChanged():
                self._on_change(effect)
            case _:
                raise ValueError(f"no driver knows the effect {effect}")

    def _wake_at(self, at_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._is_closed:
            self._timer = self.world.agenda.at(at_ms * 1000, self._woken)

    def _woken(self) -> None:
        self._timer = None
        self._step(Woken(*self._clocks()))


class VirtualCall:
    """A pending call. If the coroutine that awaits it is interrupted, the call is abandoned."""

    def __init__(self, wait: Wait, abandon: Callable[[], None]) -> None:
        self._wait = wait
        self._abandon = abandon

    def __await__(self) -> Any:
        try:
            return (yield from self._wait.__await__())
        finally:
            if not self._wait.is_over:
                self._abandon()
