"""Track the read of one partition: its position, the offsets that the replica's answers name (log
start, high watermark), and the history rows of the batches read.

Source: KIP-98 (control records); DefaultRecordBatch (sequences, timestamps).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chaos.clients import payload
from chaos.values.protocols import Outcome, Record
from reference_impl.wire import (
    BatchHeader,
    CorruptRecord,
    RecordBatch,
    Struct,
    batches,
    control_type,
)

NO_SEQUENCE = -1
OFFSET_MAX = 1 << 63
UNREADABLE_MAX = 1000
SEQUENCES = 1 << 31  # sequences wrap to 0 (DefaultRecordBatch.incrementSequence)


@dataclass
class PartitionRead:
    """The progress of reading one partition from one replica."""

    topic: str
    partition: int
    replica: int | None = None
    """The follower to read from; None: the leader."""
    records: list[Record] = field(default_factory=list)
    leader_epoch: int | None = None
    begun_at: int | None = None
    """The earliest offset that ListOffsets returned."""
    log_start: int | None = None
    """The lowest log start offset in any response. Records between it and `begun_at` were not
    offered to readers."""
    next_offset: int = 0
    size_bytes: int = 0
    """The total size in bytes of the batches that were read, as the leader stores them."""
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    late: str | None = None
    """A sentence about a follower's high watermark, if it did not catch up with the leader's in
    time; else None."""
    complete: bool = False
    error: str | None = None
    detail: str | None = None

    def start(self) -> Record:
        """Return a POSITION row with the offset at which this read began."""
        extra = {
            "f": "position",
            "asked": "earliest",
            "replica": self.replica,
            "log_start": self.log_start,
        }
        return Record(self.topic, self.partition, None, self.begun_at, extra=extra)

    def summary(self) -> Record:
        """Return the READ_ALL row, which sums up the whole partition."""
        extra = {
            "f": "read_all",
            "replica": self.replica,
            "leader_epoch": self.leader_epoch if self.replica is None else None,
            "log_start": self.log_start,
            "high_watermark": self.high_watermark,
            "last_stable_offset": self.last_stable_offset,
            "size_bytes": self.size_bytes if self.replica is None else None,
            "detail": self.detail or self.late,
        }
        outcome = Outcome.OK if self.complete else Outcome.INFO
        return Record(self.topic, self.partition, None, None, outcome, self.error, extra=extra)

    def rows(self) -> Iterator[Record]:
        """Yield the history rows of the records read and of the summary. If a leader's read began
        above its log start, because ListOffsets named a later one, yield the row of its first
        offset before them."""
        if self.replica is None and self.begun_at != self.log_start:
            yield self.start()
        yield from self.records
        yield self.summary()

    @property
    def name(self) -> str:
        """The partition, and the node if it is a follower, as text for messages."""
        whose = "" if self.replica is None else f" on node {self.replica}"
        return f"{self.topic}-{self.partition}{whose}"

    def take(self, answer: Struct, nonce: bytes) -> None:
        """Add the records of a Fetch answer from the position on, and move the position behind its
        last batch. Of a late follower, leave out records at or above its leader's high watermark. A
        batch that cannot be decoded gives rows without a value. nonce: the run's."""
        data = bytes(answer.records or b"")
        limit = self.high_watermark if self.late and self.high_watermark else OFFSET_MAX
        for header, start, end in batches(data):
            self.size_bytes += end - start
            try:
                batch, _ = RecordBatch.decode(data[start:end])
            except CorruptRecord as error:
                # The broker has stored this very batch: another request would return it again.
                rows = self._unreadable(header, str(error))
            else:
                rows = self._rows(batch, nonce)
            for record in rows:
                if record.offset is not None and self.next_offset <= record.offset < limit:
                    self.records.append(record)
            # By the header, not the last record: a compacted batch keeps its last offset.
            self.next_offset = max(
                self.next_offset, header.base_offset + header.last_offset_delta + 1
            )

    def _rows(self, batch: RecordBatch, nonce: bytes) -> Iterator[Record]:
        whose: dict[str, Any] = {}
        if self.replica is not None:
            whose = {"replica": self.replica, "high_watermark": self.high_watermark}
        for offset, record in batch.offsets():
            extra: dict[str, Any] = {
                "batch_base_offset": batch.base_offset,
                "producer_id": batch.producer_id,
                "producer_epoch": batch.producer_epoch,
                "sequence": _sequence(batch, offset),
                "leader_epoch": batch.partition_leader_epoch,
                "timestamp_ms": batch.timestamp_of(record),
                "timestamp_type": "append" if batch.is_log_append_time else "create",
            }
            value, told = None, dict[str, Any]()
            if batch.is_control:
                extra["control"] = control_type(record).name.lower()
            else:
                headers = payload.plain_headers(record.headers)
                carried = payload.Carried(record.value, record.key, headers)
                value, told = payload.value_of(carried, nonce)
            yield Record(self.topic, self.partition, value, offset, extra=extra | whose | told)

    def _unreadable(self, header: BatchHeader, reason: str) -> Iterator[Record]:
        """Yield a row without a value for each offset of a batch that cannot be decoded, for at
        most UNREADABLE_MAX + 1 offsets."""
        extra: dict[str, Any] = {"detail": reason, "batch_base_offset": header.base_offset}
        if self.replica is not None:
            extra["replica"] = self.replica
        # A count that is damaged itself must not make millions of rows.
        for delta in range(min(header.last_offset_delta, UNREADABLE_MAX) + 1):
            offset = header.base_offset + delta
            yield Record(self.topic, self.partition, None, offset, extra=dict(extra))


def _sequence(batch: RecordBatch, offset: int) -> int:
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return (batch.base_sequence + offset - batch.base_offset) % SEQUENCES
