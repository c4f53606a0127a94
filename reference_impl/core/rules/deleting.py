"""The broker's decisions about removing records: DeleteRecords, retention, compaction."""

from __future__ import annotations

from collections.abc import Collection

from reference_impl.core.log.cleaning.batch_filter import horizon_has_passed, moved
from reference_impl.core.log.cleaning.cleaned_transactions import CleanedTransactions
from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.core.log.segments.segment import Segment
from reference_impl.core.partitions.partition import Partition
from reference_impl.wire.batches.records import BatchHeader, Record

MINUTE_MS = 60_000


class Deleting:
    """Decisions about which records are removed, and when."""

    def delete_records(self, partition: Partition, before: int) -> int:
        """Delete the records below the offset, and no others. Return the new log start offset
        (KIP-107)."""
        return partition.log.delete_records_before(before)

    def low_watermark(self, leader_start: int, follower_starts: Collection[int]) -> int:
        """Return the offset below which no live replica has a record: a deletion is acknowledged
        once this has reached it, so that the records do not come back with the next leader
        (KIP-107; Partition.lowWatermarkIfLeader). -1 is the start of a follower that has not
        fetched yet."""
        return min((leader_start, *follower_starts))

    def last_written_ms(self, segment: Segment) -> int:
        """Return the time from which the age of a segment counts: that of its newest record.

        If no record has a timestamp, return the time at which the segment was opened. (Kafka takes
        the file's time of last change, which a disk in memory does not have.) Source:
        LogSegment.largestTimestamp.
        """
        newest = segment.newest[0]
        return newest if newest >= 0 else segment.created_ms

    def has_expired(self, age_ms: int, retention_ms: int) -> bool:
        """Return whether a segment of this age must be deleted: if and only if it is older than
        `retention.ms`, which must not be -1 (unlimited). Source: UnifiedLog.java,
        deleteRetentionMsBreachedSegments.
        """
        return age_ms > retention_ms

    def exceeds_size(self, size_bytes: int, segment_bytes: int, retention_bytes: int) -> bool:
        """Return whether the oldest segment must be deleted because of `retention.bytes`: if and
        only if the rest of the log has at least that size. Source: UnifiedLog.java,
        deleteRetentionSizeBreachedSegments.
        """
        return size_bytes - segment_bytes >= retention_bytes

    def offsets_retention_ms(self, minutes: int) -> int:
        """Return for how many milliseconds the offsets of a group without members are kept:
        offsets.retention.minutes (KIP-211)."""
        return minutes * MINUTE_MS

    # --- compaction ---------------------------------------------------------------------------

    def cleanable_end(self, log: ReadableLog) -> int:
        """Return the offset at which cleaning must stop: the last stable offset, since an undecided
        record replaces nothing. Source: LogCleanerManager.java, cleanableOffsets."""
        return log.last_stable_offset

    def replaces_older(self, header: BatchHeader, transactions: CleanedTransactions) -> bool:
        """Return whether the records of a batch replace older ones of the same key. Those of an
        aborted transaction do not (KIP-98; Cleaner.java, buildOffsetMapForSegment).
        """
        return not transactions.is_aborted(header)

    def is_replaced(self, offset: int, newest: int) -> bool:
        """Return whether cleaning removes a record, because its key has a newer one
        (design#compaction)."""
        return offset < newest

    def tombstone_may_go(self, header: BatchHeader, now_ms: int) -> bool:
        """Return whether a tombstone may be removed: `delete.retention.ms` after it was first
        cleaned, so that a reader which began at the log start before sees the deletion (KIP-534;
        Cleaner.java, shouldRetainRecord)."""
        return horizon_has_passed(header, now_ms)

    def cleaned(self, record: Record, moved_ms: int) -> Record:
        """Return a record that the cleaner keeps, adapted to the batch's new base timestamp: key,
        value, headers and time are unchanged (KIP-534, MemoryRecords.filterTo)."""
        return moved(record, moved_ms)
