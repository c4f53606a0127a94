"""Sequences: every batch of an idempotent producer has a number, so that none is written twice.

Source: KIP-98 (producer id, epoch, sequence), KIP-360 (a new epoch instead of giving up), Java
classes TransactionManager, TxnPartitionMap, TxnPartitionEntry.

A batch keeps its sequence through all its attempts. A sequence whose outcome is unknown (the time
was up while it was in flight) is *unresolved*: nothing new goes to its partition until either a
later batch proves that it has arrived, or all batches in flight are settled and a gap remains. The
repair of a gap is to start over at 0 under a higher epoch, which the broker accepts as a new
beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reference_impl.client.producing.accumulator import Batch, ProducerIdAndEpoch
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.client.rules.numbering import is_later
from reference_impl.client.values import TopicPartition

EPOCH_MAX = 32767


@dataclass(slots=True)
class PartitionSequences:
    """The sequence numbers of one partition."""

    writer: ProducerIdAndEpoch
    rules: ClientRules = CORRECT
    next_sequence: int = 0
    last_acked_sequence: int = -1
    last_acked_offset: int = -1
    in_flight: list[Batch] = field(default_factory=list)
    """The batches that have sequence numbers and are not settled, in the order of these; some may
    wait for a retry."""
    unresolved_after: int | None = None
    """The sequence number after a batch whose outcome is unknown."""

    def start_over(self, writer: ProducerIdAndEpoch) -> None:
        """Renumber everything in flight from 0, under another epoch."""
        self.writer = writer
        self.next_sequence, self.last_acked_sequence = 0, -1
        self.unresolved_after = None
        for batch in self.in_flight:
            batch.writer, batch.sequence_was_reset = writer, True
            self.number(batch)

    def number(self, batch: Batch) -> None:
        """Give a batch the next sequences."""
        batch.base_sequence = self.next_sequence
        self.next_sequence = self.rules.sequence_after(self.next_sequence, len(batch.sends))

    def is_next(self, sequence: int) -> bool:
        """Return whether the broker, as far as we know, expects this sequence next."""
        return sequence == self.rules.sequence_after(self.last_acked_sequence, 1)


class Sequences:
    """The writer's identity, and the numbers of all partitions."""

    def __init__(self, rules: ClientRules = CORRECT) -> None:
        self.rules = rules
        self.writer = ProducerIdAndEpoch()
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        self._to_start_over: dict[TopicPartition, None] = {}

    def become(self, writer: ProducerIdAndEpoch) -> None:
        """Accept an identity that the coordinator has assigned: sequence numbers start at 0 in each
        partition, once none of its batches is in flight."""
        self.writer = writer
        for partition in list(self._partitions):
            if not self._partitions[partition].in_flight:
                del self._partitions[partition]

    def of(self, partition: TopicPartition) -> PartitionSequences:
        """Return the numbers of a partition, which begin at 0 when it is first asked for."""
        if partition not in self._partitions:
            self._partitions[partition] = PartitionSequences(self.writer, self.rules)
        return self._partitions[partition]

    # --- before a batch is sent ---------------------------------------------------------------

    def may_send(self, batch: Batch) -> bool:
        """Return whether sending the batch now would neither overtake another nor leave a gap.
        Return False while the writer has no producer id
        (Sender.shouldStopDrainBatchesForPartition)."""
        if not self.writer.is_valid:
            return False
        numbers = self.of(batch.partition)
        if batch.has_sequence:
            # A retry: it goes alone, and only as the first in flight.
            return numbers.in_flight[0] is batch
        if numbers.in_flight and numbers.writer != self.writer:
            return False  # an older epoch must end before a newer one begins
        return numbers.unresolved_after is None

    def assign(self, batch: Batch) -> None:
        """Give a batch its sequence number before it is first sent, and note it as in flight; a
        retry keeps the number that it has. Under a new writer, the partition's numbers first start
        over at 0."""
        if not self.rules.needs_number(batch.has_sequence):
            return
        numbers = self.of(batch.partition)
        if numbers.writer != self.writer:
            numbers.start_over(self.writer)
        batch.writer = numbers.writer
        numbers.number(batch)
        if batch not in numbers.in_flight:
            numbers.in_flight.append(batch)

    # --- after an answer ----------------------------------------------------------------------

    def acknowledged(self, batch: Batch, base_offset: int) -> None:
        """Note that a batch is in the log, from this offset on (-1: unknown), and forget it."""
        numbers = self.of(batch.partition)
        if batch.writer == numbers.writer:
            if is_later(batch.last_sequence, numbers.last_acked_sequence):
                numbers.last_acked_sequence = batch.last_sequence
            if base_offset >= 0:
                last_offset = base_offset + len(batch.sends) - 1
                numbers.last_acked_offset = max(numbers.last_acked_offset, last_offset)
        self.forget(batch)

    def forget(self, batch: Batch) -> None:
        """Forget a batch that succeeded or failed."""
        numbers = self.of(batch.partition)
        if batch in numbers.in_flight:
            numbers.in_flight.remove(batch)

    def replace(self, batch: Batch, parts: tuple[Batch, Batch]) -> None:
        """Replace a batch that was split by its halves, which share its sequence numbers."""
        numbers = self.of(batch.partition)
        position = numbers.in_flight.index(batch)
        numbers.in_flight[position : position + 1] = parts

    def leave_unresolved(self, batch: Batch) -> None:
        """Note a batch that timed out, so that it is not known whether it was written."""
        numbers = self.of(batch.partition)
        after = self.rules.sequence_after(batch.last_sequence, 1)
        if numbers.unresolved_after is None or is_later(after, numbers.unresolved_after):
            numbers.unresolved_after = after

    def gaps(self) -> list[TopicPartition]:
        """Return the partitions in which a batch was lost. Mark the others as resolved, except
        those with batches in flight, whose answers may still decide it. Source:
        TransactionManager.maybeResolveSequences."""
        lost = []
        for partition, numbers in self._partitions.items():
            if numbers.unresolved_after is None or numbers.in_flight:
                continue
            if numbers.is_next(numbers.unresolved_after):
                numbers.unresolved_after = None
            else:
                lost.append(partition)
        return lost

    # --- a new epoch --------------------------------------------------------------------------

    def want_new_epoch(self, partition: TopicPartition) -> None:
        """Note that this partition must start over (requestIdempotentEpochBumpForPartition)."""
        self._to_start_over[partition] = None

    def bump_own_epoch(self) -> None:
        """If a partition must start over, raise the epoch without asking the broker, and let such
        partitions start over (KIP-360).

        An idempotent producer may do so, because no other producer uses its producer id. When no
        epochs are left, drop the identity, so that another id is requested.
        """
        if not self._to_start_over:
            return
        if self.writer.epoch >= EPOCH_MAX:
            self.writer = ProducerIdAndEpoch()
            return
        if not self.writer.is_valid:
            return
        epoch = self.rules.after_loss(self.writer.epoch)
        self.writer = ProducerIdAndEpoch(self.writer.producer_id, epoch)
        self.start_over_where_wanted()

    def start_over_where_wanted(self) -> None:
        """Renumber the batches of partitions that asked for it, under the writer's new producer id
        and epoch."""
        for partition in self._to_start_over:
            self.of(partition).start_over(self.writer)
        self._to_start_over.clear()
