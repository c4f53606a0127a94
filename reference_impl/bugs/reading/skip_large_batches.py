"""A fetch skips a batch that is larger than its limit if the next batch is smaller."""

from __future__ import annotations

from reference_impl.core.log.segments.segment import Slice
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import read_header


class SkipLargeBatches(Rules):
    """Real-world kin: brokers before KIP-74, where a large record blocked a reader with a small
    limit for ever, and a quick remedy that skips the record.

    Breaks:     a fetch must answer the batches from its offset on, the first one whole however
                large it is (KIP-74).
    Caught by:  workload seeks, any nemesis or none, checker poll_skips.
    Within:     one run of 20 seconds.
    """

    def located(
        self, partition: Partition, offset: int, max_bytes: int, end: int, *, at_least_one: bool
    ) -> Slice | None:
        """Return the next batch if the first does not fit into `max_bytes` and the next is smaller.
        Return None if there is nothing to read."""
        found = super().located(partition, offset, max_bytes, end, at_least_one=at_least_one)
        if found is None or found.size <= max_bytes:
            return found
        behind = read_header(found.read()).last_offset + 1
        after = super().located(partition, min(behind, end), max_bytes, end, at_least_one=True)
        return after if after is not None and after.size < found.size else found
