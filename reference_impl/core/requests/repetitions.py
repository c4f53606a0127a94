"""Limit how often one request gets the same question answered.

Kafka answers as often as it is asked. A small request that names one group with many offsets, or
one topic with many producers, fifty thousand times would so ask for gigabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

REPETITIONS_MAX = 10


class Repetitions:
    """The questions of one request, counted."""

    def __init__(self) -> None:
        self._asked: Counter[Hashable] = Counter()

    def allow(self, question: Hashable) -> bool:
        """Return whether this repeated question is still answered, or has been asked too often."""
        self._asked[question] += 1
        return self._asked[question] <= REPETITIONS_MAX
