"""Deleting a group also deletes other groups in the same partition of `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from reference_impl.core.rules import Rules

if TYPE_CHECKING:
    from reference_impl.core.groups.group_log import Entry, GroupLog


class DeleteNeighbours(Rules):
    """Real-world kin: coordinators that remove all groups of a partition instead of one of them.

    Breaks:     DeleteGroups and OffsetDelete must delete what they name, and nothing else (KIP-229,
                KIP-496).
    Caught by:  workload offsets, nemesis kill, config offsets.topic.num.partitions=1, checker
                committed_offsets. Nothing is wrong until the coordinator restarts.
    Within:     one run of 30 seconds.
    """

    def __init__(self) -> None:
        self._groups: dict[GroupLog, set[str]] = {}

    def write_commits(
        self, log: GroupLog, group_id: str, records: Sequence[Entry], writer: tuple[int, int] | None
    ) -> int:
        """Remember the group, then write its commits."""
        self._groups.setdefault(log, set()).add(group_id)
        return super().write_commits(log, group_id, records, writer)

    def write_deletions(self, log: GroupLog, group_id: str, records: Sequence[Entry]) -> None:
        """Write the tombstones, and once more for each other group of the partition that has
        committed."""
        super().write_deletions(log, group_id, records)
        for name in sorted(self._groups.get(log, set()) - {group_id}):
            super().write_deletions(log, name, [renamed(each, name) for each in records])


def renamed(entry: Entry, group_id: str) -> Entry:
    """Return the tombstone as one of another group."""
    assert isinstance(entry, tuple)
    key = copy(entry[0])
    key.group = group_id
    return key, entry[1]
