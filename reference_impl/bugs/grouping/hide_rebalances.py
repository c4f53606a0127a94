"""A heartbeat never says that a rebalance has begun."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.rules import Rules


class HideRebalances(Rules):
    """Real-world kin: coordinators that renew the session and then forget the group's state.

    Breaks:     a member must learn by REBALANCE_IN_PROGRESS that it must join again (KIP-62);
                otherwise every newcomer waits for the whole rebalance time-out.
    Caught by:  workload sessions, any nemesis or none, checker group_liveness
                (not-told-to-rejoin).
    Within:     one run of 30 seconds.
    """

    def must_join_again(self, group: ClassicGroup) -> bool:
        """Return False."""
        return False
