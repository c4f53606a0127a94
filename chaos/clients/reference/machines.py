"""Drive the state machines of the reference clients: over TCP with asyncio, or in the virtual time
of the run's World.

A World of virtual time brings its own Machines; every other one gets TcpMachines. Each client of a
run has its own Machines. TcpMachines has an event loop, which runs only while the client performs
an operation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any, Protocol, TypeVar, runtime_checkable

from chaos.world import World
from reference_impl.client.awaited.driver import Drive
from reference_impl.client.kernel import Chance
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.host.clients import over_tcp

T = TypeVar("T")


class Machines(Protocol):
    """The means by which one client of a run runs its state machines."""

    chance: Chance
    """The source of randomness for the machines: jitter, and the partition of records without a
    key."""
    rules: ClientRules
    """The client's decisions: the correct ones, or those of a planted bug."""

    def drive(self, bootstrap: str) -> Drive:
        """Return a factory of drivers, one for each new state machine, all for the cluster with
        these bootstrap addresses."""
        ...

    async def perform(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that awaits operations of the machines. Return its result or raise its
        error."""
        ...

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from inside `perform`. Return its result or raise its error. Cancel it
        and raise TimeoutError if it takes longer."""
        ...

    async def close(self) -> None:
        """Release the resources. No state machine may be driven afterwards."""
        ...


@runtime_checkable
class BringsMachines(Protocol):
    """A World that runs client machines in its own way, not by asyncio."""

    def machines(self) -> Machines:
        """Return new Machines for one client."""
        ...


class TcpMachines:
    """Runs client state machines over TCP, in an asyncio event loop."""

    rules = CORRECT

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self._loop = asyncio.new_event_loop()

    def drive(self, bootstrap: str) -> Drive:
        return over_tcp(bootstrap)

    async def perform(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wait_for(work, timeout_s)

    async def close(self) -> None:
        self._loop.run_until_complete(asyncio.sleep(0))  # let aborted transports close
        self._loop.close()


def machines_of(world: World) -> Machines:
    """Return the Machines for one client of a run: those of its World, or else TcpMachines."""
    return world.machines() if isinstance(world, BringsMachines) else TcpMachines(Random())
