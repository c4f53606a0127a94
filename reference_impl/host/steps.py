"""Keep the longest steps of a node in a file, for `touchstone status`.

A node does everything in one thread, so no client is answered during a step, and the longest ones
say for how long. Apache Kafka has metrics of its event queues instead (kafka.controller:
EventQueueProcessingTimeMs).
"""

from __future__ import annotations

import heapq
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

FILE = "longest-steps.json"
"""The name of the file in the node's data directory."""
KEPT = 10
WRITTEN_AGAIN_S = 1.0
"""The shortest time between two writes of the file."""

log = logging.getLogger("reference_impl.host")


class LongestSteps:
    """The longest steps of a process, with their times and what they did."""

    def __init__(self, directory: Path | None) -> None:
        """Begin without steps. directory: the node's data directory, or None to write no file."""
        self._path = None if directory is None else directory / FILE
        self._steps: list[tuple[float, int, str]] = []
        """A heap: seconds, wall clock in milliseconds, and the event."""
        self._write_at_s: float | None = None
        """The time at which to write the file, or None if nothing is new."""
        self._written_at_s = float("-inf")

    def note(self, took_s: float, now_s: float, named: Callable[[], str]) -> None:
        """Keep a step if it is one of the longest, and write the file if that is due. named:
        describes the event."""
        if len(self._steps) < KEPT or took_s > self._steps[0][0]:
            step = (took_s, time.time_ns() // 1_000_000, named())
            if len(self._steps) < KEPT:
                heapq.heappush(self._steps, step)
            else:
                heapq.heapreplace(self._steps, step)
            self._write_at_s = self._written_at_s + WRITTEN_AGAIN_S
        if self._write_at_s is not None and now_s >= self._write_at_s:
            self._write_at_s, self._written_at_s = None, now_s
            if self._path is not None:
                self._write(self._path)

    def _write(self, path: Path) -> None:
        """Replace the file, or log a warning if that fails. It is not synced, since the next
        process writes its own."""
        rows = [
            {"ms": round(took_s * 1000, 1), "at_ms": at_ms, "event": event}
            for took_s, at_ms, event in sorted(self._steps, reverse=True)
        ]
        part = path.with_suffix(".part")
        try:
            part.write_text(json.dumps(rows), "utf-8")
            os.replace(part, path)
        except OSError as error:
            log.warning("%s is not written: %s", path, error.strerror)
