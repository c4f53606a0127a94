"""A consumer commits one record more than its application has received."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules
from reference_impl.client.values import OffsetAndMetadata


class CommitAhead(ClientRules):
    """Real-world kin: an automatic commit of the records that were fetched, not of those that were
    polled.

    Breaks:     a committed offset must be that of the next record that the application gets.
    Caught by:  workload groups, any nemesis or none, checkers group_delivery and committed_offsets.
    """

    def to_commit(self, position: int, leader_epoch: int) -> OffsetAndMetadata:
        """Return the offset after the next record."""
        return super().to_commit(position + 1, leader_epoch)
