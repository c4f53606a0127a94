"""Limit how often one request may ask the same thing.

Kafka has no such limit. There, a small request that names one group with many offsets, or one topic
with many producers, fifty thousand times gets gigabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

REPETITIONS_MAX = 10


class Repetitions:
    """Counts how often one request has asked each thing."""

    def __init__(self) -> None:
        self._asked: Counter[Hashable] = Counter()

    def allow(self, question: Hashable) -> bool:
        """Return whether this repeated question is still answered, or has been asked too often."""
        self._asked[question] += 1
        return self._asked[question] <= REPETITIONS_MAX
