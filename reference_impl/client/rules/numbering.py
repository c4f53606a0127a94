"""An idempotent producer's decisions about sequence numbers and epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_impl.client.producing.accumulator import Batch, ProducerIdAndEpoch

SEQUENCES = 1 << 31


class Numbering:
    """The numbers by which a broker tells a retry from a new batch."""

    def needs_number(self, batch: Batch) -> bool:
        """Return whether a batch gets a new sequence number before it is sent: a retry keeps its
        own, by which the broker knows it (KIP-98)."""
        return not batch.has_sequence

    def sequence_after(self, sequence: int, records: int) -> int:
        """Return the sequence number after so many records; numbers wrap to 0
        (DefaultRecordBatch.incrementSequence)."""
        return (sequence + records) % SEQUENCES

    def after_loss(self, writer: ProducerIdAndEpoch) -> ProducerIdAndEpoch:
        """Return the identity under which sequence numbers begin again at 0 after one was lost: the
        next epoch, since under the same one the broker would take new batches for old (KIP-360;
        TransactionManager.bumpIdempotentProducerEpoch)."""
        return type(writer)(writer.producer_id, writer.epoch + 1)
