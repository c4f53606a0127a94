"""A producer gives every record of a batch the offset of the first."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules


class GiveBaseOffset(ClientRules):
    """Real-world kin: metadata that is created once for each batch.

    Breaks:     a record's metadata must have its own offset (FutureRecordMetadata).
    Caught by:  workload appends, any nemesis or none, checkers inconsistent_offsets and
                lost_writes.
    """

    def offset_of(self, base_offset: int, index: int) -> int:
        """Return the offset of the batch."""
        return base_offset
