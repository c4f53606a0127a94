"""The agenda of virtual time: all future actions, a heap of (microsecond, order, action), and the
clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

US = 1_000_000
"""The number of microseconds in a second."""


class Entry:
    """One action at one time, until it is performed or cancelled."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        """Cancel the action. This has no effect once it was performed."""
        self.action = None


class Agenda:
    """The actions in the order of their times. Actions of the same time are performed in the order
    in which they were added."""

    def __init__(self) -> None:
        self.now_us = 0
        self._order = count()
        self._heap: list[tuple[int, int, Entry]] = []

    def at(self, at_us: int, action: Callable[[], None]) -> Entry:
        """Schedule the action for a time, now if that has passed. Return its entry, by which it can
        be cancelled."""
        entry = Entry(action)
        heapq.heappush(self._heap, (max(at_us, self.now_us), next(self._order), entry))
        return entry

    def after(self, seconds: float, action: Callable[[], None]) -> Entry:
        """Schedule the action for this many seconds from now, and return its entry. Any time above
        zero counts as at least a microsecond: otherwise a caller that waits for the rest of a
        period might repeat for ever without the clock moving."""
        return self.at(self.now_us + max(int(seconds > 0), round(seconds * US)), action)

    def soon(self, action: Callable[[], None]) -> Entry:
        """Schedule the action for now, after everything that is already due now. Return its
        entry."""
        return self.at(self.now_us, action)

    def step(self) -> bool:
        """Move the clock to the next action and perform it; return whether there was one."""
        while self._heap:
            at_us, _, entry = heapq.heappop(self._heap)
            action, entry.action = entry.action, None
            if action is not None:
                self.now_us = at_us
                action()
                return True
        return False
