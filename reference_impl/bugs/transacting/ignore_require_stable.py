"""OffsetFetch with require_stable answers the previous offsets while a transaction with new ones is
open."""

from __future__ import annotations

from collections.abc import Sequence

from reference_impl.core.groups.pending_offsets import PendingOffsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.rules import Rules


class IgnoreRequireStable(Rules):
    """Real-world kin: coordinators before KIP-447.

    Breaks:     OffsetFetch with require_stable must answer UNSTABLE_OFFSET_COMMIT while a
                transaction may still change the offset (KIP-447): otherwise the next owner of a
                partition processes records whose offsets the last owner is about to commit.
    Caught by:  workload offsets-transactions, any nemesis or none, checker committed_offsets; and
                the conformance cases of transactions.
    Within:     one run of 30 seconds.
    """

    def unstable(self, pending: PendingOffsets, group_id: str) -> Sequence[TopicPartition]:
        """Return nothing, as if no transaction had offsets pending."""
        return ()
