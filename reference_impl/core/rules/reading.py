"""A leader's decisions about a reader: where it begins, how far it may read, and which records it
must drop."""

from __future__ import annotations

from reference_impl.core.groups.offsets import CommittedOffset, Offsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.log.segments.time_search import Search
from reference_impl.core.log.segments.transaction_index import AbortedTransaction
from reference_impl.core.partitions.fetch_sessions import Wanted
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct

READ_COMMITTED = 1


class Reading:
    """Decisions on positions, isolation levels and aborted transactions."""

    # --- where a reader begins ----------------------------------------------------------------

    def fetch_offset(self, partition: Partition, params: Struct, connection: int) -> int:
        """Return the offset from which a Fetch reads: exactly the one that the request names,
        whether it moved forward or back.

        Source: FetchRequest.json, FetchOffset; KafkaConsumer.seek.
        """
        offset: int = params.fetch_offset
        return offset

    def renewed(self, known: Wanted, asked: Struct) -> Struct:
        """Return the row that a fetch session keeps of a partition that a later request names
        again: the newer row (KIP-227; FetchSession.update).
        """
        return asked

    def earliest_offset(self, partition: Partition) -> int:
        """Return the earliest offset for ListOffsets: the log start, the first offset that can be
        read (KIP-79; KIP-107)."""
        return partition.log.log_start_offset

    def end_of_epoch(self, partition: Partition, leader_epoch: int) -> tuple[int, int]:
        """Return the largest epoch not above the requested one, and its end offset, for
        OffsetForLeaderEpoch; (-1, -1) if that is unknown. A reader's records from there on may not
        be in our log (KIP-101; KIP-320)."""
        return partition.log.end_offset_for_epoch(leader_epoch)

    def latest_offset(self, partition: Partition, isolation_level: int) -> int:
        """Return the latest offset for ListOffsets: the end of the range that the reader may see.
        If it were larger, a reader that begins there would miss records of a transaction that is
        decided later (KIP-98)."""
        return self.readable_end(partition, isolation_level)

    def check_end_is_known(self, high_watermark: int, epoch_start: int) -> None:
        """Raise Refused(OFFSET_NOT_AVAILABLE) while a new leader may not know all that is
        committed: its high watermark lags behind the records of the epochs before, and a reader who
        begins there would go back behind what others have read (KIP-207;
        Partition.fetchOffsetForTimestamp)."""
        if high_watermark < epoch_start:
            raise Refused(ErrorCode.OFFSET_NOT_AVAILABLE)

    def offset_at_time(self, partition: Partition, timestamp: int) -> Search:
        """Return a search that finds, in steps, the first record whose timestamp is at or after the
        requested one, or None if there is none (KIP-79)."""
        return partition.log.offset_for_timestamp(timestamp)

    def committed_offset(
        self, offsets: Offsets, group_id: str, key: TopicPartition
    ) -> CommittedOffset:
        """Return the group's committed offset for OffsetFetch, exactly as committed: the offset of
        the next record to read (docs, design, "Consumer Position"). Raise KeyError if the group has
        none."""
        return offsets.of(group_id)[key]

    # --- what a reader is given ---------------------------------------------------------------

    def located(
        self, partition: Partition, offset: int, max_bytes: int, end: int, *, at_least_one: bool
    ) -> Slice | None:
        """Return the slice of batches below `end` that a fetch gets, or None if there is nothing to
        read. The first batch is the one that holds the offset, no batch is left out between, and
        with `at_least_one` the first is returned even if it exceeds max_bytes (KIP-74)."""
        return partition.log.locate(offset, max_bytes, end, at_least_one=at_least_one)

    def readable_end(self, partition: Partition, isolation_level: int) -> int:
        """Return the offset before which a reader must stop: for read_committed the first offset of
        the earliest undecided transaction (KIP-98, LSO), else the high watermark.
        """
        if isolation_level == READ_COMMITTED:
            return partition.log.last_stable_offset
        return partition.high_watermark

    def aborted_transactions(
        self, partition: Partition, from_offset: int, end_offset: int
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions that may have records in a range, wherever they began:
        a read_committed reader drops the records of these and of no others (KIP-98).
        """
        return partition.log.aborted_transactions(from_offset, end_offset)
