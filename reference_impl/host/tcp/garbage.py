"""Look for cycles of garbage between requests, not in the middle of one that names very much.

Python's collector looks through all objects whenever many have survived: for a request of a
hundred thousand elements 0.1 s or more in which nobody is answered, several times over. What a
request leaves behind is freed without it; only what refers to itself waits for the collector.
"""

from __future__ import annotations

import gc

NEVER = 1 << 30
DUE = 10
"""How many collections of younger objects come before one of all (gc.set_threshold's default)."""
LATEST_S = 60.0
"""So long a collection may be put off."""


class GarbageCollection:
    """Takes the collection of the oldest objects out of Python's hands."""

    def __init__(self, now_s: float) -> None:
        self._thresholds = gc.get_threshold()
        self._last_s = now_s
        gc.collect()
        gc.freeze()  # modules and tables of fields stay for ever
        gc.set_threshold(*self._thresholds[:2], NEVER)

    def look(self, now_s: float, *, is_busy: bool) -> None:
        """Collect if it is due and nobody is busy, or has been busy for too long."""
        overdue = now_s - self._last_s > LATEST_S
        if gc.get_count()[2] >= DUE and (overdue or not is_busy):
            self._last_s = now_s
            gc.collect()

    def close(self) -> None:
        """Leave it to Python again."""
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()
