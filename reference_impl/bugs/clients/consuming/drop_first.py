"""A consumer drops the record at its position, too, at every seventh offset."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules


class DropFirst(ClientRules):
    """Real-world kin: a comparison with the position that is off by one.

    Breaks:     only records before the position may be dropped (CompletedFetch).
    Caught by:  workload appends, any nemesis or none,
                checkers poll_skips and lost_writes.
    """

    def was_delivered(self, offset: int, position: int) -> bool:
        """Return True for the record at every seventh position, too."""
        return offset < position or (offset == position and offset % 7 == 6)
