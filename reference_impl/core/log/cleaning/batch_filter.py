"""Choose the records of a batch that the cleaner keeps.

Source: Cleaner.java (shouldRetainRecord, checkBatchRetention), MemoryRecords.java (filterTo,
filterBatch); KIP-534 (delete horizon). A batch that loses records keeps its base offset, its last
offset and its sequence, so readers and producers notice nothing. The last batch of a producer stays
even without records: the producer's next batch is checked against its sequence.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from reference_impl.core.log.cleaning.cleaned_transactions import CleanedTransactions
from reference_impl.core.log.producers.state import ProducerEntry
from reference_impl.core.log.readable_log import ReadableLog
from reference_impl.wire.batches.batch_header import (
    COMPRESSION_BITS,
    DELETE_HORIZON_BIT,
    BatchHeader,
    Buffer,
    with_header,
)
from reference_impl.wire.batches.compression import compress_pieces
from reference_impl.wire.batches.records import (
    NO_TIMESTAMP,
    Record,
    RecordBatch,
    check_crc,
    encode_records,
    stream_records,
)

ENCODED_AT_ONCE = 1000
"""The number of records that are encoded before other requests have their turn."""
Steps = Generator[None, None, Buffer | None]
"""A generator that yields after each step of work, and returns the part of a batch that stays."""


@dataclass
class LastOfProducer:
    """The point up to which the log must remember a producer; `offset` is None if only a marker is
    known."""

    epoch: int
    offset: int | None

    @classmethod
    def of(cls, entry: ProducerEntry) -> LastOfProducer:
        """Return the producer's last batch, from its entry in the producer state."""
        offset = entry.batches[-1].last_offset if entry.batches else None
        return cls(entry.producer_epoch, offset)

    def is_in(self, header: BatchHeader) -> bool:
        """Return whether a batch of this producer is its last, which must not vanish: the one that
        ends at `offset`, or, if only a marker is known, a marker of the same epoch."""
        if self.offset is not None:
            return header.last_offset == self.offset
        return header.is_control and header.producer_epoch == self.epoch


def moved(record: Record, moved_ms: int) -> Record:
    """Return the record with its timestamp delta counted from a base that is `moved_ms` lower."""
    return replace(record, timestamp_delta=record.timestamp_delta + moved_ms)


def horizon_has_passed(header: BatchHeader, now_ms: int) -> bool:
    """Return whether the batch has a delete horizon (KIP-534), stored in its base timestamp, that
    has passed."""
    return bool(header.attributes & DELETE_HORIZON_BIT) and header.base_timestamp <= now_ms


class CleaningSteps(Protocol):
    """The steps of cleaning that the broker's rules decide: `core/rules/deleting.py` implements
    them and names their sources."""

    def cleanable_end(self, log: ReadableLog) -> int:
        """Return the offset from which on nothing may be cleaned."""

    def replaces_older(self, header: BatchHeader, transactions: CleanedTransactions) -> bool:
        """Return whether the records of a batch replace older ones of the same key."""

    def is_replaced(self, offset: int, newest: int) -> bool:
        """Return whether the newest record of a key removes the one at this offset."""

    def tombstone_may_go(self, header: BatchHeader, now_ms: int) -> bool:
        """Return whether the tombstones of this batch may be removed now."""

    def cleaned(self, record: Record, moved_ms: int) -> Record:
        """Return a kept record with its timestamp delta counted from the batch's new base
        timestamp, which is `moved_ms` lower."""


@dataclass
class BatchFilter:
    """Decides for each batch, in the order of the log, which of its records cleaning keeps."""

    newest: Mapping[bytes, int]
    """The newest offset of each key in the section that is cleaned."""
    end_offset: int
    """The offset from which on batches are copied whole."""
    transactions: CleanedTransactions
    producers: Mapping[int, LastOfProducer]
    now_ms: int
    delete_retention_ms: int
    steps: CleaningSteps

    def kept(self, header: BatchHeader, data: Buffer) -> Steps:
        """Return the part of a batch that stays: all of it, fewer records, a header without
        records, or None. Yield between steps of work, for a batch may hold millions of records.
        Raise CorruptRecord if the batch is damaged."""
        if header.is_control:
            is_useless = self.transactions.is_useless_marker(header, RecordBatch.decode(data)[0])
            drops_all = is_useless and horizon_has_passed(header, self.now_ms)
        else:
            is_useless = drops_all = self.transactions.is_aborted(header)
        if drops_all:
            return self._emptied(header)
        records = []
        has_tombstones = False
        for record in checked_records(data):
            if record is None:
                yield
            elif header.is_control or self._stays(header, record):
                records.append(record)
                has_tombstones |= record.value is None
        if not records:
            return self._emptied(header)
        needs_horizon = not header.attributes & DELETE_HORIZON_BIT and (
            is_useless if header.is_control else has_tombstones
        )
        if len(records) == header.records_count and not needs_horizon:
            return data
        horizon_ms = self.now_ms + self.delete_retention_ms if needs_horizon else None
        return (yield from _rewritten(header, records, horizon_ms, self.steps))

    def _stays(self, header: BatchHeader, record: Record) -> bool:
        offset = header.base_offset + record.offset_delta
        if offset >= self.end_offset:
            return True
        if record.key is None:
            return False
        if self.steps.is_replaced(offset, self.newest.get(record.key, -1)):
            return False
        return record.value is not None or not self.steps.tombstone_may_go(header, self.now_ms)

    def _emptied(self, header: BatchHeader) -> bytes | None:
        """Return the batch's header without records if this is the last batch of a producer, else
        None."""
        last = self.producers.get(header.producer_id)
        if not header.has_producer_id or last is None or not last.is_in(header):
            return None
        return RecordBatch(
            [],
            header.base_offset,
            header.partition_leader_epoch,
            header.attributes & ~(COMPRESSION_BITS | DELETE_HORIZON_BIT),
            header.last_offset_delta,
            NO_TIMESTAMP,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
        ).encode()


def checked_records(data: Buffer) -> Iterator[Record | None]:
    """Check the CRC of a batch, then yield each of its records, and None after each step of work.
    Raise CorruptRecord if the batch is damaged."""
    check_crc(data, 0, len(data))
    yield from stream_records(data)


def _rewritten(
    header: BatchHeader, records: list[Record], horizon_ms: int | None, steps: CleaningSteps
) -> Generator[None, None, bytes]:
    """Return the batch with these records only. A new horizon (None: no new one) replaces the base
    timestamp, and the timestamp deltas count from there."""
    base, attributes = header.base_timestamp, header.attributes
    if horizon_ms is not None:
        base, attributes = horizon_ms, attributes | DELETE_HORIZON_BIT
    moved_ms = header.base_timestamp - base
    newest = header.max_timestamp
    if not header.is_log_append_time:
        newest = header.base_timestamp + max(record.timestamp_delta for record in records)

    def encoded() -> Iterator[bytes]:
        for start in range(0, len(records), ENCODED_AT_ONCE):
            kept = records[start : start + ENCODED_AT_ONCE]
            yield encode_records([steps.cleaned(record, moved_ms) for record in kept])

    payload = bytearray()
    for piece in compress_pieces(attributes & COMPRESSION_BITS, encoded()):
        payload += piece
        if len(records) > ENCODED_AT_ONCE:
            yield
    return with_header(
        payload,
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base,
        max_timestamp=newest,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        records_count=len(records),
    )
