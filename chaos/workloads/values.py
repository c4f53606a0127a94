"""Values are numbers, unique in a run, and tell who sent them: process 3's are 4,000,000,000 …"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

PER_PROCESS = 1_000_000_000


def values_of(process: int) -> Iterator[int]:
    """Yield all values of one process, in the order it sends them."""
    return count((process + 1) * PER_PROCESS)
