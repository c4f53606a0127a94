"""Decide whether a conformance run ends before its last case, and say why in one sentence."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field

from conformance.connection import PATIENCE, NoAnswer

SILENT_CASES_MAX = 6
"""The number of cases in a row without any answer after which the target counts as silent."""
ASKED_BEFORE_EACH_CASE = frozenset({"ApiVersions", "Metadata"})
"""The APIs that even a target that serves nothing else answers, so that they do not count."""


@dataclass
class Ending:
    """Collects reasons to end the run early. `reason` is a sentence once there is one."""

    max_failures: int | None = None
    max_time_s: float | None = None
    reason: str | None = None
    _failures: int = 0
    _silent_cases: int = 0
    _timer: threading.Timer | None = field(default=None, repr=False)

    def begin(self) -> None:
        """Start the clock of max_time_s; a case that runs when it expires is interrupted."""
        if self.max_time_s is not None:
            self._timer = threading.Timer(self.max_time_s, self._time_is_over)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def end(self, reason: str) -> None:
        """Set the reason, unless there is one already."""
        self.reason = self.reason or reason

    def note(self, result: str, error: BaseException | None) -> None:
        """Take the result of one case into account."""
        answered = PATIENCE.answered - ASKED_BEFORE_EACH_CASE
        PATIENCE.answered.clear()
        silent = isinstance(error, NoAnswer) and not answered
        self._silent_cases = self._silent_cases + 1 if silent else 0
        self._failures += result == "failed"
        if self._silent_cases >= SILENT_CASES_MAX:
            self.end(f"the target answered nothing in {self._silent_cases} cases in a row")
        if self.max_failures is not None and self._failures >= self.max_failures:
            failed = "case has" if self._failures == 1 else "cases have"
            self.end(f"{self._failures} {failed} failed (--max-failures)")

    def _time_is_over(self) -> None:
        self.end(f"{self.max_time_s:g} s are over (--max-time)")
        # The main thread may be waiting for an answer: a signal is what wakes it.
        os.kill(os.getpid(), signal.SIGTERM)
