"""Decide whether a conformance run ends before its last case, and say why in one sentence."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, field

from conformance.connection import NoAnswer
from conformance.patience import PATIENCE
from conformance.target.tidying import END_TIMEOUT_S, HURRIED_S

SILENT_CASES_MAX = 6
"""The number of cases in a row without any answer after which the target counts as silent."""
ASKED_BEFORE_EACH_CASE = frozenset({"ApiVersions", "Metadata"})
"""The APIs that even a target that serves nothing else answers, so that they do not count."""
LEAST_REMOVAL_S = 1.0
"""The time for the removal of what the cases have made, even if none is left."""
RESERVED_SHARE = 0.2
"""The largest part of max_time_s that is kept for the removal."""


@dataclass
class Ending:
    """Collects reasons to end the run early. `reason` is a sentence once there is one. max_time_s
    includes the start of the target, and the removal after the last case."""

    max_failures: int | None = None
    max_time_s: float | None = None
    reason: str | None = None
    _failures: int = 0
    _silent_cases: int = 0
    began: float = field(default_factory=time.monotonic, repr=False)
    """The monotonic time from which max_time_s counts."""
    _timer: threading.Timer | None = field(default=None, repr=False)

    def begin(self) -> None:
        """Start the timer of max_time_s, with some seconds in reserve for the removal; a case that
        runs when it expires is interrupted. Do nothing without max_time_s."""
        left_s = self.left_s()
        if self.max_time_s is not None and left_s is not None:
            reserve_s = min(HURRIED_S, self.max_time_s * RESERVED_SHARE)
            self._timer = threading.Timer(max(left_s - reserve_s, 0.0), self._time_is_over)
            self._timer.daemon = True
            self._timer.start()

    def left_s(self) -> float | None:
        """Return how many seconds of max_time_s are left, at least 0, or None if there is no such
        limit."""
        if self.max_time_s is None:
            return None
        return max(self.began + self.max_time_s - time.monotonic(), 0.0)

    def removal_s(self) -> float:
        """Return how many seconds the removal of what the cases have made may take: fewer if the
        run ends early or its time is nearly over, but at least LEAST_REMOVAL_S."""
        usual_s = END_TIMEOUT_S if self.reason is None else HURRIED_S
        left_s = self.left_s()
        return usual_s if left_s is None else min(usual_s, max(left_s, LEAST_REMOVAL_S))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def end(self, reason: str) -> None:
        """Set the reason, unless there is one already."""
        self.reason = self.reason or reason

    def end_now(self, reason: str) -> None:
        """Set the reason, and let no further wait for an answer last longer than
        HURRIED_TIMEOUT_S."""
        self.end(reason)
        PATIENCE.hurry()

    def note(self, result: str, error: BaseException | None) -> None:
        """Count the failures, and the cases in a row in which the target answered nothing. End the
        run if either reaches its limit. Empty `PATIENCE.answered` for the next case."""
        answered = PATIENCE.answered - ASKED_BEFORE_EACH_CASE
        PATIENCE.answered.clear()
        silent = isinstance(error, NoAnswer) and not answered
        self._silent_cases = self._silent_cases + 1 if silent else 0
        if self._silent_cases >= SILENT_CASES_MAX:
            self.end(f"the target answered nothing in {self._silent_cases} cases in a row")
        self.count(result)

    def count(self, result: str) -> None:
        """Count a failure, and end the run if that was the last one allowed."""
        self._failures += result == "failed"
        if self.max_failures is not None and self._failures >= self.max_failures:
            failed = "case has" if self._failures == 1 else "cases have"
            self.end(f"{self._failures} {failed} failed (--max-failures)")

    def _time_is_over(self) -> None:
        self.end_now(f"{self.max_time_s:g} s are over (--max-time)")
        # The main thread may be waiting for an answer: a signal is what wakes it.
        os.kill(os.getpid(), signal.SIGTERM)
