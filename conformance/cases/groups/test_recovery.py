"""Groups of both protocols after the death of their coordinator."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.groups8.test_reconciliation import asked_to_revoke
from conformance.clients.consumer_members import ConsumerMember, settle, settled_pair
from conformance.clients.members import Member, group_connection
from conformance.target.examination import Examined
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "class GroupMetadataManager, replay and onLoaded"


@case("GRPC-38", "Heartbeat", spec=SPEC, priority="P2", requires=["restart"])
def test_a_generation_outlives_its_coordinator(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After kill -9 and restart a Stable group is unchanged: the member's Heartbeat is accepted in
    the same generation, and SyncGroup returns the same assignment."""
    member = Member.stable(wire, versions={"Heartbeat": version})
    examined.kill_and_restart()
    wire.forget_connections()
    member.connection = group_connection(wire, member.group)
    member.observer = group_connection(wire, member.group)
    member.wait_for_state("Stable")
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error")
    expect(member.sync(), b"mine", "assignment")


@case("GRPC-38", "ConsumerGroupHeartbeat", spec=SPEC, priority="P2", requires=["restart"])
def test_an_epoch_outlives_its_coordinator(wire: Wire, version: int, examined: Examined) -> None:
    """After kill -9 and restart the members of a consumer group (KIP-848) keep their epoch and
    their partitions, and a third member that joins then is assigned its share."""
    first, second = settled_pair(wire, wire.create_topic(6), version=version)
    epoch = first.epoch
    examined.kill_and_restart()
    wire.forget_connections()
    for member in (first, second):
        member.connection = group_connection(wire, member.group)
        answer = member.acknowledge()
        expect((answer.member_epoch, answer.assignment), (epoch, None), "(epoch, new assignment)")
    third = first.partner()
    third.join()
    settle(first, second, third)
    expect([len(m.owned) for m in (first, second, third)], [2, 2, 2], "partitions of each")


@case("GRPC-38", "ConsumerGroupHeartbeat", spec=SPEC, priority="P2", requires=["restart"])
def test_a_revocation_outlives_its_coordinator(
    wire: Wire, version: int, examined: Examined
) -> None:
    """A partition whose revocation was not acknowledged before kill -9 and restart is still
    assigned to no other member after it."""
    first = ConsumerMember.stable(wire, wire.create_topic(2), version=version)
    second = first.partner()
    asked_to_revoke(first, second)
    examined.kill_and_restart()
    wire.forget_connections()
    for member in (first, second):
        member.connection = group_connection(wire, member.group)
    for _ in range(3):
        first.beat()
        answer = second.acknowledge()
        expect(second.owned, [], f"partitions of the second in epoch {answer.member_epoch}")
    settle(first, second)
    expect([len(first.owned), len(second.owned)], [1, 1], "partitions of each")
