"""The sticky assignors: as balanced as possible, and among such assignments one that moves few
partitions.

Source: KIP-54 (sticky), KIP-341 (generation in the user data), KIP-429 (cooperative); Java classes
AbstractStickyAssignor, StickyAssignor, CooperativeStickyAssignor.

Balanced means (KIP-54): no member has two partitions more than another that could take one of them.
The result is as balanced and as sticky as Java's (a test compares them), with a shorter algorithm:

1. every member keeps what it rightfully owns; 2. free partitions go to the members with the fewest;
3. while a member has two more than another that could take one, one moves.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from reference_impl.client.group.classic.assignors.protocol import (
    NO_GENERATION,
    Assignment,
    Assignor,
    MemberSubscription,
    by_seniority,
)
from reference_impl.client.values import TopicPartition

Claim = tuple[Iterable[TopicPartition], int]
"""(partitions, the generation in which they were assigned)."""


class Balance:
    """A sticky assignment that is being built, by the three steps `keep`, `fill` and `level`."""

    def __init__(
        self, partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> None:
        self._members = members
        self._in_order = by_seniority(members)
        self.assigned: dict[str, dict[TopicPartition, None]] = {m: {} for m in self._in_order}
        self.all = [
            TopicPartition(topic, number)
            for topic in sorted(partitions)
            for number in range(partitions[topic])
        ]

    def readers(self, topic: str) -> list[str]:
        """Return the members that subscribe to a topic."""
        return [member for member in self._in_order if topic in self._members[member].topics]

    def keep(self, claims: Mapping[str, Claim]) -> set[TopicPartition]:
        """Do step 1: let members keep the existing partitions that they own and whose topics they
        still subscribe to. If two members claim a partition, the later generation wins; if the
        generations are equal, neither does. Return the partitions that are kept."""
        existing = set(self.all)
        best: dict[TopicPartition, tuple[int, list[str]]] = {}
        for member in self._in_order:
            owned, generation = claims[member]
            for partition in owned:
                if partition not in existing:
                    continue
                known = best.get(partition, (generation - 1, []))
                if generation > known[0]:
                    best[partition] = (generation, [member])
                elif generation == known[0]:
                    known[1].append(member)
        kept = set()
        for partition in sorted(best):
            owners = best[partition][1]
            if len(owners) == 1 and partition.topic in self._members[owners[0]].topics:
                self.assigned[owners[0]][partition] = None
                kept.add(partition)
        return kept

    def fill(self, kept: set[TopicPartition]) -> None:
        """Do step 2: assign the partitions that no member has, first those of topics with the
        fewest subscribers."""
        readers = {partition.topic: self.readers(partition.topic) for partition in self.all}
        missing = [p for p in self.all if p not in kept and readers[p.topic]]
        for partition in sorted(missing, key=lambda p: (len(readers[p.topic]), p)):
            member = min(readers[partition.topic], key=lambda each: len(self.assigned[each]))
            self.assigned[member][partition] = None

    def level(self, kept: set[TopicPartition]) -> None:
        """Do step 3: move partitions between members until the assignment is balanced. It ends,
        since each move makes the sum of the squares of the sizes smaller."""
        while (move := self._move(kept)) is not None:
            partition, giver, taker = move
            del self.assigned[giver][partition]
            self.assigned[taker][partition] = None

    def _move(self, kept: set[TopicPartition]) -> tuple[TopicPartition, str, str] | None:
        size = {member: len(owned) for member, owned in self.assigned.items()}
        for giver in sorted(self._in_order, key=lambda member: -size[member]):
            # Move a partition that was assigned just now before one that a member owns.
            for partition in sorted(self.assigned[giver], key=lambda each: each in kept):
                taker = min(self.readers(partition.topic), key=lambda member: size[member])
                if size[giver] - size[taker] >= 2:
                    return partition, giver, taker
        return None


class StickyAssignor(Assignor):
    """The eager sticky assignor. Members give everything up before they join, so the partitions
    that they owned travel in the user data."""

    name = "sticky"

    def user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
        return encode_owned(owned, generation)

    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        return self.target(partitions, members)

    def target(
        self, partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Return the balanced assignment that the group is to reach, whoever still owns a
        partition."""
        claims = {member_id: self.claim(member) for member_id, member in members.items()}
        balance = Balance(partitions, members)
        kept = balance.keep(claims)
        balance.fill(kept)
        balance.level(kept)
        return {member_id: sorted(owned) for member_id, owned in balance.assigned.items()}

    def claim(self, member: MemberSubscription) -> Claim:
        """Return the partitions that a member claims to own, with the generation."""
        return decode_owned(member.user_data)


class CooperativeStickyAssignor(StickyAssignor):
    """The assignor under which members continue to read the partitions that they keep.

    A partition that moves from one member to another is first assigned to neither. Its owner sees
    that, gives it up and joins again; that second rebalance assigns it (KIP-429).
    """

    name = "cooperative-sticky"
    is_cooperative = True

    def user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
        return struct.pack(">i", generation)

    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        assignment = self.target(partitions, members)
        owner = {
            partition: member_id
            for member_id, member in members.items()
            for partition in member.owned
        }
        for member_id, assigned in assignment.items():
            assignment[member_id] = [
                partition
                for partition in assigned
                if owner.get(partition, member_id) == member_id
                or partition in members[member_id].owned
            ]
        return assignment

    def claim(self, member: MemberSubscription) -> Claim:
        # [New in v2: KIP-792] Before, the generation came in the user data.
        if member.generation != NO_GENERATION or not member.user_data:
            return member.owned, member.generation
        return member.owned, int.from_bytes(member.user_data[:4], "big", signed=True)


def encode_owned(owned: Iterable[TopicPartition], generation: int) -> bytes:
    """Encode owned partitions: an array of topics, then the generation
    (StickyAssignor.serializeTopicPartitionAssignment)."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(owned):
        topics.setdefault(topic, []).append(partition)
    out = [struct.pack(">i", len(topics))]
    for topic, numbers in topics.items():
        name = topic.encode()
        out.append(struct.pack(f">h{len(name)}si", len(name), name, len(numbers)))
        out.append(struct.pack(f">{len(numbers)}i", *numbers))
    return b"".join(out) + struct.pack(">i", generation)


def decode_owned(data: bytes | None) -> tuple[list[TopicPartition], int]:
    """Return (partitions, generation) from what `encode_owned` wrote, or ([], NO_GENERATION) if it
    is None or cannot be read."""
    if not data:
        return [], NO_GENERATION
    owned: list[TopicPartition] = []
    try:
        (count,), position = struct.unpack_from(">i", data), 4
        for _ in range(count):
            (length,) = struct.unpack_from(">h", data, position)
            topic = data[position + 2 : position + 2 + length].decode()
            (size,) = struct.unpack_from(">i", data, position + 2 + length)
            position += 6 + length
            numbers = struct.unpack_from(f">{size}i", data, position)
            owned += [TopicPartition(topic, number) for number in numbers]
            position += 4 * size
        # [New in v1: KIP-341] The first version had no generation.
        generation = struct.unpack_from(">i", data, position)[0] if position < len(data) else -1
    except (struct.error, UnicodeDecodeError):
        return [], NO_GENERATION
    return owned, generation
