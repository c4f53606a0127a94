"""An offset commit is acknowledged, but sometimes not written."""

from __future__ import annotations

from collections.abc import Sequence

from reference_impl.core.groups.group_log import Entry, GroupLog
from reference_impl.core.rules import Rules

EVERY = 2


class LoseCommits(Rules):
    """Real-world kin: coordinators that answer before they have written a commit.

    Breaks:     a committed offset must survive `kill -9` of its coordinator, as any acknowledged
                record must (docs, design, "Consumer Position": offsets are stored in a replicated
                topic).
    Caught by:  workload offsets, nemesis kill, checker committed_offsets. Nothing is wrong until
                the coordinator restarts.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._commits = 0

    def write_commits(
        self, log: GroupLog, group_id: str, records: Sequence[Entry], writer: tuple[int, int] | None
    ) -> int:
        """Write only every other commit, but all offsets that are sent in transactions. Return what
        the log answers."""
        self._commits += 1
        if writer is not None or self._commits % EVERY:
            return super().write_commits(log, group_id, records, writer)
        return log.append([])
