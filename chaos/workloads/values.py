"""Values are numbers that are unique in a run and identify their sender: process 3 sends
4,000,000,000 and up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

PER_PROCESS = 1_000_000_000


def values_of(process: int) -> Iterator[int]:
    """Yield all values of one process, in the order in which it sends them."""
    return count((process + 1) * PER_PROCESS)
