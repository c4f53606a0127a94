"""The input and the output of an assignor. Source: GroupSpec.java, GroupAssignment.java."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from reference_impl.core.groups.consumer.model.member import TopicIdPartition


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """A member, its subscribed topics, and its partitions in the last target assignment."""

    member_id: str
    instance_id: str | None
    topics: frozenset[UUID]
    current: frozenset[TopicIdPartition]


Assignment = dict[str, frozenset[TopicIdPartition]]
"""Member id -> its partitions. Every partition of a subscribed topic is in exactly one."""

Assignor = Callable[[Sequence[MemberSpec], Mapping[UUID, int]], Assignment]
"""(members, existing topic -> number of its partitions) -> the assignment."""


def by_member_id(members: Sequence[MemberSpec]) -> list[MemberSpec]:
    """Return the members sorted by member id, so that the assignment does not depend on the order
    in which they joined."""
    return sorted(members, key=lambda member: member.member_id)


def subscribers_of(members: Sequence[MemberSpec]) -> dict[UUID, list[MemberSpec]]:
    """Return the subscribers of each topic, in the order of `members`. The topics are sorted by
    id."""
    found: dict[UUID, list[MemberSpec]] = {}
    for member in members:
        for topic in member.topics:
            found.setdefault(topic, []).append(member)
    return dict(sorted(found.items()))
