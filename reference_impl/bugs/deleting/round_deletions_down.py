"""One DeleteRecords in three deletes one record too few."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules

EVERY = 3


class RoundDeletionsDown(Rules):
    """Real-world kin: deletions that are rounded to boundaries that are easy to cut.

    Breaks:     once DeleteRecords was answered, nothing below its offset may be read (KIP-107).
    Caught by:  workload delete-records, any nemesis or none, checker retention
                (log-start-goes-back).
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._deletions = 0

    def delete_records(self, partition: Partition, before: int) -> int:
        """Delete one record too few every third time, if at least two are to be deleted, but return
        the offset that was asked for."""
        self._deletions += 1
        if self._deletions % EVERY or before <= partition.log.log_start_offset + 1:
            return super().delete_records(partition, before)
        super().delete_records(partition, before - 1)
        return before
