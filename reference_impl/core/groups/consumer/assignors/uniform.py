"""The `uniform` assignor, Kafka's default: it gives every member equally many partitions, or
some members one more, and lets a member keep its partitions as far as the balance allows.

Source: UniformAssignor.java, UniformHomogeneousAssignmentBuilder.java; KIP-848. Where members want
different topics, `uniform_mixed.py` looks for a balance; here one is always possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from reference_impl.core.groups.consumer.assignors import uniform_mixed
from reference_impl.core.groups.consumer.assignors.spec import Assignment, MemberSpec, by_member_id
from reference_impl.core.groups.consumer.model.member import TopicIdPartition

NAME = "uniform"


def assign(members: Sequence[MemberSpec], partition_counts: Mapping[UUID, int]) -> Assignment:
    """Give each member its equal share of the partitions; it keeps what it holds, up to that share.
    Leave members with different subscriptions to `uniform_mixed`."""
    if len({member.topics for member in members}) > 1:
        return uniform_mixed.assign(members, partition_counts)
    ordered = by_member_id(members)
    wanted = sorted(ordered[0].topics) if ordered else []
    everything = [(topic, index) for topic in wanted for index in range(partition_counts[topic])]
    parts, room = _keep_up_to_quota(ordered, everything)
    taken = set().union(*parts.values())
    left = iter([partition for partition in everything if partition not in taken])
    for member_id, places in room:
        parts[member_id].update(
            partition for _, partition in zip(range(places), left, strict=False)
        )
    return {member_id: frozenset(part) for member_id, part in parts.items()}


def _keep_up_to_quota(
    ordered: Sequence[MemberSpec], everything: Sequence[TopicIdPartition]
) -> tuple[dict[str, set[TopicIdPartition]], list[tuple[str, int]]]:
    """Return the partitions that each member keeps, and the number that each still needs.

    Every member gets `quota`, and `extras` members one more. A member which has no use for its
    extra one passes it on, unless only as many members are left as there are extras.
    """
    quota, extras = divmod(len(everything), len(ordered)) if ordered else (0, 0)
    exists = set(everything)
    parts: dict[str, set[TopicIdPartition]] = {}
    room: list[tuple[str, int]] = []
    for number, member in enumerate(ordered):
        places = quota + (extras > 0)
        kept = sorted(member.current & exists)[:places]
        parts[member.member_id] = set(kept)
        takes_extra = extras > 0
        left_after = places - len(kept)
        if left_after > 0 and takes_extra and len(ordered) - number > extras:
            left_after -= 1
            takes_extra = False
        if left_after > 0:
            room.append((member.member_id, left_after))
        extras -= takes_extra
    return parts, room
