"""Drive the machines of the reference clients: over TCP with asyncio, or as the run's World does.

A World of virtual time brings its own Machines; every other gets those of asyncio. Each client of a
run has Machines of its own. Those over TCP have an event loop, which turns only while the client
performs an operation.
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
    """The means by which one client of a run drives its machines."""

    chance: Chance
    """For the machines: jitter, and where no key decides on the partition."""
    rules: ClientRules
    """The decisions of the machines: correct, or with a planted bug."""

    def drive(self, bootstrap: str) -> Drive:
        """Return a factory of drivers for new client machines, all bound to one cluster."""
        ...

    async def perform(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that awaits calls of the machines. Return its result or raise its
        error."""
        ...

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine from inside `perform`. Return its result or raise its error. Raise
        TimeoutError when the time is up."""
        ...

    async def close(self) -> None:
        """Release the resources. No machine may be driven afterwards."""
        ...


@runtime_checkable
class BringsMachines(Protocol):
    """A World in which machines are driven in another way than by asyncio."""

    def machines(self) -> Machines:
        """Return new Machines for one client."""
        ...


class TcpMachines:
    """Machines over TCP."""

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
        self._loop.run_until_complete(asyncio.sleep(0))  # aborted transports say good-bye
        self._loop.close()


def machines_of(world: World) -> Machines:
    """Return new Machines for one client of a run."""
    return world.machines() if isinstance(world, BringsMachines) else TcpMachines(Random())
