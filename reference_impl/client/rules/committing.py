"""A consumer's decisions about the offsets of its group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reference_impl.client.values import OffsetAndMetadata

if TYPE_CHECKING:
    from reference_impl.wire import Struct


class Committing:
    """Decisions on commits, and on where a group begins after them."""

    def to_commit(self, position: int, leader_epoch: int) -> OffsetAndMetadata:
        """Return the offset that is committed of a partition: its position, the next record that
        the application has not got yet (SubscriptionState.allConsumed)."""
        return OffsetAndMetadata(position, leader_epoch=leader_epoch)

    def commit_error(self, codes: Sequence[int]) -> int:
        """Return 0 if a commit is done, or the first code of a partition that refused it
        (ConsumerCoordinator.OffsetCommitResponseHandler)."""
        return next((code for code in codes if code), 0)

    def committed_at(self, row: Struct) -> int:
        """Return the offset at which the group continues, from a row of OffsetFetch; it is below 0
        without a commit."""
        return int(row.committed_offset)
