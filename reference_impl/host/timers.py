"""Fire the node's timers in slices, so that no client waits for all of them.

An event loop runs every timer that is due before it looks at its sockets again. The sessions of a
group of thousands of members may end in the same moment, and each end costs the coordinator a
millisecond or more. So the timers have a few milliseconds of each round of the loop; the others
are fired in the next rounds, in the order in which they fell due.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from reference_impl.core.events import TimerKey

SLICE_S = 0.005


class Timers:
    """The running timers of one node, and those that are due and have not been fired yet."""

    def __init__(self, fire: Callable[[TimerKey], None]) -> None:
        self._fire = fire
        self._running: dict[TimerKey, asyncio.TimerHandle] = {}
        self._due: deque[tuple[TimerKey, asyncio.TimerHandle]] = deque()
        self._slice_ends_s: float | None = None
        """The end of the slice in this round of the loop, or None if none has begun."""

    def set(self, key: TimerKey, delay_ms: int) -> None:
        """Start a timer. It replaces the one of the same key."""
        self.cancel(key)
        loop = asyncio.get_running_loop()
        self._running[key] = loop.call_later(delay_ms / 1000, self._fall_due, key)

    def cancel(self, key: TimerKey) -> None:
        """Stop a timer, even one that is due and has not been fired yet."""
        running = self._running.pop(key, None)
        if running is not None:
            running.cancel()

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._running.values():
            timer.cancel()
        self._running.clear()
        self._due.clear()

    def _fall_due(self, key: TimerKey) -> None:
        self._due.append((key, self._running[key]))
        if self._slice_ends_s is None:
            self._begin_slice()
        self._fire_due()

    def _begin_slice(self) -> None:
        self._slice_ends_s = time.monotonic() + SLICE_S
        asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        self._slice_ends_s = None
        if self._due:
            self._begin_slice()
            self._fire_due()

    def _fire_due(self) -> None:
        """Fire what is due until the slice is over."""
        assert self._slice_ends_s is not None
        while self._due and time.monotonic() < self._slice_ends_s:
            key, timer = self._due.popleft()
            if self._running.get(key) is timer:  # else it was stopped or replaced while it waited
                del self._running[key]
                self._fire(key)
