"""With acks=0 or 1 the leader acknowledges some batches without appending them."""

from __future__ import annotations

from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import ACKS_ALL, Rules
from reference_impl.wire import NO_TIMESTAMP

EVERY = 20


class DropUnawaitedBatches(Rules):
    """Real-world kin: an answer that is prepared before the append, and sent although the append
    was refused, on the path that does not wait for followers.

    Breaks:     a batch that a leader acknowledges under acks=1 must be in its log (producer
                configuration, acks), unless its leadership ends.
    Caught by:  workload appends-acks1, any nemesis or none, checker delivery_semantics, in
                partitions that never had another leader. Under acks=0 the same bug breaks no
                guarantee.
    Within:     one run of 10 seconds.
    """

    def __init__(self) -> None:
        self._acks, self._batches = ACKS_ALL, 0

    def check_enough_replicas(self, partition: Partition, acks: int) -> None:
        """Note the producer's acks, then check."""
        self._acks = acks
        super().check_enough_replicas(partition, acks)

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """Append the batch, except for one in twenty under acks=0 or 1, which is acknowledged
        without an append."""
        self._batches += 1
        if self._acks == ACKS_ALL or self._batches % EVERY:
            return super().append(partition, batch, now_ms)
        log = partition.log
        last_offset = log.log_end_offset + batch.header.last_offset_delta
        return AppendResult(log.log_end_offset, last_offset, NO_TIMESTAMP, log.log_start_offset)
