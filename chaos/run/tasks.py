"""The tasks of one run, by name. The failure of a task becomes a problem of the run, and waiting
for tasks has a time limit."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from chaos.run.workers import Shared
from chaos.world import Task


class Tasks:
    """The tasks that were started and are not known to have ended."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._running: list[Task] = []

    def start(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task. If it fails, note that as a problem of the run. work: makes the coroutine
        when the task begins to run, which never happens if the run is over before."""

        async def guarded() -> None:
            try:
                await work()
            except Exception as error:
                # A task that dies silently would look like a calm cluster.
                self._shared.problem(f"{name} ended early: {type(error).__name__}: {error}")

        self._running.append(self._shared.world.spawn(name, guarded()))

    async def join_last(self, timeout_s: float) -> bool:
        """Wait for the task that was started last, and remove it from the list. Return whether it
        has ended."""
        return await self._running.pop().join(timeout_s)

    async def join(self, timeout_s: float) -> None:
        """Wait for all tasks, at most for timeout_s in all. Note each that does not end in time; it
        is not cancelled, and the next call waits for it, too."""
        world = self._shared.world
        deadline = world.monotonic() + timeout_s
        late = []
        for task in self._running:
            if not await task.join(max(0.0, deadline - world.monotonic())):
                self._shared.note(f"{task.name} did not end; its last operation is unknown")
                late.append(task)
        self._running = late
