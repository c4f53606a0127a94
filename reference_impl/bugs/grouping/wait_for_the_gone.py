"""A rebalance waits until as many members have joined as the group ever had at once."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.rules import Rules


class WaitForTheGone(Rules):
    """Real-world kin: rebalances that never end because a member that has left is still counted.

    Breaks:     a generation must begin with the members that have joined, at the latest when the
                rebalance time-out is over (KIP-62).
    Caught by:  workload groups, any nemesis or none, checker group_liveness.
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def __init__(self) -> None:
        self._most: dict[str, int] = {}

    def is_join_over(self, group: ClassicGroup, *, timed_out: bool) -> bool:
        """Return False until as many members have joined as the group ever had at once."""
        joined = sum(each.awaiting_join is not None for each in group.members.values())
        most = max(joined, self._most.get(group.group_id, 0))
        self._most[group.group_id] = most
        return joined >= most and super().is_join_over(group, timed_out=timed_out)
