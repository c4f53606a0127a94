"""The messages that members of a group exchange through JoinGroup and SyncGroup.

Source: ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json, ConsumerProtocol.java;
KIP-429 (owned partitions), KIP-792 (generation of what is owned). The coordinator does not look
into these bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reference_impl.client.values import TopicPartition
from reference_impl.wire import Definition, Struct, decode_versioned, definition, encode_versioned

NO_GENERATION = -1
SUBSCRIPTION_VERSION = 3
ASSIGNMENT_VERSION = 3

Assignment = dict[str, list[TopicPartition]]
"""Member id -> the partitions that the member should read."""


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """A member's subscription, and the partitions that it owns."""

    topics: frozenset[str]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION
    """The generation in which the member got its partitions. If two members claim a partition, the
    one with the later generation owns it."""
    user_data: bytes | None = None
    group_instance_id: str | None = None


class Assignor:
    """One way to share partitions among the members of a classic group. Each member has one of each
    configured kind, and the group's leader runs the one that the group has chosen."""

    name = ""
    """The assignor's name in JoinGroup. The group chooses an assignor that all members have."""
    is_cooperative = False
    """Whether members keep their partitions during a rebalance, and give up only those that another
    member gets."""

    def user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes | None:
        """Return the bytes that this assignor adds to its member's subscription, or None."""
        return None

    def assign(
        self, partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
    ) -> Assignment:
        """Return the partitions of each member, an empty list for a member that gets none.
        partitions: existing topic -> number of its partitions."""
        raise NotImplementedError


def by_seniority(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Return member ids in the order that all assignors use: static members by their instance id,
    then the others by member id (AbstractPartitionAssignor.MemberInfo)."""

    def rank(member_id: str) -> tuple[bool, str]:
        instance = members[member_id].group_instance_id
        return instance is None, member_id if instance is None else instance

    return sorted(members, key=rank)


def encode_subscription(subscription: MemberSubscription) -> bytes:
    """Encode a member's subscription, as the metadata of one protocol in JoinGroup."""
    of = definition("ConsumerProtocolSubscription")
    body = of.new(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=_rows(of, subscription.owned),
        generation_id=subscription.generation,
    )
    return encode_versioned(of, body, SUBSCRIPTION_VERSION)


def decode_subscription(data: bytes, group_instance_id: str | None) -> MemberSubscription:
    """Decode a member's subscription, of any version. Raise Malformed if the bytes are not one.
    group_instance_id: that of the member, which the bytes do not contain."""
    _, body = decode_versioned(definition("ConsumerProtocolSubscription"), data)
    return MemberSubscription(
        frozenset(body.topics),
        tuple(_partitions(body.owned_partitions)),
        body.generation_id,
        None if body.user_data is None else bytes(body.user_data),
        group_instance_id,
    )


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode the assignment of one member, as the leader sends it with SyncGroup."""
    of = definition("ConsumerProtocolAssignment")
    body = of.new(assigned_partitions=_rows(of, partitions))
    return encode_versioned(of, body, ASSIGNMENT_VERSION)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Decode the assignment that the leader made; no bytes at all mean no partitions. Raise
    Malformed if the bytes are no assignment."""
    if not data:
        return []
    _, body = decode_versioned(definition("ConsumerProtocolAssignment"), data)
    return _partitions(body.assigned_partitions)


def _rows(of: Definition, partitions: Iterable[TopicPartition]) -> list[Struct]:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return [of.struct("TopicPartition", topic=t, partitions=p) for t, p in topics.items()]


def _partitions(rows: Iterable[Struct]) -> list[TopicPartition]:
    return [TopicPartition(row.topic, number) for row in rows for number in row.partitions]
