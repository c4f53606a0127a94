"""Coroutines in virtual time: each runs until it waits, and is resumed by the agenda alone.

A coroutine waits by awaiting a Wait. Ending the Wait puts the coroutine on the agenda. So at most
one coroutine runs at any moment, and the same seed gives the same order.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from typing import Any

from chaos.sim.agenda import US, Agenda, Entry

CLEANUP_WAITS_MAX = 100
"""The number of waits in the cleanup of an abandoned coroutine, after which it is closed."""


class Cancelled(BaseException):
    """Raised in a cancelled task where it waits. The task's cleanup may wait again, but must end
    soon."""


class Wait:
    """The wait of one coroutine for one thing, which ends once: with a value or an error."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._task: VirtualTask | None = None
        self._value: Any = None
        self._error: Exception | None = None
        self.is_over = False

    def __await__(self) -> Generator[Wait, None, Any]:
        if not self.is_over:
            task = self._task = self._tasks.current
            assert task is not None
            alarm = task.set_alarm()
            try:
                yield self
            finally:
                self._task = None
                if alarm is not None:
                    alarm.cancel()
        if self._error is not None:
            raise self._error
        return self._value

    def end(self, value: Any = None, error: Exception | None = None) -> None:
        """End the wait, unless it is over: its coroutine gets the value, or the error is raised in
        it."""
        if not self.is_over:
            self.is_over, self._value, self._error = True, value, error
            if self._task is not None:
                self._task.resume_soon()


class VirtualTask:
    """One coroutine on the agenda, which starts as soon as possible after its creation."""

    def __init__(
        self,
        tasks: Tasks,
        name: str,
        work: Coroutine[Any, Any, Any],
        deadline_us: int | None = None,
    ) -> None:
        self.name = name
        self.deadline_us = deadline_us
        """The earliest deadline among the `within` calls around the coroutine, in microseconds.
        After it, every wait raises TimeoutError."""
        self._tasks = tasks
        self._work = work
        self._thrown: BaseException | None = None
        self._resuming: Entry | None = None
        self._joined: list[Wait] = []
        self.has_ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        tasks.unfinished[self] = None
        self.resume_soon()

    def resume_soon(self) -> None:
        """Put the task on the agenda, unless it is there already, or has ended."""
        # An interrupt may have come after the entry was taken and before it was performed.
        is_there = self._resuming is not None and self._resuming.action is not None
        if not is_there and not self.has_ended:
            self._resuming = self._tasks.agenda.soon(self._resume)

    def set_alarm(self) -> Entry | None:
        """Schedule a TimeoutError in the coroutine at its deadline. Return the entry, or None if it
        has no deadline."""
        if self.deadline_us is None:
            return None
        late = TimeoutError("not done in time")
        return self._tasks.agenda.at(self.deadline_us, lambda: self.throw_soon(late))

    def throw_soon(self, error: BaseException) -> None:
        """Raise an error in the coroutine at its current wait, unless it has ended."""
        if not self.has_ended:
            self._thrown = error
            self.resume_soon()

    def _resume(self) -> None:
        self._resuming = None
        thrown, self._thrown = self._thrown, None
        before, self._tasks.current = self._tasks.current, self
        try:
            waits_for = self._work.send(None) if thrown is None else self._work.throw(thrown)
        except StopIteration as end:
            self._end(end.value, None)
        except Cancelled:
            self._end(None, None)
        except Exception as error:
            self._end(None, error)
        except BaseException:
            self._end(None, None)  # KeyboardInterrupt, for example, is not the task's outcome
            raise
        else:
            if not isinstance(waits_for, Wait):
                self._work.close()
                awaits = f"{self._work} awaits {waits_for!r}, which does not belong to virtual time"
                self._end(None, RuntimeError(awaits))
        finally:
            self._tasks.current = before

    def _end(self, result: Any, error: BaseException | None) -> None:
        self.has_ended, self.result, self.error = True, result, error
        self._tasks.unfinished.pop(self, None)
        for wait in self._joined:
            wait.end()

    def wake_at_end(self, wait: Wait) -> None:
        """End this wait when the task ends."""
        self._joined.append(wait)

    def outcome(self) -> Any:
        """Return the coroutine's result, None if it was cancelled or has not ended, or raise its
        error."""
        if self.error is not None:
            raise self.error
        return self.result

    def cancel(self) -> None:
        """Raise Cancelled in the coroutine at its current wait, unless the coroutine is running
        now."""
        if self._tasks.current is not self:
            self.throw_soon(Cancelled())

    def abandon(self) -> None:
        """End the coroutine at once: raise Cancelled at its current wait, and at each wait of its
        cleanup. Drop its outcome."""
        self._end(None, None)
        before, self._tasks.current = self._tasks.current, self
        try:
            for _ in range(CLEANUP_WAITS_MAX):
                self._work.throw(Cancelled())
            self._work.close()
        except BaseException:  # it has ended, by whatever its cleanup raised
            pass
        finally:
            self._tasks.current = before

    async def join(self, timeout_s: float | None = None) -> bool:
        """Wait until the task has ended, at most for timeout_s. Return whether it has. Raise the
        coroutine's error if it has ended with one."""
        if not self.has_ended:
            wait = Wait(self._tasks)
            self.wake_at_end(wait)
            await self._tasks.wait(wait, timeout_s)
        if self.has_ended:
            self.outcome()
        return self.has_ended


class Tasks:
    """All coroutines of one World, and the one that is running now."""

    def __init__(self, agenda: Agenda) -> None:
        self.agenda = agenda
        self.current: VirtualTask | None = None
        self.unfinished: dict[VirtualTask, None] = {}
        """The tasks that have not ended, in the order of their creation."""

    def abandon(self) -> None:
        """End all tasks at once, those that their cleanup begins included. Otherwise the garbage
        collector would end them later, when the files of their run are gone."""
        while self.unfinished:
            next(iter(self.unfinished)).abandon()

    async def wait(self, wait: Wait, timeout_s: float | None = None) -> None:
        """Return once `wait` has ended; after timeout_s, end it without an error. Raise its error,
        or TimeoutError at the deadline of a `within` around the caller."""
        timer = None if timeout_s is None else self.agenda.after(timeout_s, wait.end)
        try:
            await wait
        finally:
            if timer is not None:
                timer.cancel()

    async def within(self, timeout_s: float, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the coroutine's result, or raise its error. After timeout_s, each of its waits
        raises TimeoutError."""
        task = self.current
        assert task is not None
        outer = task.deadline_us
        own = self.agenda.now_us + round(timeout_s * US)
        task.deadline_us = own if outer is None else min(own, outer)
        try:
            return await work
        finally:
            task.deadline_us = outer

    async def together(self, works: tuple[Coroutine[Any, Any, Any], ...]) -> list[Any]:
        """Run coroutines at the same time, each with the caller's deadline, and wait until all have
        ended. Return their results in order, or raise the error of the first that has one."""
        parent = self.current
        assert parent is not None
        deadline_us = parent.deadline_us
        tasks = [VirtualTask(self, "together", work, deadline_us) for work in works]
        parent.deadline_us = None  # the tasks have the deadline, and end this wait
        try:
            for task in tasks:
                if not task.has_ended:
                    wait = Wait(self)
                    task.wake_at_end(wait)
                    await wait
        finally:
            parent.deadline_us = deadline_us
        errors = [task.error for task in tasks if task.error is not None]
        if errors:
            raise errors[0]
        return [task.result for task in tasks]
