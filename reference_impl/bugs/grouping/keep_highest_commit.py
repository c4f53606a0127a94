"""The highest committed offset counts instead of the last one, so a group cannot go back."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.rules import Rules


class KeepHighestCommit(Rules):
    """Real-world kin: offset stores that merge commits by their maximum, so that their order does
    not matter.

    Breaks:     the last commit must count, even if its offset is lower: a group goes back by
                committing a smaller offset (docs, operations, resetting offsets;
                OffsetMetadataManager.replay).
    Caught by:  workload offsets, any nemesis or none, checker committed_offsets.
    Within:     one run of 20 seconds.
    """

    def newer_commit(
        self, known: CommittedOffset | None, commit: CommittedOffset
    ) -> CommittedOffset:
        """Return the new commit, but with the known offset if that is larger."""
        if known is None or known.offset <= commit.offset:
            return commit
        return replace(commit, offset=known.offset)
