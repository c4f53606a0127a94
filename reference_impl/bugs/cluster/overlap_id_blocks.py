"""The controller's next block of producer ids begins at the second id of the last block."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.controller.producer_id_blocks import BLOCK_SIZE
from reference_impl.core.rules import Rules
from reference_impl.wire import Struct


class OverlapIdBlocks(Rules):
    """Real-world kin: allocators of ranges that are off by the length of a range.

    Breaks:     a producer id must be unique in the cluster: brokers that have blocks with the same
                ids assign them to different producers, whose batches are mistaken for each other's
                retries (KIP-98; KIP-730).
    Caught by:  workload appends, nemesis none, checkers inconsistent_offsets and lost_writes, since
                producers of several brokers write to the same partition (the raw producers of the
                workload sequences all ask one broker for their ids); the invariant
                producer-ids-once sees it first.
    Within:     one run of 20 seconds with three nodes.
    """

    def reserve_producer_ids(self, write: Callable[[list[Struct]], object], block: Struct) -> None:
        """Write that one id was allocated; the broker gets a thousand."""
        block.next_producer_id -= BLOCK_SIZE - 1
        write([block])
