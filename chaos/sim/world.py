"""The World of virtual time: one clock, one heap, and coroutines that it resumes one by one.

All random numbers come from the seed, in one stream for each part, so that a change in one part
does not change the others. The machine's clock is never used.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from random import Random
from typing import Any, TypeVar

from chaos.sim.agenda import US, Agenda
from chaos.sim.machines import VirtualMachines
from chaos.sim.network import Line, Network
from chaos.sim.tasks import Tasks, VirtualTask, Wait
from chaos.values.protocols import TargetError
from chaos.world import Address, Link
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.wire import ApiKey, Struct, decode_response, encode_request

T = TypeVar("T")
WALL_START_US = 1_700_000_000 * US
CLIENT_ID = "touchstone-raw"


class VirtualFlag:
    """A flag that coroutines can set, or wait for in virtual time."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._is_set = False
        self._waits: list[Wait] = []

    def set(self) -> None:
        self._is_set = True
        waits, self._waits = self._waits, []
        for wait in waits:
            wait.end()

    def is_set(self) -> bool:
        return self._is_set

    async def wait(self, timeout_s: float | None = None) -> bool:
        if not self._is_set:
            wait = Wait(self._tasks)
            self._waits.append(wait)
            try:
                await self._tasks.wait(wait, timeout_s)
            finally:
                if wait in self._waits:
                    self._waits.remove(wait)
        return self._is_set


class VirtualWorld:
    """The World (chaos.world) of one simulated run: its clock, its tasks, its network, and the
    streams of random numbers from its seed."""

    def __init__(self, seed: int, client_rules: ClientRules = CORRECT) -> None:
        self._seed = seed
        self._client_rules = client_rules
        self.agenda = Agenda()
        self.tasks = Tasks(self.agenda)
        self.network = Network(self.agenda, self.stream("network"))
        self._clients = count(1)
        self._main: VirtualTask | None = None

    def stream(self, part: str) -> Random:
        """Return a new stream of random numbers for one part: the same numbers for the same seed
        and part."""
        return Random(f"{self._seed}:sim:{part}")

    def wall_us(self) -> int:
        return WALL_START_US + self.agenda.now_us

    def machines(self) -> VirtualMachines:
        """Return the means to run the state machines of one more client."""
        chance = self.stream(f"client:{next(self._clients)}")
        return VirtualMachines(self, chance, self._client_rules)

    # --- chaos.world.World ----------------------------------------------------------------------

    def monotonic_ns(self) -> int:
        return self.agenda.now_us * 1000

    def wall_ns(self) -> int:
        return self.wall_us() * 1000

    def monotonic(self) -> float:
        return self.agenda.now_us / US

    async def sleep(self, seconds: float) -> None:
        await self.tasks.wait(Wait(self.tasks), seconds)

    def flag(self) -> VirtualFlag:
        return VirtualFlag(self.tasks)

    def lock(self) -> AbstractContextManager[object]:
        return nullcontext()

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> VirtualTask:
        return VirtualTask(self.tasks, name, work)

    async def together(self, *works: Coroutine[Any, Any, T]) -> list[T]:
        return await self.tasks.together(works)

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, T]) -> T:
        result: T = await self.tasks.within(timeout_s, work)
        return result

    async def dial(self, address: Address, timeout_s: float) -> Link:
        link = VirtualLink(self, address, timeout_s)
        await link.open()
        return link

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        main = self._main = self.spawn("the run", work)
        try:
            while not main.has_ended:
                self._step(main)
        finally:
            self.tasks.abandon()
        result: T = main.outcome()
        return result

    def _step(self, main: VirtualTask) -> None:
        """Perform the next action. Raise KeyboardInterrupt in the main coroutine after Ctrl-C, or
        here if that coroutine has ended; raise TargetError in it if no action is left."""
        try:
            if not self.agenda.step():
                main.throw_soon(
                    TargetError("every task of the simulation waits, and no event is scheduled")
                )
        except KeyboardInterrupt as interrupt:
            if main.has_ended:
                raise
            main.throw_soon(interrupt)

    def fail(self, sentence: str) -> None:
        """Raise TargetError with this problem in the run's main coroutine, because something has
        happened that no fault explains. Do nothing before `run`."""
        if self._main is not None:
            self._main.throw_soon(TargetError(f"the simulated cluster has failed: {sentence}"))


class VirtualLink:
    """One connection to one node: one request at a time."""

    def __init__(self, world: VirtualWorld, address: Address, timeout_s: float) -> None:
        self._world = world
        self._address = address
        self._timeout_s = timeout_s
        self._correlation_ids = count(1)
        self._line: Line | None = None
        self._is_closed = False
        self._over = ""
        self._frames: list[bytes] = []
        self._wait: Wait | None = None

    async def open(self) -> None:
        """Connect. Raise OSError if the node refuses the connection or does not answer."""
        self._world.network.dial(self._address, self._opened, self._received, self._ended)
        try:
            await self._await(self._timeout_s, lambda: self._line is not None)
        except OSError:
            self.close()
            raise

    def _opened(self, line: Line) -> None:
        self._line = line
        if self._is_closed:
            line.close()
        self._wake()

    def _received(self, frame: bytes) -> None:
        self._frames.append(frame)
        self._wake()

    def _ended(self, reason: str) -> None:
        self._over = reason
        self._wake()

    def _wake(self) -> None:
        if self._wait is not None:
            self._wait.end()

    async def _await(self, timeout_s: float, has_come: Callable[[], bool]) -> None:
        """Wait until has_come() is true. Raise OSError and close the connection if the node ends
        it, or if that takes longer than timeout_s."""
        deadline = self._world.monotonic() + timeout_s
        while not has_come():
            left_s = deadline - self._world.monotonic()
            if self._over or left_s <= 0 or self._is_closed:
                self.close()
                raise OSError(self._over) if self._over else TimeoutError("timed out")
            self._wait = Wait(self._world.tasks)
            await self._world.tasks.wait(self._wait, left_s)
            self._wait = None

    async def exchange(
        self, api: ApiKey, version: int, body: Struct, timeout_s: float | None = None
    ) -> Struct:
        correlation_id = next(self._correlation_ids)
        if self._line is None or self._is_closed or self._over:
            raise OSError(self._over or "the connection was closed")
        self._line.send(encode_request(api, version, correlation_id, CLIENT_ID, body))
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        await self._await(limit_s, lambda: bool(self._frames))
        frame = self._frames.pop(0)
        answered, answer = decode_response(bytearray(frame[4:]), api, version)
        if answered != correlation_id:
            raise OSError("the response has another request's correlation id")
        return answer

    def close(self) -> None:
        self._is_closed = True
        if self._line is not None:
            self._line.close()
