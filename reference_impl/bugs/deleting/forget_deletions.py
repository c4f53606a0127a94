"""DeleteRecords is acknowledged, but no record is deleted."""

from __future__ import annotations

from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class ForgetDeletions(Rules):
    """Real-world kin: a log start raised in memory, and computed again when segments change.

    Breaks:     once DeleteRecords was answered, the leader's log must begin at its offset
                (KIP-107).
    Caught by:  workload delete-records, any nemesis or none, checker retention
                (log-start-goes-back). A log start that goes back when a broker was killed is no
                violation: Apache Kafka stores it only once a minute.
    Within:     one run of 10 seconds.
    """

    def delete_records(self, partition: Partition, before: int) -> int:
        """Return the log start that a deletion would give, and delete nothing."""
        return max(before, partition.log.log_start_offset)
