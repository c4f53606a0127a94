"""The decisions of the leader that are not in its log yet, collected into one batch.

Source: BatchAccumulator.java; KafkaRaftClient.java (prepareAppend, maybeAppendBatches). To sync the
log once for many decisions, the leader writes them when `controller.quorum.append.linger.ms` is
over since the first of them, when another decision would not fit into the batch, or when a control
record must follow (`Quorum.drain`). The records of one decision are never divided. Those that are
not written yet are lost with the leadership, as an uncommitted record of the log may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reference_impl.wire import Record, Struct, encode_metadata_record

BATCH_BYTES_MAX = 8 << 20
"""The size that a batch of several decisions may have (KafkaRaftClient.MAX_BATCH_SIZE_BYTES). One
decision may be larger here."""
RECORD_OVERHEAD_BYTES = 21
"""The most bytes that a record needs beside its value (DefaultRecord.MAX_RECORD_OVERHEAD)."""


@dataclass(frozen=True, slots=True)
class MetadataBatch:
    """Metadata records, also in their encoded form, and the time of the first, in milliseconds of
    the wall clock."""

    records: Sequence[Struct]
    encoded: Sequence[Record]
    timestamp_ms: int

    @classmethod
    def of(cls, records: Sequence[Struct], now_ms: int) -> MetadataBatch:
        """Return a batch of these records, written now. Raise Malformed for a record that cannot be
        encoded."""
        return cls(records, [Record(encode_metadata_record(each)) for each in records], now_ms)

    @property
    def size_bytes(self) -> int:
        """Return the most bytes that the records need in a batch."""
        return sum(len(each.value or b"") + RECORD_OVERHEAD_BYTES for each in self.encoded)


class Accumulator:
    """The batch that a leader collects. Each leadership, and each batch, begins with an empty
    one."""

    def __init__(self) -> None:
        self.due_ms: int | None = None
        """The time at which the batch is to be written, in milliseconds of the monotonic clock, or
        None while it is empty."""
        self.has_failed = False
        """Whether the last attempt to write the batch has failed."""
        self._records: list[Struct] = []
        self._encoded: list[Record] = []
        self._timestamp_ms, self._size_bytes = -1, 0

    def __len__(self) -> int:
        """Return the number of collected records."""
        return len(self._records)

    @property
    def batch(self) -> MetadataBatch:
        """Return the collected records as one batch."""
        return MetadataBatch(self._records, self._encoded, self._timestamp_ms)

    def takes(self, decision: MetadataBatch, linger_ms: int) -> bool:
        """Return whether the records of another decision may be collected: decisions linger at all,
        they fit into the batch, and the last attempt to write it has not failed."""
        if linger_ms <= 0 or self.has_failed:
            return False
        return self._size_bytes + decision.size_bytes <= BATCH_BYTES_MAX

    def add(self, decision: MetadataBatch, due_ms: int) -> None:
        """Collect the records of a decision. due_ms: when to write the batch if this is its first
        decision."""
        if self.due_ms is None:
            self.due_ms, self._timestamp_ms = due_ms, decision.timestamp_ms
        self._records += decision.records
        self._encoded += decision.encoded
        self._size_bytes += decision.size_bytes
