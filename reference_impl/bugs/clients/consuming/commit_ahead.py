"""A consumer commits one record more than its application has got."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules
from reference_impl.client.values import OffsetAndMetadata


class CommitAhead(ClientRules):
    """Real-world kin: an automatic commit of what was fetched, not of what was polled.

    Breaks:     a commit is of the next record that the application gets.
    Caught by:  workload groups, any nemesis or none,
                checkers group_delivery and committed_offsets.
    """

    def to_commit(self, position: int, leader_epoch: int) -> OffsetAndMetadata:
        """Return the offset after the next record."""
        return super().to_commit(position + 1, leader_epoch)
