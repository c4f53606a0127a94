"""Gather records in batches by partition, until the sender takes them.

Source: Java classes RecordAccumulator and ProducerBatch. Two simplifications: `batch.size` counts
bytes before compression (Java guesses the ratio), and `buffer.memory` counts the bytes of records,
not the blocks that are allocated for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from reference_impl.client.kernel import Kernel
from reference_impl.client.rules.numbering import is_later
from reference_impl.client.values import ProducerRecord, TopicPartition
from reference_impl.wire import HEADER_BYTES, TRANSACTIONAL_BIT, Compression, Record, RecordBatch

NO_SEQUENCE = -1
RECORD_OVERHEAD_BYTES = 21
"""The most bytes that a record needs besides key, value and headers
(DefaultRecord.MAX_RECORD_OVERHEAD)."""
VARINT_BYTES_MAX = 5


def estimated_size(record: ProducerRecord) -> int:
    """Return an upper bound of the encoded size of a record
    (DefaultRecord.recordSizeUpperBound)."""
    size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for key, value in record.headers:
        size += 2 * VARINT_BYTES_MAX + len(key) + len(value or b"")
    return size


@dataclass(frozen=True, slots=True)
class ProducerIdAndEpoch:
    """The identity of a producer, by which a broker tells a retry from a new batch and a zombie
    from its successor (KIP-98)."""

    producer_id: int = -1
    epoch: int = -1

    @property
    def is_valid(self) -> bool:
        """Return whether a broker has assigned the id."""
        return self.producer_id >= 0


@dataclass(frozen=True, slots=True)
class PendingSend:
    """One record of a batch, with the time that it gets and the call that waits for it."""

    call_id: int
    record: ProducerRecord
    timestamp_ms: int


@dataclass(slots=True, eq=False)
class Batch:
    """Records of one partition that are sent, and succeed or fail, together."""

    partition: TopicPartition
    created_ms: int
    sends: list[PendingSend] = field(default_factory=list)
    size: int = HEADER_BYTES
    is_closed: bool = False
    """Whether the sender has taken the batch, so that nothing may be added."""
    attempts: int = 0
    not_before_ms: int = 0
    writer: ProducerIdAndEpoch = field(default_factory=ProducerIdAndEpoch)
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_in_flight: bool = False
    is_done: bool = False
    """Whether the batch's sends were completed or failed; a later answer is ignored."""
    sequence_was_reset: bool = False

    @property
    def has_sequence(self) -> bool:
        """Return whether the batch has a sequence number, with which it may have been sent."""
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record."""
        return (self.base_sequence + len(self.sends) - 1) & 0x7FFFFFFF

    def encode(self, compression: Compression) -> bytes:
        """Return the encoded batch."""
        base_ms = self.sends[0].timestamp_ms
        return RecordBatch(
            [
                Record(
                    send.record.value,
                    send.record.key,
                    send.record.headers,
                    timestamp_delta=send.timestamp_ms - base_ms,
                )
                for send in self.sends
            ],
            attributes=compression | (TRANSACTIONAL_BIT if self.is_transactional else 0),
            base_timestamp=base_ms,
            producer_id=self.writer.producer_id,
            producer_epoch=self.writer.epoch,
            base_sequence=self.base_sequence,
        ).encode()


class Accumulator:
    """All records that are neither acknowledged nor failed, in batches by partition."""

    def __init__(self, kernel: Kernel, batch_size: int, linger_ms: int, buffer_memory: int) -> None:
        self._kernel = kernel
        self._batch_size = batch_size
        self._linger_ms = linger_ms
        self._memory = buffer_memory
        self.used = 0
        self.queues: dict[TopicPartition, deque[Batch]] = {}
        """Partition -> the batches that wait to be sent, or sent again."""
        self.incomplete: dict[Batch, None] = {}
        """The batches that wait or are in flight, in the order of their creation."""

    # --- what comes in ------------------------------------------------------------------------

    def has_room(self, size: int) -> bool:
        """Return whether `buffer.memory` allows that many more bytes; one record is always
        allowed."""
        return self.used == 0 or self.used + size <= self._memory

    def append(
        self, partition: TopicPartition, send: PendingSend, *, is_transactional: bool
    ) -> None:
        """Add a record to the last open batch of its partition, or to a new one."""
        size = estimated_size(send.record)
        queue = self.queues.setdefault(partition, deque())
        last = queue[-1] if queue else None
        if last is None or last.is_closed or last.size + size > self._batch_size:
            last = Batch(partition, self._kernel.monotonic_ms, is_transactional=is_transactional)
            queue.append(last)
            self.incomplete[last] = None
        last.sends.append(send)
        last.size += size
        self.used += size

    # --- what goes out ------------------------------------------------------------------------

    def wait_ms(self, queue: deque[Batch], *, is_urgent: bool) -> int:
        """Return the milliseconds until the first batch of a queue may be sent, 0 if it may be now
        (RecordAccumulator.batchReady). is_urgent: whether to send it without lingering."""
        first, now_ms = queue[0], self._kernel.monotonic_ms
        if first.not_before_ms > now_ms:
            return first.not_before_ms - now_ms
        is_full = len(queue) > 1 or first.is_closed or first.size >= self._batch_size
        if is_full or is_urgent:
            return 0
        return max(0, first.created_ms + self._linger_ms - now_ms)

    def take(self, queue: deque[Batch]) -> Batch:
        """Remove and return the first batch, to be sent now. This counts as an attempt."""
        batch = queue.popleft()
        batch.is_closed = batch.is_in_flight = True
        batch.attempts += 1
        return batch

    def put_back(self, batch: Batch, delay_ms: int) -> None:
        """Queue a batch to be sent again later: in the order of sequence numbers (KIP-98), or first
        of all if it has none."""
        batch.is_in_flight = False
        batch.not_before_ms = self._kernel.monotonic_ms + delay_ms
        self._insert(batch)

    def _insert(self, batch: Batch) -> None:
        queue = self.queues.setdefault(batch.partition, deque())
        position = 0
        if batch.has_sequence:
            while (
                position < len(queue)
                and queue[position].has_sequence
                and is_later(batch.base_sequence, queue[position].base_sequence)
            ):
                position += 1
        queue.insert(position, batch)

    def split(self, batch: Batch) -> tuple[Batch, Batch]:
        """Replace a batch that the broker found too large by its two halves. Queue and return
        them."""
        half = len(batch.sends) // 2
        halves = []
        for sends in (batch.sends[:half], batch.sends[half:]):
            part = Batch(batch.partition, batch.created_ms, sends, is_closed=True)
            part.size += sum(estimated_size(send.record) for send in sends)
            part.is_transactional = batch.is_transactional
            part.attempts = batch.attempts
            halves.append(part)
        if batch.has_sequence:
            halves[0].writer = halves[1].writer = batch.writer
            halves[0].base_sequence = batch.base_sequence
            halves[1].base_sequence = (batch.base_sequence + half) & 0x7FFFFFFF
        self.incomplete.pop(batch)
        for part in reversed(halves):
            self.incomplete[part] = None
            self._insert(part)
        return halves[0], halves[1]

    def settled(self, batch: Batch) -> None:
        """Remove a batch that succeeded or failed, and free its memory."""
        batch.is_done = True
        self.incomplete.pop(batch, None)
        self.used -= sum(estimated_size(send.record) for send in batch.sends)
        queue = self.queues.get(batch.partition)
        if queue is not None:
            if batch in queue:
                queue.remove(batch)
            if not queue:
                del self.queues[batch.partition]

    def unsent(self) -> Iterator[Batch]:
        """Yield the batches that have no sequence number and are not in flight."""
        return iter([b for b in self.incomplete if not b.has_sequence and not b.is_in_flight])

    def earliest_deadline(self, delivery_timeout_ms: int) -> int | None:
        """Return the monotonic time in ms at which the delivery timeout of the oldest batch ends,
        or None without batches."""
        created_ms = min((batch.created_ms for batch in self.incomplete), default=None)
        return None if created_ms is None else created_ms + delivery_timeout_ms
