"""A member of a classic group that stops sending heartbeats stays a member for ever."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import Member
from reference_impl.core.rules import Rules


class NeverEndSessions(Rules):
    """Real-world kin: coordinators that lose the timer of a session when a group is loaded.

    Breaks:     after session.timeout.ms without a heartbeat a member's partitions must go to others
                (KIP-62; consumer configuration, session.timeout.ms).
    Caught by:  workload groups, any nemesis or none, checker group_liveness: every rebalance waits
                for crashed members until the rebalance time-out, and without a rebalance no member
                reads their partitions.
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def session_has_ended(self, member: Member) -> bool:
        """Return False, so that no session ever ends."""
        return False
