"""Deliver the records of one partition from a Fetch answer, little by little.

Source: CompletedFetch.java; KIP-98, Consumer (read_committed).

A read_committed consumer skips the records of aborted transactions. The broker names them
(FetchResponse.json, AbortedTransactions: producer id and first offset, in order); from its first
offset on, everything of that producer is dropped until the ABORT marker that ends the transaction.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.client.values import ConsumerRecord, TimestampType, TopicPartition
from reference_impl.wire import (
    ControlRecordType,
    CorruptRecord,
    RecordBatch,
    Struct,
    batches,
    control_type,
)


class FetchedPartition:
    """The fetched records of one partition, and how many have been delivered."""

    def __init__(
        self,
        partition: TopicPartition,
        offset: int,
        row: Struct,
        *,
        is_read_committed: bool,
        asked_epoch: int = -1,
        rules: ClientRules = CORRECT,
    ) -> None:
        self.partition = partition
        self._rules = rules
        self.asked_epoch = asked_epoch
        """The epoch of the leader that sent these records."""
        self.next_offset = offset
        """The offset after the last record that was delivered or skipped."""
        self.leader_epoch = -1
        """The leader epoch of the last batch that was delivered or skipped."""
        self.is_drained = False
        self._bad_batch: CorruptRecord | None = None
        aborted = row.aborted_transactions if is_read_committed else None
        self._aborted = [(each.first_offset, each.producer_id) for each in aborted or []]
        self._aborted.sort(reverse=True)
        self._aborting: set[int] = set()
        self._records = self._read(row.records or b"")

    def take(self, count: int) -> list[ConsumerRecord]:
        """Return the next records, at most this many, move `next_offset` past them, and set
        `is_drained` if the end is reached. Raise CorruptRecord at a bad batch, once the records
        before it have been delivered (CompletedFetch.fetchRecords)."""
        if self._bad_batch is not None:
            raise self._bad_batch
        taken: list[ConsumerRecord] = []
        while len(taken) < count:
            try:
                record = next(self._records, None)
            except CorruptRecord as error:
                self._bad_batch = error
                if not taken:
                    raise
                break
            if record is None:
                self.is_drained = True
                break
            self.next_offset = self._rules.position_after(record.offset)
            self.leader_epoch = record.leader_epoch
            taken.append(record)
        return taken

    def _read(self, data: bytes | memoryview) -> Iterator[ConsumerRecord]:
        # A Fetch answer may end inside a batch (max_bytes): the rest comes with the next one.
        for header, start, _ in batches(data, allow_partial=True):
            while self._aborted and self._aborted[-1][0] <= header.last_offset:
                self._aborting.add(self._aborted.pop()[1])
            if header.is_control:
                is_abort = self._is_abort(data, start)
                if self._rules.ends_abort(header.producer_id, is_abort, self._aborting):
                    self._aborting.discard(header.producer_id)
            elif not self._rules.is_left_out(header, self._aborting):
                yield from self._records_of(data, start)
            self.next_offset = max(self.next_offset, header.last_offset + 1)
            self.leader_epoch = header.partition_leader_epoch

    def _is_abort(self, data: bytes | memoryview, start: int) -> bool:
        batch, _ = RecordBatch.decode(data, start)
        return any(control_type(record) is ControlRecordType.ABORT for record in batch.records)

    def _records_of(self, data: bytes | memoryview, start: int) -> Iterator[ConsumerRecord]:
        batch, _ = RecordBatch.decode(data, start)  # checks the CRC
        kind = (
            TimestampType.LOG_APPEND_TIME if batch.is_log_append_time else TimestampType.CREATE_TIME
        )
        for offset, record in batch.offsets():
            if self._rules.was_delivered(offset, self.next_offset):
                continue
            yield ConsumerRecord(
                *self.partition,
                offset,
                batch.timestamp_of(record),
                kind,
                record.key,
                record.value,
                tuple(record.headers),
                batch.partition_leader_epoch,
            )
