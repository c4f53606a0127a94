"""The cleaner takes the newest record of a key for one that a newer record replaces."""

from __future__ import annotations

from reference_impl.core.rules import Rules


class CompactNewestAway(Rules):
    """Real-world kin: an off-by-one where a cleaner compares a record with the newest of its key.

    Breaks:     of each key the last value stays (design#compaction).
    Caught by:  workload compaction, any nemesis or none, checkers compaction and lost_writes.
    Within:     one run of 10 seconds.
    """

    def keeps_newest_of_key(self) -> bool:
        """Return False: the newest record of a key goes, too."""
        return False
