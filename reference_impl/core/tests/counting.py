"""Count the work of a piece of code in calls of functions, which no load of the machine changes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def counted(work: Callable[[], Result]) -> tuple[Result, int]:
    """Do the work. Return its result and the number of calls that it took."""
    calls = 0

    def note(frame: Any, kind: str, argument: Any) -> None:
        nonlocal calls
        calls += kind in ("call", "c_call")

    gc.disable()  # a collection may call what is no part of the work, such as Hypothesis
    sys.setprofile(note)
    try:
        result = work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return result, calls
