"""What a broker decides about records that may go: DeleteRecords, retention, compaction."""

from __future__ import annotations

from reference_impl.core.log.batch_filter import Care
from reference_impl.core.partition import Partition


class Deleting:
    """Which records go, and when."""

    def delete_records(self, partition: Partition, before: int) -> int:
        """What lies below the offset goes, and nothing else; answers the log start (KIP-107)."""
        return partition.log.delete_records_before(before)

    def has_expired(self, age_ms: int, retention_ms: int) -> bool:
        """A segment goes when its newest record is older than `retention.ms`, and no sooner.

        Source: UnifiedLog.java, deleteRetentionMsBreachedSegments.
        """
        return age_ms > retention_ms

    def keeps_newest_of_key(self) -> bool:
        """Only a newer record of the same key takes one away (design#compaction)."""
        return True

    def waits_for_delete_horizon(self) -> bool:
        """A tombstone stays for `delete.retention.ms` after it was cleaned first, so that who reads
        the log from its start meanwhile is told (KIP-534; Cleaner.java, shouldRetainRecord).
        """
        return True

    def spares_open_transactions(self) -> bool:
        """What is not decided replaces nothing: cleaning ends at the last stable offset.

        Source: LogCleanerManager.java, cleanableOffsets.
        """
        return True

    def care(self) -> Care:
        """What the cleaner heeds (`core/log/compaction.py`)."""
        return Care(
            self.keeps_newest_of_key(),
            self.waits_for_delete_horizon(),
            self.spares_open_transactions(),
        )
