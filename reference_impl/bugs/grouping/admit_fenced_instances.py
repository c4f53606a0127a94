"""A member that another process replaced under its group.instance.id is not fenced."""

from __future__ import annotations

from reference_impl.core.groups.classic.group import ClassicGroup
from reference_impl.core.groups.offsets import Committer
from reference_impl.core.rules import Rules


class AdmitFencedInstances(Rules):
    """Real-world kin: coordinators that check the instance id, and not which process uses it.

    Breaks:     of two processes with one group.instance.id the older must be fenced (KIP-345).
    Caught by:  workload groups-static-positions, any nemesis or none, checker committed_offsets
                (two-owners): its generation is the current one, since there was no rebalance.
    Within:     one run of 20 seconds.
    """

    def check_committing_member(self, group: ClassicGroup, committer: Committer) -> None:
        """Check only committers whose instance id no member has, and accept all others."""
        if committer.instance_id not in group.static_members:
            super().check_committing_member(group, committer)
