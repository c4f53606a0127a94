"""Producer ids are assigned again after a restart."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.rules import Rules
from reference_impl.wire import Struct


class ReuseProducerIds(Rules):
    """Real-world kin: brokers that keep their next block of ids in memory only, or store it only
    when it is used up.

    Breaks:     a producer id must be unique: batches of two producers with one id are mistaken for
                each other's retries (KIP-98; KIP-730).
    Caught by:  workload sequences, nemesis kill, checkers fencing (InitProducerId), and
                inconsistent_offsets and idempotence, since their batches reach the same partition.
    Within:     one run of 20 seconds.
    """

    def reserve_producer_ids(self, write: Callable[[list[Struct]], object], block: Struct) -> None:
        """Write nothing, so that the block is assigned again after a restart."""
