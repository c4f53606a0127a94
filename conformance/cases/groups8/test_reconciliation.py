"""How partitions move from member to member: revoked first, then given away (KIP-848)."""

from __future__ import annotations

from uuid import UUID

from conformance.case import case, expect, expect_that
from conformance.clients.consumer_members import ConsumerMember, partitions_of, settle, settled_pair
from conformance.target.settings import require_assignor
from conformance.wire import Topic, Wire, eventually, part
from reference_impl.wire import ErrorCode

SPEC = "KIP-848, Rebalance Process; class CurrentAssignmentBuilder"


def asked_to_revoke(first: ConsumerMember, second: ConsumerMember) -> None:
    """Let the second member join. Return once the first has been told to revoke a partition and has
    not acknowledged that. Both send heartbeats, since a target may be computed during either's."""
    had = len(first.owned)
    second.join()

    def told() -> int:
        second.beat()
        expect(second.owned, [], "assignment of the second before the first has revoked")
        first.beat()
        return len(first.owned)

    eventually(told, lambda count: count < had, "the first member is told to revoke")


@case("GRP8-11", "ConsumerGroupHeartbeat", spec=SPEC)
def test_a_partition_is_given_away_only_after_its_revocation(wire: Wire, version: int) -> None:
    """When a second member joins, the first must revoke partitions and keeps its epoch; only after
    it has acknowledged that does it get the new epoch, and the second the revoked partitions: no
    partition belongs to two members at any moment."""
    topic = wire.create_topic(4)
    first = ConsumerMember.stable(wire, topic, version=version)
    epoch, second = first.epoch, first.partner()
    asked_to_revoke(first, second)
    expect((first.epoch, len(first.owned)), (epoch, 2), "(epoch, partitions) before revocation")
    second.beat()
    expect(second.owned, [], "assignment of the second while the first revokes")
    first.acknowledge()
    expect_that(first.epoch > epoch, "epoch after revocation", f"more than {epoch}", first.epoch)
    settle(first, second)
    expect((len(first.owned), len(second.owned)), (2, 2), "partitions of each")


@case("GRP8-11", "ConsumerGroupHeartbeat", spec=SPEC)
def test_who_keeps_its_partitions_keeps_them(wire: Wire, version: int) -> None:
    """A third member takes partitions from the members that have most; one that gives none away
    keeps exactly its partitions: assignments are sticky."""
    require_assignor(wire, "uniform", by_default=True)  # range is not sticky
    first, second = settled_pair(wire, wire.create_topic(6), version=version)
    before = {member.member_id: set(member.owned) for member in (first, second)}
    third = first.partner()
    third.join()
    settle(first, second, third)
    expect([len(m.owned) for m in (first, second, third)], [2, 2, 2], "partitions of each")
    for member in (first, second):
        expect_that(
            set(member.owned) <= before[member.member_id],
            "partitions of an old member",
            "some of those it had",
            member.owned,
        )


@case("GRP8-14", "ConsumerGroupHeartbeat", spec="KIP-848, Rebalance Timeout", priority="P1")
def test_who_does_not_revoke_in_time_is_removed(wire: Wire, version: int) -> None:
    """A member that sends heartbeats, but does not acknowledge a revocation within its rebalance
    timeout, is removed: it gets UNKNOWN_MEMBER_ID (25), and the others get its partitions."""
    topic = wire.create_topic(4)
    stubborn = ConsumerMember.stable(wire, topic, version=version, rebalance_timeout_ms=1_000)
    other = stubborn.partner(rebalance_timeout_ms=30_000)
    asked_to_revoke(stubborn, other)
    error = eventually(
        lambda: stubborn.try_to_beat().error_code,
        lambda e: e != ErrorCode.NONE,
        "the stubborn member is removed",
    )
    expect(error, ErrorCode.UNKNOWN_MEMBER_ID, "heartbeat error of the stubborn member")
    settle(other)
    expect(other.owned, partitions_of(topic), "partitions of the other")
    expect(other.member_ids(), [other.member_id], "members of the group")


def grow(wire: Wire, topic: Topic, partitions: int) -> Topic:
    """Return the same topic with more partitions."""
    wanted = part(
        "CreatePartitions",
        "CreatePartitionsTopic",
        name=topic.name,
        count=partitions,
        assignments=None,
    )
    answer = wire.call("CreatePartitions", topics=[wanted], timeout_ms=20_000)
    expect(answer.results[0].error_code, ErrorCode.NONE, "CreatePartitions error")
    return wire.wait_for_topic(topic.name, partitions)


@case("GRP8-17", "ConsumerGroupHeartbeat", spec="KIP-848, Metadata changes", priority="P1")
def test_new_partitions_are_assigned(wire: Wire, version: int) -> None:
    """When a subscribed topic gets more partitions, the member gets them with a higher epoch,
    without asking for anything."""
    member = ConsumerMember.stable(wire, wire.create_topic(1), version=version)
    epoch = member.epoch
    member.topics = [grow(wire, member.topics[0], 3)]
    settle(member)
    expect_that(member.epoch > epoch, "epoch", f"more than {epoch}", member.epoch)


@case("GRP8-17", "ConsumerGroupHeartbeat", spec="KIP-848, Metadata changes", priority="P1")
def test_a_topic_may_be_made_after_the_subscription(wire: Wire, version: int) -> None:
    """A subscription to a topic that does not exist yet is accepted; when it is made, the member
    gets its partitions with a higher epoch."""
    later = Topic(wire.new_name(), UUID(int=0), 0)
    member = ConsumerMember.of(wire, later, version=version)
    member.join()
    expect(member.owned, [], "assignment before the topic is made")
    epoch = member.epoch
    member.topics = [wire.create_topic(2, name=later.name)]
    settle(member)
    expect_that(member.epoch > epoch, "epoch", f"more than {epoch}", member.epoch)


@case("GRP8-17", "ConsumerGroupHeartbeat", spec="KIP-848, Metadata changes", priority="P1")
def test_the_partitions_of_a_deleted_topic_are_taken_away(wire: Wire, version: int) -> None:
    """When a subscribed topic is deleted, the member's new assignment does not contain it."""
    kept, deleted = wire.create_topic(), wire.create_topic()
    member = ConsumerMember.stable(wire, kept, deleted, version=version)
    wire.delete_topic(deleted)
    member.topics = [kept]
    settle(member)


@case("GRP8-17", "ConsumerGroupHeartbeat", spec="KIP-848, Subscription changes", priority="P1")
def test_a_member_may_change_its_subscription(wire: Wire, version: int) -> None:
    """A member that changes its subscription is assigned the partitions of the new topics and gives
    up those of the old ones, in a higher epoch."""
    member = ConsumerMember.stable(wire, wire.create_topic(2), version=version)
    epoch = member.epoch
    member.topics = [wire.create_topic(3)]
    member.acknowledge(**member.subscription())
    settle(member)
    expect_that(member.epoch > epoch, "epoch", f"more than {epoch}", member.epoch)
