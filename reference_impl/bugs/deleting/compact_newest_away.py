"""Compaction removes the newest record of a key, as if a newer one replaced it."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class CompactNewestAway(Rules):
    """Real-world kin: an off-by-one error when a cleaner compares a record with the newest of its
    key.

    Breaks:     the last value of each key must stay (design#compaction).
    Caught by:  workload compaction, any nemesis or none, checkers compaction and lost_writes.
    Within:     one run of 10 seconds.
    """

    def is_replaced(self, offset: int, newest: int) -> bool:
        """Return whether a record is removed, which here includes the newest one of its key."""
        return offset <= newest
