"""The target assignment of a KIP-848 group leaves out the last partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from reference_impl.core.groups.consumer.assignors import Assignor, MemberSpec
from reference_impl.core.groups.consumer.model.member import TopicIdPartition
from reference_impl.core.rules import Rules
from reference_impl.core.rules.grouping import Target


class LeavePartitionOut(Rules):
    """Real-world kin: assignors that divide with a remainder, and forget the remainder.

    Breaks:     each partition of a subscribed topic must be in the target assignment of a member
                (KIP-848, Assignment process).
    Caught by:  workload groups-consumer, any nemesis or none, checker group_liveness (a partition
                without an owner).
    Within:     one run of 75 seconds: judges allow for rebalance and session time-outs.
    """

    def target(
        self, assign: Assignor, members: Sequence[MemberSpec], counts: Mapping[UUID, int]
    ) -> Target:
        """Return the target assignment without the partitions, of any topic, whose index is the
        highest that is assigned."""
        assigned = super().target(assign, members, counts)
        every = frozenset[TopicIdPartition]().union(*assigned.values())
        last = max((index for _, index in every), default=0)
        return {
            member_id: frozenset(each for each in part if each[1] != last)
            for member_id, part in assigned.items()
        }
