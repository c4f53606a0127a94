"""A World gives a run its time and its connections to other machines: clocks, flags, tasks, links.

Code that waits is a coroutine that awaits its World, so that the same code runs over threads and in
virtual time. `chaos.means.real_world` blocks inside each await, so that a coroutine never suspends:
a thread runs it from beginning to end. `chaos.sim.world` suspends it and resumes the coroutine
whose time has come.

    async def work(world: World, stop: Flag) -> None:
        while not await stop.wait(0.5):
            link = await world.dial(("localhost", 9092), 5.0)
            ...

    async def attack(world: World) -> None:
        stop = world.flag()
        worker = world.spawn("worker", work(world, stop))
        await world.sleep(20.0)
        stop.set()
        if not await worker.join(60.0):
            ...  # it has not ended

world.run(attack(world))

A coroutine waits only by its World, never by asyncio, and does not use `time` or `threading`. A
client library that blocks (librdkafka, Java's) can be called in the real world only.
"""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, runtime_checkable

from reference_impl.wire import ApiKey, Struct

T = TypeVar("T")
Address = tuple[str, int]
"""(host, port). An Endpoint of reference_impl.access also has the security settings for the
connection."""


def joined(address: Address) -> str:
    """Return an address as host:port, with IPv6 in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Flag(Protocol):
    """A flag that is set once, and for which any number of tasks may wait."""

    def set(self) -> None: ...

    def is_set(self) -> bool: ...

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the flag is set, without a time-out if timeout_s is None. Return whether it is
        set."""
        ...


class Task(Protocol):
    """A coroutine that runs beside the one that spawned it."""

    name: str

    async def join(self, timeout_s: float | None = None) -> bool:
        """Wait until the task has ended, for timeout_s at most if that is given. Return whether it
        has ended. Raise the coroutine's error."""
        ...


class Link(Protocol):
    """A connection to one broker: one request at a time."""

    async def exchange(
        self, api: ApiKey, version: int, body: Struct, timeout_s: float | None = None
    ) -> Struct:
        """Send a request, and return the body of its answer. timeout_s: the time for the whole
        answer; by default the one given when dialling. Raise OSError without an answer, and
        Malformed for an answer that is not Kafka's; the link cannot be used after either."""
        ...

    def close(self) -> None: ...


class World(Protocol):
    """The clocks, the waiting and the connections of one run; see the head of this file."""

    def monotonic_ns(self) -> int: ...

    def wall_ns(self) -> int:
        """Return the nanoseconds since 1970 according to this machine's clock."""
        ...

    def monotonic(self) -> float:
        """Return the seconds of the monotonic clock."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def flag(self) -> Flag: ...

    def lock(self) -> AbstractContextManager[object]:
        """Return a lock for state that tasks share. No task may await anything while it holds the
        lock."""
        ...

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> Task:
        """Run the coroutine beside this one. Deadlines of `within` do not apply to it."""
        ...

    async def together(self, *works: Coroutine[Any, Any, T]) -> list[T]:
        """Run the coroutines beside each other. Return their results in order; if some raise, raise
        the first one's exception after all have ended."""
        ...

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        """Return the coroutine's result, or raise its error. After the time-out, raise TimeoutError
        inside the coroutine where it awaits this World, and let it end, so that its `finally`
        blocks run."""
        ...

    async def dial(self, address: Address, timeout_s: float) -> Link:
        """Return a new connection. Raise OSError, as sockets do. timeout_s: the limit for
        connecting, and for each answer."""
        ...

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine from outside this World. Return its result, or raise its error."""
        ...


@runtime_checkable
class BringsWorld(Protocol):
    """A target whose clusters run in a World of their own instead of the real world."""

    def make_world(self, seed: int) -> World:
        """Return a new World for one run. Clusters that the target starts afterwards run in it."""
        ...
