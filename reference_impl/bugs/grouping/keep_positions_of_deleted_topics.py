"""A group keeps its offsets for a deleted topic, and gets them for a new topic of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference_impl.core.groups.offsets import CommittedOffset, Offsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.rules import Rules
from reference_impl.wire.codec.primitives import ZERO_UUID


class KeepPositionsOfDeletedTopics(Rules):
    """Real-world kin: coordinators before KIP-516, which identify a topic by its name alone.

    Breaks:     a new topic must have no committed offsets: otherwise a group would begin after its
                first records (KIP-516; GroupCoordinatorService, onPartitionsDeleted).
    Caught by:  workload recreate, any nemesis or none, checker committed_offsets.
    Within:     one run of 30 seconds.
    """

    def positions_of_deleted(
        self, offsets: Offsets, topic: str
    ) -> Sequence[tuple[str, TopicPartition]]:
        """Return nothing, so that all are kept."""
        return ()

    def committed_offset(
        self, offsets: Offsets, group_id: str, key: TopicPartition
    ) -> CommittedOffset:
        """Return the offset without the id of the topic that it was committed for."""
        return replace(super().committed_offset(offsets, group_id, key), topic_id=ZERO_UUID)
