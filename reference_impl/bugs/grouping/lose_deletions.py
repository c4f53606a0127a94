"""A deletion of committed offsets is acknowledged, but never written to the log."""

from __future__ import annotations

from collections.abc import Sequence

from reference_impl.core.groups.group_log import Entry, GroupLog
from reference_impl.core.rules import Rules


class LoseDeletions(Rules):
    """Real-world kin: KAFKA-17306: the log of a group differs from its state in memory.

    Breaks:     deleted offsets, and the offsets of a deleted group, must not come back with a
                restart of the coordinator (KIP-229, KIP-496).
    Caught by:  workload offsets, nemesis kill, checker committed_offsets. Nothing is wrong until
                the coordinator restarts.
    Within:     one run of 30 seconds.
    """

    def write_deletions(self, log: GroupLog, group_id: str, records: Sequence[Entry]) -> None:
        """Write no tombstones, so that the deletion is in memory only."""
