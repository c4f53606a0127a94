"""A consumer skips the record after every fifth."""

from __future__ import annotations

from reference_impl.client.rules import ClientRules


class PollPastARecord(ClientRules):
    """Real-world kin: an offset that is counted twice.

    Breaks:     a poll must continue with the record after the last one.
    Caught by:  workload appends, any nemesis or none, checker poll_skips.
    """

    def position_after(self, offset: int) -> int:
        """Return, for every fifth record, a position one too high."""
        return offset + (2 if offset % 5 == 4 else 1)
