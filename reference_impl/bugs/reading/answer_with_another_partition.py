"""Up to one fetch in 150 returns the records of another partition."""

from __future__ import annotations

from reference_impl.core.log import OffsetOutOfRange
from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules

EVERY = 150


class AnswerWithAnotherPartition(Rules):
    """Real-world kin: buffers that are freed too early, and reused for another request.

    Breaks:     the records read from a partition must be those that were sent to it (design#log).
    Caught by:  workload appends, any nemesis or none, checkers phantom_records and
                inconsistent_offsets.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._answers = 0
        self._before: tuple[Partition, Slice] | None = None

    def located(
        self, partition: Partition, offset: int, max_bytes: int, end: int, *, at_least_one: bool
    ) -> Slice | None:
        """Return the place of the requested offset, but now and then the one in the partition that
        was read before. Return None if there is nothing to read."""
        found = super().located(partition, offset, max_bytes, end, at_least_one=at_least_one)
        if found is None:
            return None
        self._answers += 1
        before, self._before = self._before, (partition, found)
        if self._answers % EVERY or before is None or before[0] is partition:
            return found
        try:
            return before[0].log.locate(offset, max_bytes, at_least_one=True) or found
        except OffsetOutOfRange:
            return found
