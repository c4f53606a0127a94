"""Limit how often one request may name the same group or partition.

Kafka has no such limit. There, a small request that names one group with many offsets, or one topic
with many producers, fifty thousand times gets a response of gigabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

REPETITIONS_MAX = 10


class Repetitions:
    """Counts how often one request has named each group, topic or partition, and says when it is
    too often."""

    def __init__(self) -> None:
        self._asked: Counter[Hashable] = Counter()

    def allow(self, question: Hashable) -> bool:
        """Count that the request asks this question, such as a group or a partition, once more.
        Return False if it has asked it more than REPETITIONS_MAX times."""
        self._asked[question] += 1
        return self._asked[question] <= REPETITIONS_MAX
