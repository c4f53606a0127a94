"""A batch that is larger than the limit of a fetch is passed over."""

from __future__ import annotations

from reference_impl.core.log.segment import Slice
from reference_impl.core.partition import Partition
from reference_impl.core.rules import Rules


class SkipLargeBatches(Rules):
    """Real-world kin: brokers before KIP-74, where a reader with a small limit stood still for ever
    before a large record, and a quick remedy that lets it pass.

    Breaks:     a fetch answers the batches from its offset on, the first one whole however large
                it is (KIP-74).
    Caught by:  workload seeks, any nemesis or none, checkers poll_skips and unseen_writes.
    Within:     one run of 20 seconds.
    """

    def located(
        self, partition: Partition, offset: int, max_bytes: int, end: int, *, at_least_one: bool
    ) -> Slice | None:
        """Go on behind a batch that does not fit."""
        while True:
            found = super().located(partition, offset, max_bytes, end, at_least_one=at_least_one)
            if found is None or found.size <= max_bytes:
                return found
            behind = found.first_offset + 1
            after = partition.log.locate(behind, 1, end, at_least_one=True)
            while after is not None and after.position == found.position:
                behind += 1
                after = partition.log.locate(behind, 1, end, at_least_one=True)
            if after is None:
                return None
            offset = after.first_offset
