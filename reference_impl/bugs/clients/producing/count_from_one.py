"""A producer counts the records of a batch from one."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules


class CountFromOne(ClientRules):
    """Real-world kin: offsets that are off by one in the metadata of a record.

    Breaks:     the first record of a batch must be at the base offset (FutureRecordMetadata).
    Caught by:  workload appends, any nemesis or none,
                checkers inconsistent_offsets and lost_writes.
    """

    def offset_of(self, base_offset: int, index: int) -> int:
        """Return the offset of the following record."""
        return super().offset_of(base_offset, index + 1)
