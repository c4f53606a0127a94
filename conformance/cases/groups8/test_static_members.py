"""Static members of a consumer group (KIP-848): a place that outlives a restart of its holder."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.clients.consumer_members import (
    LEAVE_FOR_A_MOMENT,
    ConsumerMember,
    partitions_of,
    settle,
)
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "KIP-848, Static Membership"


def static_pair(wire: Wire, version: int) -> tuple[ConsumerMember, ConsumerMember]:
    """Return a member with an instance id and a member without, who share four partitions."""
    static = ConsumerMember.stable(wire, wire.create_topic(4), version=version, instance_id="one")
    other = static.partner()
    other.join()
    settle(static, other)
    return static, other


@case("GRP8-19", "ConsumerGroupHeartbeat", spec=SPEC, priority="P1")
def test_an_instance_that_comes_back_keeps_its_partitions(wire: Wire, version: int) -> None:
    """A static member that leaves with epoch -2 is still counted, and its partitions are not
    reassigned; the same instance under a new member id gets them back, in the same epoch."""
    old, other = static_pair(wire, version)
    epoch, had, others = old.epoch, old.owned, other.owned
    old.leave(LEAVE_FOR_A_MOMENT)
    other.acknowledge()
    expect((other.epoch, other.owned), (epoch, others), "(epoch, partitions) of the other")
    expect(len(other.member_ids()), 2, "members while the instance is away")
    new = old.partner(instance_id="one")
    new.join()
    expect((new.epoch, new.owned), (epoch, had), "(epoch, partitions) of the one who came back")
    expect(other.member_ids(), sorted([new.member_id, other.member_id]), "members after that")


@case("GRP8-19", "ConsumerGroupHeartbeat", spec=SPEC, priority="P1")
def test_an_instance_in_use_is_not_replaced(wire: Wire, version: int) -> None:
    """A second member with the instance id of one that has not left gets UNRELEASED_INSTANCE_ID
    (111), and the first goes on."""
    topic = wire.create_topic(2)
    member = ConsumerMember.stable(wire, topic, version=version, instance_id="one")
    second = member.partner(instance_id="one")
    expect(second.try_to_join().error_code, ErrorCode.UNRELEASED_INSTANCE_ID, "heartbeat error")
    member.acknowledge()
    expect(member.owned, partitions_of(topic), "partitions of the first")
    expect(member.member_ids(), [member.member_id], "members of the group")


@case("GRP8-19", "ConsumerGroupHeartbeat", spec=SPEC, priority="P1")
def test_an_instance_may_leave_for_good(wire: Wire, version: int) -> None:
    """A static member that leaves with epoch -1 is removed, and its partitions go to the others."""
    static, other = static_pair(wire, version)
    static.leave()
    settle(other)
    expect(other.member_ids(), [other.member_id], "members of the group")


@case("GRP8-19", "ConsumerGroupHeartbeat", spec=SPEC, priority="P1")
def test_only_an_instance_leaves_for_a_moment(wire: Wire, version: int) -> None:
    """Epoch -2 without an instance id gets INVALID_REQUEST (42), and the member goes on."""
    member = ConsumerMember.stable(wire, wire.create_topic(), version=version)
    answer = member.try_to_leave(LEAVE_FOR_A_MOMENT)
    expect(answer.error_code, ErrorCode.INVALID_REQUEST, "error of leaving")
    member.acknowledge()


@case("GRP8-20", "ConsumerGroupHeartbeat", spec=SPEC, priority="P1")
def test_another_member_id_of_an_instance_is_fenced(wire: Wire, version: int) -> None:
    """A heartbeat or a leaving with an instance id under which another member id is known gets
    FENCED_INSTANCE_ID (82), one with an unknown instance id UNKNOWN_MEMBER_ID (25)."""
    member = ConsumerMember.stable(wire, wire.create_topic(), version=version, instance_id="one")
    fenced = ErrorCode.FENCED_INSTANCE_ID
    second = member.partner(instance_id="one")
    expect(second.try_to_beat(member_epoch=member.epoch).error_code, fenced, "heartbeat error")
    expect(second.try_to_leave().error_code, fenced, "error of leaving")
    expect(second.try_to_leave(LEAVE_FOR_A_MOMENT).error_code, fenced, "error of a short leave")
    unknown = member.try_to_beat(instance_id="two")
    expect(unknown.error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error of an unknown instance")
    member.acknowledge()
    expect(member.member_ids(), [member.member_id], "members of the group")


@case("GRP8-20", "ConsumerGroupHeartbeat", spec=SPEC, priority="P1")
def test_the_old_member_id_of_an_instance_is_fenced(wire: Wire, version: int) -> None:
    """Once an instance has come back under a new member id, the old one gets
    FENCED_INSTANCE_ID (82)."""
    old = ConsumerMember.stable(wire, wire.create_topic(), version=version, instance_id="one")
    epoch = old.epoch
    old.leave(LEAVE_FOR_A_MOMENT)
    new = old.partner(instance_id="one")
    new.join()
    expect(
        old.try_to_beat(member_epoch=epoch).error_code,
        ErrorCode.FENCED_INSTANCE_ID,
        "heartbeat error of the old member id",
    )
    new.acknowledge()
