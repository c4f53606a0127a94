"""The `uniform` assignor for members that subscribe to different topics.

Source: UniformHeterogeneousAssignmentBuilder.java. It takes three steps: every member keeps the
partitions that it still wants; the others are assigned, topic by topic, to the subscriber with the
fewest; then partitions move from the members with the most to those with the fewest as long as that
makes a difference smaller. The balance is not always perfect, since that may need a chain of moves
through several members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from uuid import UUID

from reference_impl.core.groups.consumer.assignors.spec import (
    Assignment,
    MemberSpec,
    by_member_id,
    subscribers_of,
)
from reference_impl.core.groups.consumer.model.member import TopicIdPartition

Parts = dict[str, set[TopicIdPartition]]
"""Member id -> its partitions."""
ROUNDS_MAX = 16
"""The most rounds of balancing. Each about halves the imbalance (MAX_ITERATION_COUNT)."""


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[UUID, int]) -> Assignment:
    """Let members keep their partitions of subscribed topics, assign the others, then even out the
    numbers."""
    ordered = by_member_id(members)
    subscribers = {
        topic: [member.member_id for member in wanting]
        for topic, wanting in subscribers_of(ordered).items()
    }
    parts: Parts = {
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
        free = [(topic, n) for n in range(partition_counts[topic]) if (topic, n) not in taken]
        if free:
            _give(free, parts, subscribers[topic])
    for _ in range(ROUNDS_MAX):
        held = _held(parts)
        moved = [
            _balance(parts, held.get(topic, {}), subscribers[topic])
            for topic in topics
            if _is_uneven(parts, subscribers[topic])
        ]
        if not any(moved):
            break
    return {member_id: frozenset(part) for member_id, part in parts.items()}


def _ranked(parts: Parts, member_ids: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return (load, rank, member) of each subscriber of one topic, in ascending order, so that the
    list is also a heap. Rank 0 is the least loaded member; equal loads are ranked by member id.
    Where loads become equal as partitions move, the lower rank comes first."""
    ordered = sorted((len(parts[member_id]), member_id) for member_id in member_ids)
    return [(load, rank, member_id) for rank, (load, member_id) in enumerate(ordered)]


def _give(free: Sequence[TopicIdPartition], parts: Parts, member_ids: Sequence[str]) -> None:
    """Give each of these partitions of one topic to the subscriber that is then the least
    loaded."""
    heap = _ranked(parts, member_ids)
    for partition in free:
        load, rank, member_id = heap[0]
        parts[member_id].add(partition)
        heapreplace(heap, (load + 1, rank, member_id))


def _held(parts: Parts) -> dict[UUID, dict[str, list[TopicIdPartition]]]:
    """Return topic -> member -> its partitions of that topic, ascending."""
    held: dict[UUID, dict[str, list[TopicIdPartition]]] = {}
    for member_id, part in parts.items():
        for key in sorted(part):
            held.setdefault(key[0], {}).setdefault(member_id, []).append(key)
    return held


def _is_uneven(parts: Parts, member_ids: Sequence[str]) -> bool:
    loads = [len(parts[member_id]) for member_id in member_ids]
    return max(loads) - min(loads) > 1


def _balance(
    parts: Parts, held: Mapping[str, list[TopicIdPartition]], member_ids: Sequence[str]
) -> bool:
    """Move partitions of one topic from the most to the least loaded of its subscribers, in
    `parts`, and take those moved out of `held`. Return whether any was moved."""
    takers = _ranked(parts, member_ids)
    ranks = {member_id: rank for _, rank, member_id in takers}
    givers = [(-len(parts[each]), -ranks[each], each) for each in held]
    heapify(givers)
    moved = False
    while givers:
        load, _, giver = givers[0]
        if not held[giver] or -load != len(parts[giver]):
            heappop(givers)  # it has no partition of this topic left, or its load has changed
            continue
        while takers[0][0] != len(parts[takers[0][2]]):
            heappop(takers)
        taker = takers[0][2]
        if len(parts[giver]) - len(parts[taker]) <= 1:
            break
        partition = held[giver].pop()
        parts[giver].discard(partition)
        parts[taker].add(partition)
        moved = True
        for each in (giver, taker):
            heappush(takers, (len(parts[each]), ranks[each], each))
            if each in held:
                heappush(givers, (-len(parts[each]), -ranks[each], each))
    return moved
