"""A member that disappears during a restart of its coordinator stays a member for ever."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import AnyMember


class NeverEndLoadedSessions(Rules):
    """Real-world kin: coordinators that load a group and start the timer of a member with its first
    heartbeat.

    Breaks:     after session.timeout.ms without a heartbeat a member's partitions must go to
                others, even if the coordinator has restarted (KIP-62).
    Caught by:  workload groups, nemesis kill-then-calm, checker group_liveness.
    Within:     one run of 90 seconds: judges allow for rebalance and session time-outs.
    """

    def members_to_expect(self, loaded: Mapping[str, AnyMember]) -> Collection[AnyMember]:
        """Return no members, so that no session of a loaded group has a timer."""
        return ()
