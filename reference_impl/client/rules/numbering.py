"""An idempotent producer's decisions about sequence numbers and epochs."""

from __future__ import annotations

from reference_impl.wire import ErrorCode

SEQUENCES = 1 << 31
LOST = frozenset({ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER})


def is_later(sequence: int, other: int) -> bool:
    """Return whether a sequence number comes less than 2^30 after another of the same partition.
    Numbers wrap: 0 follows 2^31 - 1. -1 means that there is none yet; the first numbers follow
    it."""
    return 0 < (sequence - other) % SEQUENCES < SEQUENCES // 2


class Numbering:
    """Decisions on the numbers by which a broker tells a retry from a new batch."""

    def needs_number(self, has_sequence: bool) -> bool:
        """Return whether a batch gets a new sequence number before it is sent: a retry keeps its
        own, by which the broker recognises it (KIP-98)."""
        return not has_sequence

    def sequence_after(self, sequence: int, records: int) -> int:
        """Return the sequence number after this many records; numbers wrap to 0
        (DefaultRecordBatch.incrementSequence)."""
        return (sequence + records) % SEQUENCES

    def keeps_number(self, code: int) -> bool:
        """Return whether a batch that failed with this code keeps its sequence number: if its
        outcome is open, a copy under another number could be written a second time
        (TransactionManager.canRetry)."""
        return code not in LOST

    def after_loss(self, epoch: int) -> int:
        """Return the epoch under which sequence numbers begin again at 0 after one was lost: the
        next epoch, since under the same one the broker would take new batches for old (KIP-360;
        TransactionManager.bumpIdempotentProducerEpoch)."""
        return epoch + 1
