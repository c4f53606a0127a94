"""A producer's decisions about the answers to its batches."""

from __future__ import annotations

from reference_impl.wire import ErrorCode

ACKNOWLEDGED = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})


class Sending:
    """Decisions on the acknowledgement of batches, and on the offsets that an application is
    given."""

    def is_acknowledged(self, code: int) -> bool:
        """Return whether the answer means that the batch is in the log. That includes
        DUPLICATE_SEQUENCE_NUMBER: the batch was written so long ago that its offset is forgotten
        (Sender.completeBatch)."""
        return code in ACKNOWLEDGED

    def offset_of(self, base_offset: int, index: int) -> int:
        """Return the offset of a record of an acknowledged batch, -1 if the broker did not give one
        (FutureRecordMetadata)."""
        return base_offset + index if base_offset >= 0 else -1
