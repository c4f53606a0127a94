"""The `range` assignor: of each topic, each member reads one run of consecutive partitions.

Source: RangeAssignor.java (server side); KIP-848, KIP-1106. Members are in one order for all
topics, so that topics with equally many partitions are co-partitioned: partition 3 of each is read
by the same member. Static members come first, by instance id, which survives a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from reference_impl.core.groups.consumer.assignors.spec import (
    Assignment,
    MemberSpec,
    subscribers_of,
)
from reference_impl.core.groups.consumer.model.member import TopicIdPartition

NAME = "range"


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[UUID, int]) -> Assignment:
    """Divide each topic among its subscribers, static members first; the first of them get one
    partition of the remainder each."""
    ordered = sorted(members, key=_static_first)
    parts: dict[str, set[TopicIdPartition]] = {member.member_id: set() for member in members}
    for topic, subscribers in subscribers_of(ordered).items():
        quota, remainder = divmod(partition_counts[topic], len(subscribers))
        start = 0
        for number, member in enumerate(subscribers):
            end = start + quota + (number < remainder)
            parts[member.member_id].update((topic, index) for index in range(start, end))
            start = end
    return {member_id: frozenset(part) for member_id, part in parts.items()}


def _static_first(member: MemberSpec) -> tuple[bool, str]:
    return member.instance_id is None, member.instance_id or member.member_id
