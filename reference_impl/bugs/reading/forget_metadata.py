"""A coordinator forgets the metadata of committed offsets."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.groups.offsets import CommittedOffset, Offsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.rules import Rules


class ForgetMetadata(Rules):
    """Real-world kin: servers that store positions, but not everything that is committed with them.

    Breaks:     OffsetFetch must answer the metadata that was committed (OffsetCommitRequest.json,
                CommittedMetadata).
    Caught by:  workload offsets, any nemesis or none, checker committed_offsets.
    Within:     one run of 20 seconds.
    """

    def committed_offset(
        self, offsets: Offsets, group_id: str, key: TopicPartition
    ) -> CommittedOffset:
        """Return the committed offset without its metadata."""
        return replace(super().committed_offset(offsets, group_id, key), metadata="")
