"""The tasks of one run, by name: each begun guarded, all waited for within a bound."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from chaos.run.workers import Shared
from chaos.world import Task


class Tasks:
    """The tasks that were started and have not been seen to end."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._running: list[Task] = []

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Start a task; if it fails, that is a problem of the run."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                # A task that dies silently would look like a calm cluster.
                self._shared.problem(f"{name} ended early: {type(error).__name__}: {error}")

        self._running.append(self._shared.world.spawn(name, guarded()))

    async def join_last(self, timeout_s: float) -> bool:
        """Wait for the task that was started last, forget it, and return whether it has ended."""
        return await self._running.pop().join(timeout_s)

    async def join(self, timeout_s: float) -> None:
        """Wait for all tasks; note those that do not end."""
        world = self._shared.world
        deadline = world.monotonic() + timeout_s
        late = []
        for task in self._running:
            if not await task.join(max(0.0, deadline - world.monotonic())):
                self._shared.note(f"{task.name} did not end; its last operation is unknown")
                late.append(task)
        self._running = late
