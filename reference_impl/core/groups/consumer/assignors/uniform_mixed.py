"""The `uniform` assignor for members that subscribe to different topics.

Source: UniformHeterogeneousAssignmentBuilder.java. It takes three steps: every member keeps the
partitions that it still wants; the others are assigned, topic by topic, to the subscriber with the
fewest; then partitions move from the members with the most to those with the fewest as long as that
makes a difference smaller. The balance is not always perfect, since that may need a chain of moves
through several members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from reference_impl.core.groups.consumer.assignors.spec import (
    Assignment,
    MemberSpec,
    by_member_id,
    subscribers_of,
)
from reference_impl.core.groups.consumer.model.member import TopicIdPartition

ROUNDS_MAX = 16
"""Each round about halves what is out of balance (MAX_ITERATION_COUNT)."""


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[UUID, int]) -> Assignment:
    """Let members keep their partitions of subscribed topics, assign the others, then even out the
    numbers."""
    ordered = by_member_id(members)
    subscribers = {
        topic: [member.member_id for member in wanting]
        for topic, wanting in subscribers_of(ordered).items()
    }
    parts: dict[str, set[TopicIdPartition]] = {
        member.member_id: {
            key
            for key in member.current
            if key[0] in member.topics and key[1] < partition_counts[key[0]]
        }
        for member in ordered
    }
    # Topics with the most partitions per subscriber first: later ones can make up for them.
    topics = sorted(
        subscribers,
        key=lambda topic: (
            -partition_counts[topic] / len(subscribers[topic]),
            len(subscribers[topic]),
            topic,
        ),
    )
    taken = set().union(*parts.values())
    for topic in topics:
        ranks = _ranks(parts, subscribers[topic])
        for index in range(partition_counts[topic]):
            if (topic, index) not in taken:
                parts[_least(parts, ranks)].add((topic, index))
    for _ in range(ROUNDS_MAX):
        moved = [_balance(parts, topic, subscribers[topic]) for topic in topics]
        if not any(moved):
            break
    return {member_id: frozenset(part) for member_id, part in parts.items()}


def _ranks(parts: Mapping[str, set[TopicIdPartition]], member_ids: Sequence[str]) -> dict[str, int]:
    """Return member id -> rank for one topic: 0 for the least loaded member; equally loaded members
    are ranked by id. Ranks decide between equals while partitions move."""
    ordered = sorted(member_ids, key=lambda member_id: (len(parts[member_id]), member_id))
    return {member_id: rank for rank, member_id in enumerate(ordered)}


def _least(parts: Mapping[str, set[TopicIdPartition]], ranks: Mapping[str, int]) -> str:
    return min(ranks, key=lambda member_id: (len(parts[member_id]), ranks[member_id]))


def _balance(
    parts: dict[str, set[TopicIdPartition]], topic: UUID, member_ids: Sequence[str]
) -> bool:
    """Move partitions of one topic from the most to the least loaded of its subscribers."""
    ranks = _ranks(parts, member_ids)
    held = {
        member_id: sorted(key for key in parts[member_id] if key[0] == topic)
        for member_id in member_ids
    }
    moved = False
    while True:
        givers = [member_id for member_id in member_ids if held[member_id]]
        if not givers:
            return moved  # what the most loaded have left is of other topics
        giver = max(givers, key=lambda member_id: (len(parts[member_id]), ranks[member_id]))
        taker = _least(parts, ranks)
        if len(parts[giver]) - len(parts[taker]) <= 1:
            return moved
        partition = held[giver].pop()
        parts[giver].discard(partition)
        parts[taker].add(partition)
        moved = True
