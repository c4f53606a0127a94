"""Run Python's cyclic garbage collection between requests, not in the middle of a large one.

Python's collector scans all objects whenever many have survived. During a request of a hundred
thousand elements it would block all clients for 0.1 s or more, several times. Most objects of a
request are freed by reference counting; only cycles wait for the collector.
"""

from __future__ import annotations

import gc

NEVER = 1 << 30
DUE = 10
"""The number of collections of younger objects before one of all objects (gc.set_threshold's
default)."""
LATEST_S = 60.0
"""The longest time in seconds by which a collection may be postponed."""


class GarbageCollection:
    """Decides, until `close`, when Python collects the oldest generation of objects. Creating it
    runs a collection, and exempts what is left from all later ones."""

    def __init__(self, now_s: float) -> None:
        self._thresholds = gc.get_threshold()
        self._last_s = now_s
        gc.collect()
        gc.freeze()  # modules and field tables stay for ever
        gc.set_threshold(*self._thresholds[:2], NEVER)

    def look(self, now_s: float, *, is_busy: bool) -> None:
        """Run a collection if one is due, unless a long request is in progress (is_busy) and the
        last collection was at most LATEST_S ago."""
        overdue = now_s - self._last_s > LATEST_S
        if gc.get_count()[2] >= DUE and (overdue or not is_busy):
            self._last_s = now_s
            gc.collect()

    def close(self) -> None:
        """Restore Python's own thresholds for garbage collection."""
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()
