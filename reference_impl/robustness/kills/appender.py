"""Run an idempotent producer with five batches in flight, and check that each record is in the log
once, in order.

Source: KIP-98, Idempotent Producer Guarantees: after a restart sequence numbers continue, and a
batch whose response was lost gets its first offset when it is sent again. After a restart Apache
Kafka is certain to know only the last batch of a producer, since a snapshot has no other
(ProducerStateManager.java, writeSnapshot): an earlier one that is sent again may be refused as out
of order. The broker then still knows the producer's last sequence number, which DescribeProducers
returns.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from reference_impl.robustness.kills.reading import Stored, read_partition
from reference_impl.robustness.kills.station import Broken, Gone, Link
from reference_impl.robustness.kills.worker import Worker
from reference_impl.wire import ApiKey, ErrorCode, Record, RecordBatch, Struct, request_definition

IN_FLIGHT_MAX = 5
"""The largest max.in.flight.requests.per.connection that idempotence allows."""
VERSION = 9


@dataclass(frozen=True)
class Sent:
    """One batch: its first sequence number, and the key and value of each record."""

    sequence: int
    records: tuple[tuple[bytes | None, bytes | None], ...]


class BeyondTheWindow(Exception):
    """Raised if a batch that was sent again is older than those that the broker remembers after its
    restart."""


class Appender(Worker):
    """A worker that appends numbers to partition 0 of its own topic.

    Nobody else writes there, and each record takes one sequence number, so its offset equals its
    sequence number.
    """

    keys = 0
    """The number of different keys of the records; 0: without keys."""

    def work(self) -> None:
        answer = self.persist(
            lambda: self.link.call(
                ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, transaction_timeout_ms=60_000
            )
        )
        self.producer_id: int = answer.producer_id
        self.next_sequence = self.resent_below = self.beyond_the_window = 0
        self.unanswered: deque[Sent] = deque()
        self.acknowledged: dict[int, tuple[bytes | None, bytes | None]] = {}
        """Offset -> key and value."""
        while not self.is_ending or self.unanswered:
            try:
                self._go_on()
            except Gone:
                self.link.reconnect()
            except BeyondTheWindow:
                self.link.reconnect()
                self.persist(self._ask_how_far)

    def _go_on(self) -> None:
        """Send the unanswered batches again, in order, and then new ones, until the worker must end
        and all are answered. Raise Gone if the broker dies, BeyondTheWindow if it no longer knows a
        repeated batch."""
        self.resent_below = self.next_sequence
        for sent in self.unanswered:
            self._send(sent)
        while not self.is_ending or self.unanswered:
            while len(self.unanswered) < IN_FLIGHT_MAX and not self.is_ending:
                sent = self._next()
                self.unanswered.append(sent)
                self._send(sent)
            if self.unanswered:
                self._take(self.link.receive(ApiKey.PRODUCE, VERSION))
            self.pause()

    def _next(self) -> Sent:
        first = self.next_sequence
        self.next_sequence += self.random.choice((1, 1, 3))
        return Sent(first, tuple(self._record(n) for n in range(first, self.next_sequence)))

    def _record(self, number: int) -> tuple[bytes | None, bytes | None]:
        if not self.keys:
            return None, b"%d" % number
        deletes = self.random.random() < 0.1
        return b"%d" % self.random.randrange(self.keys), None if deletes else b"%d" % number

    def _send(self, sent: Sent) -> None:
        batch = RecordBatch(
            [Record(value, key) for key, value in sent.records],
            producer_id=self.producer_id,
            producer_epoch=0,
            base_sequence=sent.sequence,
            base_timestamp=self.link.now_ms,
        )
        body = self.link.produce_body(self.name, batch.encode())
        self.link.send(ApiKey.PRODUCE, VERSION, body)

    def _take(self, answer: Struct) -> None:
        sent = self.unanswered[0]
        row = answer.responses[0].partition_responses[0]
        code = ErrorCode(row.error_code)
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and sent.sequence < self.resent_below:
            raise BeyondTheWindow
        if code is not ErrorCode.NONE:
            raise Broken(
                f"{self.name}: the batch of sequence {sent.sequence} was refused with {code.name},"
                " although all batches were sent in order"
            )
        if row.base_offset != sent.sequence:
            raise Broken(
                f"{self.name}: the batch of sequence {sent.sequence} was given the offset"
                f" {row.base_offset}, not {sent.sequence}"
            )
        self._note_first()

    def _note_first(self) -> None:
        """Move the first unanswered batch to the acknowledged ones."""
        sent = self.unanswered.popleft()
        for delta, record in enumerate(sent.records):
            self.acknowledged[sent.sequence + delta] = record

    def _ask_how_far(self) -> None:
        """Ask the broker for this producer's last sequence number, and note the batches up to it as
        acknowledged. Raise Broken if it lies below the oldest unanswered batch."""
        of = request_definition(ApiKey.DESCRIBE_PRODUCERS)
        topic = of.struct("TopicRequest", name=self.name, partition_indexes=[0])
        answer = self.link.call(ApiKey.DESCRIBE_PRODUCERS, 0, topics=[topic])
        rows = answer.topics[0].partitions[0].active_producers
        last = max(
            (row.last_sequence for row in rows if row.producer_id == self.producer_id), default=-1
        )
        if last < self.unanswered[0].sequence:
            raise Broken(
                f"{self.name}: the broker knows this producer's sequence numbers only up to {last},"
                f" below the first unanswered one, {self.unanswered[0].sequence}"
            )
        self.beyond_the_window += 1
        while self.unanswered and self.unanswered[0].sequence <= last:
            self._note_first()

    @property
    def done(self) -> int:
        return len(self.acknowledged)

    def verify(self, link: Link) -> int:
        """Compare the log with what was acknowledged. Return the number of acknowledged records.
        Raise Broken if they differ."""
        stored = read_partition(link, self.name)
        if list(self.acknowledged) != list(range(self.next_sequence)):
            raise Broken(
                f"{self.name}: {len(self.acknowledged)} of {self.next_sequence} sent records were"
                " acknowledged, not all"
            )
        self.compare(stored)
        return self.done

    def compare(self, stored: list[Stored]) -> None:
        """Raise Broken unless the log has every acknowledged record exactly once, at its offset,
        and no others."""
        found = {record.offset: (record.key, record.value) for record in stored}
        if found != self.acknowledged or len(stored) != len(found):
            wrong = sorted(set(found.items()) ^ set(self.acknowledged.items()))[:5]
            raise Broken(f"{self.name}: the log is not what was acknowledged, at {wrong}")


class KeyedAppender(Appender):
    """A worker that appends to a compacted topic: the last record of each key must stay, and no
    older one may return."""

    keys = 30

    def compare(self, stored: list[Stored]) -> None:
        for record in stored:
            if self.acknowledged.get(record.offset) != (record.key, record.value):
                raise Broken(f"{self.name}: {record} is not what was acknowledged at its offset")
        offsets = [record.offset for record in stored]
        if sorted(set(offsets)) != offsets:
            raise Broken(f"{self.name}: offsets come twice, or not in order")
        last = {key: (offset, value) for offset, (key, value) in self.acknowledged.items()}
        kept = {record.key: record.offset for record in stored}
        for key, (offset, value) in last.items():
            if kept.get(key) != offset and not (value is None and key not in kept):
                raise Broken(f"{self.name}: key {key!r} ends at {kept.get(key)}, not at {offset}")
        if len(stored) == len(self.acknowledged) and len(stored) > 50 * self.keys:
            raise Broken(f"{self.name}: nothing was ever compacted, so nothing was shown")
