"""The offsets of one committed transaction in twelve do not take effect."""

from __future__ import annotations

from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.rules import Rules

EVERY = 12


class LoseTransactionalOffsets(Rules):
    """Real-world kin: offsets that are kept in memory only, and lost when the coordinator moves
    (redpanda PR 31483).

    Breaks:     offsets that were sent in a transaction must count if it is committed (KIP-98):
                otherwise its input is processed again, and its output exists twice.
    Caught by:  workload transform, any nemesis or none, checkers ends_honoured, exactly_once and
                committed_offsets.
    Within:     one run of 30 seconds.
    """

    def __init__(self) -> None:
        self._ends = 0

    def offset_in_force(
        self, known: CommittedOffset | None, pending: CommittedOffset, *, committed: bool
    ) -> CommittedOffset | None:
        """Return the offset in force after a transaction; after one commit in twelve the former
        one, as if it were an abort. Return None if there was none."""
        self._ends += committed
        is_lost = committed and self._ends % EVERY == 0
        return super().offset_in_force(known, pending, committed=committed and not is_lost)
