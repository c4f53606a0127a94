"""The World of virtual time: one heap of what is to happen, and one loop that resumes coroutines.

Nothing passes but what the heap says: a coroutine that waits is resumed when its flag is set or its
time has come, and time jumps from one entry to the next. Entries of one moment happen in the order
in which they were made. So the same program happens in the same way each time, and as fast as it
can be computed. Hosts and networks put their own entries in (`at`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import count
from types import coroutine
from typing import Any, Protocol, TypeVar

from chaos.world import Address, Flag, Link, Task, joined

T = TypeVar("T")
SECOND_NS = 1_000_000_000
BEGINNING_NS = 1_700_000_000 * SECOND_NS
"""The wall clock at the beginning. The monotonic one begins at a second: 0 is often "never"."""


class Dialler(Protocol):
    """A network that connects to the nodes of this World."""

    async def dial(self, address: Address, timeout_s: float) -> Link: ...


class Nobody:
    """A network without a node."""

    async def dial(self, address: Address, timeout_s: float) -> Link:
        raise ConnectionRefusedError(f"nobody listens at {joined(address)}")


Waiters = dict[object, Callable[[], None]]


@coroutine
def _suspended() -> Generator[None, bool, bool]:
    """Suspend until the loop resumes the task; return whether something woke it."""
    woken: bool = yield
    return woken


class VirtualFlag:
    """A flag of a VirtualWorld."""

    def __init__(self, world: VirtualWorld) -> None:
        self._world = world
        self._is_set = False
        self._waiters: Waiters = {}

    def set(self) -> None:
        if not self._is_set:
            self._is_set = True
            self._world.wake(self._waiters)

    def is_set(self) -> bool:
        return self._is_set

    async def wait(self, timeout_s: float | None = None) -> bool:
        return self._is_set or await self._world.wait(self._waiters, timeout_s)


class VirtualTask:
    """A coroutine of a VirtualWorld."""

    def __init__(
        self,
        world: VirtualWorld,
        name: str,
        work: Coroutine[Any, Any, object],
        deadline_ns: int | None = None,
    ) -> None:
        self.name = name
        self.work = work
        self.deadline_ns = deadline_ns
        self.waits_for: object | None = None
        """Its present wait; what would end an earlier one comes too late."""
        self.is_over = False
        self.result: Any = None
        self.raised: Exception | None = None
        self.waiters: Waiters = {}
        self._world = world

    async def join(self, timeout_s: float | None = None) -> bool:
        if not self.is_over:
            await self._world.wait(self.waiters, timeout_s)
        if self.is_over:
            self.outcome()
        return self.is_over

    def outcome(self) -> Any:
        """Return or raise what the coroutine did."""
        if self.raised is not None:
            raise self.raised
        return self.result


class VirtualWorld:
    """See the head of this file."""

    def __init__(self, network: Dialler | None = None) -> None:
        self.network: Dialler = network or Nobody()
        self.now_ns = SECOND_NS
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self._current: VirtualTask | None = None

    # --- the clock and what is to happen --------------------------------------------------------

    def monotonic_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return BEGINNING_NS + self.now_ns

    def monotonic(self) -> float:
        return self.now_ns / SECOND_NS

    def at(self, at_ns: int, action: Callable[[], None]) -> None:
        """Let the action happen at this time of the monotonic clock, or at once if it is past."""
        heapq.heappush(self._agenda, (max(at_ns, self.now_ns), next(self._order), action))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Let time pass until the coroutine has ended; return or raise what it does. Raise
        RuntimeError if it waits for something that will never happen. Ctrl-C is raised in it."""
        main = self._spawn("main", work, None)
        while not main.is_over:
            if not self._agenda:
                work.close()
                raise RuntimeError(f"nothing more happens in this world, and {work} waits for ever")
            try:
                self.now_ns, _, action = heapq.heappop(self._agenda)
                action()
            except KeyboardInterrupt as interrupt:
                if main.is_over:
                    raise
                self._resume(main, partial(work.throw, interrupt))
        result: T = main.outcome()
        return result

    # --- tasks ----------------------------------------------------------------------------------

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> Task:
        return self._spawn(name, work, None)

    def _spawn(
        self, name: str, work: Coroutine[Any, Any, object], deadline_ns: int | None
    ) -> VirtualTask:
        task = VirtualTask(self, name, work, deadline_ns)
        self.at(self.now_ns, partial(self._resume, task, partial(work.send, None)))
        return task

    def _resume(self, task: VirtualTask, go_on: Callable[[], object]) -> None:
        """Let the task go on until it waits again or ends."""
        task.waits_for = None
        before, self._current = self._current, task
        try:
            awaited = go_on()
            if task.waits_for is None:
                task.work.close()
                raise RuntimeError(
                    f"{task.work} awaits {awaited!r}, which is no part of this world"
                )
        except StopIteration as end:
            task.is_over, task.result = True, end.value
        except KeyboardInterrupt:
            task.is_over = True
            raise
        except Exception as error:
            task.is_over, task.raised = True, error
        finally:
            self._current = before
            if task.is_over:
                self.wake(task.waiters)

    def wake(self, waiters: Waiters) -> None:
        """Resume, in their order, all who wait here."""
        for resume in waiters.values():
            self.at(self.now_ns, resume)
        waiters.clear()

    async def wait(
        self, waiters: Waiters, timeout_s: float | None, has_deadline: bool = True
    ) -> bool:
        """Wait with these until they are woken; return whether that came before the time-out. Raise
        TimeoutError at the task's deadline."""
        task = self._current
        assert task is not None  # a coroutine of this world runs in it
        deadline_ns = task.deadline_ns if has_deadline else None
        self._check(deadline_ns)
        ends = [] if deadline_ns is None else [deadline_ns]
        if timeout_s is not None:
            ends.append(self.now_ns + round(max(0.0, timeout_s) * SECOND_NS))
        token = task.waits_for = object()
        waiters[token] = partial(self._end_wait, task, token, True)
        if ends:
            self.at(min(ends), partial(self._end_wait, task, token, False))
        try:
            woken = await _suspended()
        finally:
            waiters.pop(token, None)
        if not woken:
            self._check(deadline_ns)
        return woken

    def _end_wait(self, task: VirtualTask, token: object, woken: bool) -> None:
        if task.waits_for is token:
            self._resume(task, partial(task.work.send, woken))

    def _check(self, deadline_ns: int | None) -> None:
        if deadline_ns is not None and self.now_ns >= deadline_ns:
            raise TimeoutError("not done in time")

    # --- waiting --------------------------------------------------------------------------------

    async def sleep(self, seconds: float) -> None:
        await self.wait({}, seconds)

    def flag(self) -> Flag:
        return VirtualFlag(self)

    def lock(self) -> AbstractContextManager[object]:
        return nullcontext()

    async def together(self, *works: Coroutine[Any, Any, T]) -> list[T]:
        assert self._current is not None
        deadline_ns = self._current.deadline_ns
        tasks = [self._spawn("together", work, deadline_ns) for work in works]
        for task in tasks:  # each ends by the deadline that it has from here
            if not task.is_over:
                await self.wait(task.waiters, None, has_deadline=False)
        raised = [task.raised for task in tasks if task.raised is not None]
        if raised:
            raise raised[0]
        return [task.result for task in tasks]

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        task = self._current
        assert task is not None
        outer = task.deadline_ns
        own = self.now_ns + round(timeout_s * SECOND_NS)
        task.deadline_ns = own if outer is None else min(own, outer)
        try:
            return await work
        finally:
            task.deadline_ns = outer

    async def dial(self, address: Address, timeout_s: float) -> Link:
        return await self.network.dial(address, timeout_s)
