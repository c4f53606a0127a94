"""A producer's decisions about the answers to its batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_impl.client.errors import is_retriable
from reference_impl.wire import ErrorCode

if TYPE_CHECKING:
    from reference_impl.client.producing.accumulator import Batch
    from reference_impl.client.producing.sequences import Sequences

ACKNOWLEDGED = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})


class Sending:
    """What is acknowledged, what may be sent again, and what an application hears of it."""

    def is_acknowledged(self, code: int) -> bool:
        """Return whether the answer means that the batch is in the log. A duplicate is, so long ago
        that its offset is forgotten (Sender.completeBatch)."""
        return code in ACKNOWLEDGED

    def offset_of(self, base_offset: int, index: int) -> int:
        """Return the offset of a record of an acknowledged batch, -1 if the broker did not give one
        (FutureRecordMetadata)."""
        return base_offset + index if base_offset >= 0 else -1

    def attempts_of(self, batch: Batch) -> int:
        """Return how often a failed batch was handed to a connection, for its sender: what was
        sent at all may have been written."""
        return batch.attempts

    def may_be_sent_again(
        self,
        sequences: Sequences,
        batch: Batch,
        code: int,
        log_start_offset: int,
        is_transactional: bool,
    ) -> bool:
        """Return whether another attempt makes sense. A lost sequence number makes an idempotent
        producer ask for a new epoch; a transactional one aborts instead
        (TransactionManager.canRetry; KIP-360)."""
        numbers = sequences.of(batch.partition)
        is_resolved = numbers.unresolved_after is None
        if code == ErrorCode.UNKNOWN_PRODUCER_ID:
            if batch.sequence_was_reset:
                return True
            if numbers.last_acked_offset < log_start_offset:
                # Retention has deleted all that we wrote, and our state with it: nothing is lost.
                numbers.start_over(numbers.writer)
                return True
            if not is_transactional:
                if batch.writer == sequences.writer:
                    sequences.want_new_epoch(batch.partition)
                return True
        elif code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            is_next = numbers.is_next(batch.base_sequence)
            if is_resolved and (batch.sequence_was_reset or not is_next):
                return True  # one before it is still under way, and has not been answered yet
            if not is_transactional:
                if is_resolved or batch.base_sequence == numbers.unresolved_after:
                    sequences.want_new_epoch(batch.partition)
                return True
        return is_retriable(code)
