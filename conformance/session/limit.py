"""End a case that has no end: a target may keep it busy with answers that are all in time."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from conformance.case import Deviation
from conformance.terms import TERMS

CASE_S_MAX = 600.0
"""The most seconds of a case: many times what the longest takes on a busy machine."""
AGAIN_S = 5.0
"""The seconds after which a case that goes on is interrupted again."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise Deviation in the block once it has taken CASE_S_MAX (longer where --timeout-scale is
    above 1), and every AGAIN_S after that. Only the main thread may call this."""
    longest_s = CASE_S_MAX * max(1.0, TERMS.timeout_scale)

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Deviation("time of this case", f"at most {longest_s:g} s", "it goes on")

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, longest_s, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
