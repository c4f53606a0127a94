"""Range: the partitions of each topic in consecutive ranges, the first members get one more.

Source: RangeAssignor.java. Topics with equally many partitions are shared in the same way, so that
a member gets the same numbers of each (co-partitioning). Racks (KIP-881) are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.client.group.classic.assignors.protocol import (
    Assignment,
    Assignor,
    MemberSubscription,
    by_seniority,
)
from reference_impl.client.values import TopicPartition


class RangeAssignor(Assignor):
    """The range assignor, which gives each member of a topic consecutive partitions of it, and the
    first members one more if the number cannot be divided."""

    name = "range"

    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        in_order = by_seniority(members)
        for topic in sorted(partitions):
            readers = [member_id for member_id in in_order if topic in members[member_id].topics]
            if not readers:
                continue
            each, one_more = divmod(partitions[topic], len(readers))
            start = 0
            for position, member_id in enumerate(readers):
                count = each + (position < one_more)
                assignment[member_id] += [
                    TopicPartition(topic, number) for number in range(start, start + count)
                ]
                start += count
        return assignment
