"""The state that a partition keeps of each idempotent producer, to recognise retries and gaps.

Source: KIP-98, Idempotent Producer Guarantees; ProducerStateEntry.java,
ProducerAppendInfo.java, ProducerStateManager.java.

The decisions are pure functions of an entry and a batch header (`duplicate_of`,
`check_sequence`), so that the broker's rules call them and a planted bug can replace them. The
rest is bookkeeping.

For each producer id: its epoch, the last five batches (a client keeps at most five in flight),
its last timestamp, the epoch of the last coordinator that wrote a marker, and where its open
transaction began.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from reference_impl.core.storage import Buffer
from reference_impl.wire import ErrorCode, Malformed
from reference_impl.wire.batches.control_records import ControlRecordType, control_type
from reference_impl.wire.batches.records import BatchHeader, Record, RecordBatch

BATCHES_TO_RETAIN = 5
"""The number of batches remembered per producer (ProducerStateEntry.NUM_BATCHES_TO_RETAIN):
`max.in.flight.requests.per.connection` may not exceed it.
"""
ENDED_SHARE_MAX = 4
"""The most first offsets that are kept, as a multiple of the open transactions."""
NO_EPOCH = -1
NO_SEQUENCE = -1
SEQUENCE_MAX = 2**31 - 1


_ENDS_TRANSACTION = (ControlRecordType.COMMIT, ControlRecordType.ABORT)


def _kind_of(record: Record) -> ControlRecordType | None:
    """Return the kind of marker, or None for one that a later Kafka has added
    (ControlRecordType.UNKNOWN)."""
    try:
        return control_type(record)
    except Malformed:
        return None


def increment_sequence(sequence: int, by: int) -> int:
    """Return the sequence number `by` later; it wraps from 2^31 - 1 to 0
    (DefaultRecordBatch.incrementSequence)."""
    return (sequence + by) & SEQUENCE_MAX


def decrement_sequence(sequence: int, by: int) -> int:
    """Return the sequence number `by` records earlier; 2^31 - 1 comes before 0
    (DefaultRecordBatch.decrementSequence)."""
    return (sequence - by) & SEQUENCE_MAX


class BatchMetadata(NamedTuple):
    """One appended batch of a producer (BatchMetadata.java)."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """The sequence number of the batch's first record."""
        return decrement_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        """The offset of the batch's first record, with which a retry is answered."""
        return self.last_offset - self.offset_delta


