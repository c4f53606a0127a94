"""Producer ids are assigned again after a restart."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.rules import Rules
from reference_impl.wire import Struct


class ReuseProducerIds(Rules):
    """Real-world kin: brokers that take their next block from memory, or write down that they took
    it when they have used it up.

    Breaks:     a producer id is unique: batches of two producers with one id are taken for each
                other's retries (KIP-98; KIP-730).
    Caught by:  workload sequences, nemesis kill, checkers fencing (InitProducerId), and
                inconsistent_offsets and idempotence, as their batches meet in a partition.
    Within:     one run of 20 seconds.
    """

    def reserve_producer_ids(self, write: Callable[[list[Struct]], object], block: Struct) -> None:
        """Write nothing, so that the block is given out again after a restart."""
