"""After a rebalance a group sometimes starts one record after its committed offset."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.groups.offsets import CommittedOffset, Offsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.rules import Rules

EVERY = 4


class BeginAfterCommitted(Rules):
    """Real-world kin: consumers and coordinators that disagree whether a commit names the last
    record read or the next one to read.

    Breaks:     a committed offset must be that of the next record (docs, design, "Consumer
                Position").
    Caught by:  workload groups-positions, any nemesis or none, checkers group_delivery (the record
                at the committed offset is skipped) and committed_offsets.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._answers = 0

    def committed_offset(
        self, offsets: Offsets, group_id: str, key: TopicPartition
    ) -> CommittedOffset:
        """Return the committed offset, one too high in every fourth answer."""
        committed = super().committed_offset(offsets, group_id, key)
        self._answers += 1
        if self._answers % EVERY:
            return committed
        return replace(committed, offset=committed.offset + 1)