@dataclass(slots=True)
class ProducerEntry:
    """The state of one producer id."""

    producer_id: int
    producer_epoch: int = NO_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    current_txn_first_offset: int | None = None
    batches: deque[BatchMetadata] = field(default_factory=lambda: deque(maxlen=BATCHES_TO_RETAIN))
    last_marker: int = field(default=-1, compare=False)
    """The offset of the producer's newest marker written since this log was opened, or -1."""

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; -1 (NO_SEQUENCE) if only a marker is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class CompletedTransaction(NamedTuple):
    """A transaction that a marker has ended in this partition (CompletedTxn.java). Its last offset
    is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


def duplicate_of(entry: ProducerEntry | None, header: BatchHeader) -> BatchMetadata | None:
    """Return the batch among the producer's last five that this one repeats (same epoch, same
    sequences), or None."""
    if entry is None or entry.producer_epoch != header.producer_epoch:
        return None
    last_sequence = header.last_sequence
    for batch in entry.batches:
        if batch.last_sequence == last_sequence and batch.first_sequence == header.base_sequence:
            return batch
    return None


def check_sequence(entry: ProducerEntry | None, header: BatchHeader) -> ErrorCode:
    """Return NONE if the batch continues the producer's sequence, or if the producer is not known,
    or else the error to answer. Gaps and duplicates older than the last five batches get the same
    error (claims IDM-2). Source: ProducerAppendInfo.checkProducerEpoch and checkSequence."""
    if entry is None or entry.producer_epoch == NO_EPOCH:
        # The state may have expired, or its records been deleted: any first sequence is accepted.
        return ErrorCode.NONE
    if header.producer_epoch < entry.producer_epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if header.producer_epoch != entry.producer_epoch:
        # A new epoch starts to count at 0.
        expected = 0
    elif entry.last_sequence == NO_SEQUENCE:
        expected = 0
    else:
        expected = increment_sequence(entry.last_sequence, 1)
    return (
        ErrorCode.NONE
        if header.base_sequence == expected
        else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )


class ProducerStateManager:
    """All producers of one partition, and the transactions that are open in it."""

    def __init__(self) -> None:
        self._producers: dict[int, ProducerEntry] = {}
        # First offsets of transactions, rising because offsets do: open ones, and ended ones
        # whose marker is not yet below the high watermark (with the marker's offset).
        self._ongoing: dict[int, int] = {}
        self._unreplicated: dict[int, int] = {}
        self._begun: deque[int] = deque()
        """First offsets of transactions, rising: all open ones, and some that have ended since."""

    # -- asked by the rules --------------------------------------------------------------------

    def last_marker(self, producer_id: int) -> int:
        """Return the offset of the producer's newest marker since the log was opened, or -1."""
        entry = self._producers.get(producer_id)
        return -1 if entry is None else entry.last_marker

    def entry(self, producer_id: int) -> ProducerEntry | None:
        """Return the state of this producer id, or None."""
        return self._producers.get(producer_id)

    def duplicate_of(self, header: BatchHeader) -> BatchMetadata | None:
        """Return the batch among its producer's last five that this one repeats, or None."""
        return duplicate_of(self._producers.get(header.producer_id), header)

    def check_sequence(self, header: BatchHeader) -> ErrorCode:
        """Return NONE if the batch continues its producer's sequence or the producer is not known,
        or else the error."""
        return check_sequence(self._producers.get(header.producer_id), header)

    def entries(self) -> Iterator[ProducerEntry]:
        """Yield all producers by id (DescribeProducers, snapshots)."""
        for producer_id in sorted(self._producers):
            yield self._producers[producer_id]

    def __len__(self) -> int:
        return len(self._producers)

    # -- told by the log -----------------------------------------------------------------------

    def update(
        self, header: BatchHeader, base_offset: int, batch: Buffer
    ) -> CompletedTransaction | None:
        """Note an appended batch of an idempotent producer. Return the transaction that it
        completes if it is a marker, else None; None, too, if the transaction wrote nothing to this
        partition."""
        if header.is_control:
            return self._update_from_marker(header, base_offset, batch)
        entry = self._entry_for(header)
        last_offset = base_offset + header.last_offset_delta
        entry.batches.append(
            BatchMetadata(
                header.last_sequence, last_offset, header.last_offset_delta, header.max_timestamp
            )
        )
        entry.last_timestamp = header.max_timestamp
        if header.is_transactional and entry.current_txn_first_offset is None:
            entry.current_txn_first_offset = base_offset
            self._ongoing[base_offset] = header.producer_id
            self._begun.append(base_offset)
            if len(self._begun) > ENDED_SHARE_MAX * len(self._ongoing):
                self._begun = deque(self._ongoing)
        return None

    def _entry_for(self, header: BatchHeader) -> ProducerEntry:
        entry = self._producers.get(header.producer_id)
        if entry is None:
            entry = self._producers[header.producer_id] = ProducerEntry(header.producer_id)
        if entry.producer_epoch != header.producer_epoch:
            # The batches of an older epoch are no duplicates of a newer one's.
            entry.batches.clear()
            entry.producer_epoch = header.producer_epoch
        return entry

    def _update_from_marker(
        self, header: BatchHeader, base_offset: int, batch: Buffer
    ) -> CompletedTransaction | None:
        records = RecordBatch.decode(batch)[0].records
        if not records or _kind_of(records[0]) not in _ENDS_TRANSACTION:
            # Compaction has removed the whole transaction, or the record is no end of one.
            return None
        entry = self._entry_for(header)
        entry.last_timestamp = header.max_timestamp
        # EndTxnMarker.json: int16 version, int32 CoordinatorEpoch.
        entry.last_marker = base_offset
        entry.coordinator_epoch = int.from_bytes((records[0].value or b"")[2:6], "big", signed=True)
        first_offset, entry.current_txn_first_offset = entry.current_txn_first_offset, None
        if first_offset is None:
            return None  # the transaction wrote nothing here
        self._ongoing.pop(first_offset, None)
        self._unreplicated[first_offset] = base_offset
        aborted = _kind_of(records[0]) is ControlRecordType.ABORT
        return CompletedTransaction(header.producer_id, first_offset, base_offset, aborted)

    def on_high_watermark(self, high_watermark: int) -> None:
        """End, for readers, the transactions whose markers are below the high watermark (claim
        TXN-5)."""
        if self._unreplicated:
            self._unreplicated = {
                first: last for first, last in self._unreplicated.items() if last >= high_watermark
            }

    @property
    def first_unstable_offset(self) -> int | None:
        """Return the first offset of the earliest transaction that read_committed readers must not
        pass yet, or None."""
        starts = [min(self._unreplicated)] if self._unreplicated else []
        if self._ongoing:
            starts.append(self._first_ongoing())
        return min(starts, default=None)

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """Return the last stable offset that holds as soon as this transaction's marker is in the
        log (ProducerStateManager.lastStableOffset)."""
        return self._first_ongoing() if self._ongoing else completed.last_offset + 1

    def _first_ongoing(self) -> int:
        """Return the first offset of the earliest open transaction. There must be one, and there
        may be a hundred thousand."""
        while self._begun[0] not in self._ongoing:
            self._begun.popleft()
        return self._begun[0]

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether the producer has, in this epoch, a transaction here that no marker has
        ended."""
        entry = self._producers.get(producer_id)
        return (
            entry is not None
            and entry.producer_epoch == producer_epoch
            and entry.current_txn_first_offset is not None
        )

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget the producers that have no open transaction and wrote nothing for
        `producer.id.expiration.ms`.
        """
        expired = [
            entry.producer_id
            for entry in self._producers.values()
            if entry.current_txn_first_offset is None
            and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]

    def load(self, entries: Iterable[ProducerEntry]) -> None:
        """Replace the state of all producers by that of a snapshot."""
        self._producers = {entry.producer_id: entry for entry in entries}
        self._unreplicated = {}
        self._ongoing = dict(
            sorted(
                (entry.current_txn_first_offset, entry.producer_id)
                for entry in self._producers.values()
                if entry.current_txn_first_offset is not None
            )
        )
        self._begun = deque(self._ongoing)
