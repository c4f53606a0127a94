"""From the classic protocol to the new one and back, while members live (KIP-848)."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import commit, committed
from conformance.clients.consumer_members import ConsumerMember, described, settle
from conformance.clients.members import Member, subscription
from conformance.target.variants import CLASSIC_ONLY, STRICT
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode, decode_versioned, definition, encode_versioned

UPGRADE = "KIP-848, Upgrade; GroupMetadataManager.validateOnlineUpgrade"
MIXED = "KIP-848, Compatibility and Upgrade; GroupMetadataManager.classicGroupJoinToConsumerGroup"
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS
ASSIGNMENT = definition("ConsumerProtocolAssignment")
TELLS_PROTOCOLS, CLASSIC, CONSUMER = 1, 0, 1
"""The version of ConsumerGroupDescribe with the type of each member, and the types (KIP-1099)."""


def assignment(topic: Topic, *partitions: int) -> bytes:
    """Return an assignment as a classic leader writes it."""
    entry = ASSIGNMENT.struct("TopicPartition", topic=topic.name, partitions=list(partitions))
    return encode_versioned(ASSIGNMENT, ASSIGNMENT.new(assigned_partitions=[entry]), 0)


def partitions_in(written: bytes) -> list[int]:
    """Return the partitions, of whatever topic, in an assignment."""
    _, read = decode_versioned(ASSIGNMENT, written)
    return sorted(index for entry in read.assigned_partitions for index in entry.partitions)


def classic_member(wire: Wire, topic: Topic, group: str = "", **versions: int) -> Member:
    """Return a consumer of the classic protocol that has not joined."""
    return Member.of(
        wire, group, protocols=[("range", subscription(topic.name))], versions=versions
    )


def stable_classic(wire: Wire, topic: Topic) -> Member:
    """Return the only member of a Stable classic group, with every partition of a topic."""
    member = classic_member(wire, topic)
    member.join()
    member.sync({member.member_id: assignment(topic, *range(topic.partitions))})
    return member


def share(classic: Member, consumer: ConsumerMember, partitions: int) -> list[int]:
    """Let both act as their clients do until each has half of the partitions; return those of the
    classic member. It joins again when it is told of a rebalance, and syncs to learn what it has.
    """
    owned: list[int] = []

    def one_round() -> tuple[int, int]:
        nonlocal owned
        consumer.acknowledge()
        if classic.heartbeat() == REBALANCING:
            classic.join()
            answer = classic.try_to_sync()
            if answer.error_code == ErrorCode.NONE:
                owned = partitions_in(bytes(answer.assignment))
        return len(owned), len(consumer.owned)

    half = partitions // 2
    eventually(one_round, lambda found: found == (half, half), "each member has half")
    return owned


@case("GRP8-22", "ConsumerGroupHeartbeat", spec=UPGRADE, priority="P1")
def test_a_classic_group_is_upgraded_while_it_lives(wire: Wire, version: int) -> None:
    """A member of the new protocol may join a classic group of consumers: the group becomes one of
    the new protocol, its classic member rebalances, and both share the partitions."""
    topic = wire.create_topic(4)
    classic = stable_classic(wire, topic)
    consumer = ConsumerMember.of(wire, topic, group=classic.group, version=version)
    consumer.join()
    owned = share(classic, consumer, 4)
    expect(sorted(owned + [index for _, index in consumer.owned]), [0, 1, 2, 3], "partitions")
    expect(consumer.member_ids(), sorted([classic.member_id, consumer.member_id]), "members")


@case("GRP8-22", "ConsumerGroupHeartbeat", spec=UPGRADE, priority="P1")
def test_an_empty_classic_group_is_upgraded(wire: Wire, version: int) -> None:
    """A classic group that only has commits becomes one of the new protocol with its first member,
    and keeps its committed offsets."""
    topic, group = wire.create_topic(), wire.new_name("group")
    commit(wire, group, topic, {0: 5})
    member = ConsumerMember.stable(wire, topic, group=group, version=version)
    expect(member.member_ids(), [member.member_id], "members of the group")
    expect(committed(wire, group, topic).offset, 5, "committed")


@case("GRP8-22", "ConsumerGroupHeartbeat", spec=UPGRADE, priority="P1")
def test_a_group_that_is_not_of_consumers_is_not_upgraded(wire: Wire, version: int) -> None:
    """A classic group of another protocol type, such as Kafka Connect's, is not upgraded: the
    heartbeat gets GROUP_ID_NOT_FOUND (69), and the classic member goes on."""
    classic = Member.stable(wire, protocol_type="connect")
    consumer = ConsumerMember.of(wire, wire.create_topic(), group=classic.group, version=version)
    expect(consumer.try_to_join().error_code, NOT_FOUND, "heartbeat error")
    expect(classic.heartbeat(), ErrorCode.NONE, "error of the classic member")


@case(
    "GRP8-22",
    "ConsumerGroupHeartbeat",
    spec=UPGRADE + "; group.consumer.migration.policy",
    priority="P1",
    config=STRICT,
)
def test_the_upgrade_may_be_forbidden(wire: Wire, version: int) -> None:
    """With group.consumer.migration.policy=disabled a heartbeat to a classic group with members
    gets GROUP_ID_NOT_FOUND (69), and the classic member goes on."""
    topic = wire.create_topic()
    classic = stable_classic(wire, topic)
    consumer = ConsumerMember.of(wire, topic, group=classic.group, version=version)
    expect(consumer.try_to_join().error_code, NOT_FOUND, "heartbeat error")
    expect(classic.heartbeat(), ErrorCode.NONE, "error of the classic member")


@case(
    "GRP8-28",
    "ConsumerGroupHeartbeat",
    spec="group.coordinator.rebalance.protocols",
    priority="P1",
    config=CLASSIC_ONLY,
)
def test_the_new_protocol_may_be_switched_off(wire: Wire, version: int) -> None:
    """Where the consumer protocol is switched off, a heartbeat gets UNSUPPORTED_VERSION (35), and
    there is no group."""
    member = ConsumerMember.of(wire, wire.create_topic(), version=version)
    expect(member.try_to_join().error_code, ErrorCode.UNSUPPORTED_VERSION, "heartbeat error")
    listed = [group.group_id for group in member.connection.call("ListGroups", 5).groups]
    expect(member.group in listed, False, "whether the group is listed")


@case("GRPC-39", "JoinGroup", spec=MIXED, priority="P1")
def test_a_classic_member_joins_a_consumer_group(wire: Wire, version: int) -> None:
    """A consumer of the classic protocol may join a group of the new one: SyncGroup returns its
    partitions, Heartbeat reports changes, and both members share the partitions.
    ConsumerGroupDescribe (v1+) names the protocol of each member."""
    topic = wire.create_topic(4)
    consumer = ConsumerMember.stable(wire, topic)
    classic = classic_member(wire, topic, consumer.group, JoinGroup=version)
    answer = classic.join()
    expect_that(
        answer.leader != answer.member_id,
        "leader: the broker assigns",
        "not this member",
        answer.leader,
    )
    classic.sync()
    owned = share(classic, consumer, 4)
    expect(sorted(owned + [index for _, index in consumer.owned]), [0, 1, 2, 3], "partitions")
    expect(consumer.member_ids(), sorted([classic.member_id, consumer.member_id]), "members")
    if wire.advertised["ConsumerGroupDescribe"][1] >= TELLS_PROTOCOLS:
        types = {member.member_id: member.member_type for member in consumer.describe().members}
        expected = {classic.member_id: CLASSIC, consumer.member_id: CONSUMER}
        expect(types, expected, "member types in ConsumerGroupDescribe")


@case("GRPC-39", "JoinGroup", spec=MIXED, priority="P1")
def test_a_member_of_another_protocol_type_does_not_join(wire: Wire, version: int) -> None:
    """A JoinGroup of another protocol type to a group of the new protocol gets
    INCONSISTENT_GROUP_PROTOCOL (23), and the member is not added."""
    consumer = ConsumerMember.stable(wire, wire.create_topic())
    stranger = Member.of(
        wire, consumer.group, protocol_type="connect", versions={"JoinGroup": version}
    )
    answer = stranger.try_to_join()
    expect(answer.error_code, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "JoinGroup error")
    expect(consumer.member_ids(), [consumer.member_id], "members of the group")


@case("GRPC-39", "JoinGroup", spec=MIXED + "; KIP-848, Downgrade", priority="P1")
def test_the_last_consumer_leaves_a_classic_group_behind(wire: Wire, version: int) -> None:
    """When the last member of the new protocol leaves, those of the classic one are a classic group
    again: their Heartbeat gets REBALANCE_IN_PROGRESS (27), one of them leads the group, and may
    assign every partition."""
    topic = wire.create_topic(4)
    consumer = ConsumerMember.stable(wire, topic)
    classic = classic_member(wire, topic, consumer.group, JoinGroup=version)
    classic.join()
    classic.sync()
    share(classic, consumer, 4)
    consumer.leave()
    found = described(consumer.connection, consumer.group, wire.version("ConsumerGroupDescribe"))
    expect(found.error_code, NOT_FOUND, "error as a group of the new protocol")
    eventually(classic.heartbeat, lambda error: error == REBALANCING, "the member is told")
    expect(classic.join().leader, classic.member_id, "leader")
    whole = assignment(topic, 0, 1, 2, 3)
    expect(classic.sync({classic.member_id: whole}), whole, "assignment")
    expect((classic.state(), classic.heartbeat()), ("Stable", ErrorCode.NONE), "(state, error)")


@case(
    "GRPC-39",
    "JoinGroup",
    spec=MIXED + "; group.consumer.migration.policy",
    priority="P1",
    config=STRICT,
)
def test_mixing_may_be_forbidden(wire: Wire, version: int) -> None:
    """With group.consumer.migration.policy=disabled a JoinGroup to a group of the new protocol with
    members gets INCONSISTENT_GROUP_PROTOCOL (23), and the member is not added."""
    topic = wire.create_topic()
    consumer = ConsumerMember.of(wire, topic)
    consumer.join()
    settle(consumer)
    answer = classic_member(wire, topic, consumer.group, JoinGroup=version).try_to_join()
    expect(answer.error_code, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "JoinGroup error")
    expect(consumer.member_ids(), [consumer.member_id], "members of the group")
