"""Round-robin: assign all partitions of all topics in turn to the members that subscribe to them.

Source: RoundRobinAssignor.java.
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


class RoundRobinAssignor(Assignor):
    """The round-robin assignor, which gives the partitions of all topics to the members in turn,
    and skips members that do not subscribe to the topic."""

    name = "roundrobin"

    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        assignment: Assignment = {member_id: [] for member_id in members}
        in_order = by_seniority(members)
        turn = 0
        wanted = {topic for member in members.values() for topic in member.topics}
        for topic in sorted(wanted & partitions.keys()):
            for number in range(partitions[topic]):
                while topic not in members[in_order[turn % len(in_order)]].topics:
                    turn += 1
                assignment[in_order[turn % len(in_order)]].append(TopicPartition(topic, number))
                turn += 1
        return assignment
