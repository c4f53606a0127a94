"""The target of a consumer group (KIP-848) leaves out one partition of each member with several."""

from __future__ import annotations

from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import Target


class LeavePartitionOut(Rules):
    """Real-world kin: assignors that divide with a remainder, and forget the remainder.

    Breaks:     each partition of a subscribed topic is in somebody's target (KIP-848, Assignment
                process).
    Caught by:  workload groups-consumer, any nemesis or none, checker group_liveness (a partition
                without an owner).
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def target(self, assigned: Target) -> Target:
        """Leave out the last partition of the member that has most."""
        most = max(assigned, key=lambda member_id: len(assigned[member_id]), default=None)
        if most is None or len(assigned) < 2:
            return assigned
        return {**assigned, most: frozenset(sorted(assigned[most])[:-1])}
