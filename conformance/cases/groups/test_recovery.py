"""Groups of both protocols after the death of their coordinator."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.cases.groups.test_static_members import restarted
from conformance.cases.groups8.test_reconciliation import asked_to_revoke
from conformance.clients.consumer_members import ConsumerMember, settle, settled_pair
from conformance.clients.members import MIN_SESSION_TIMEOUT_MS, Member, group_connection
from conformance.target.examination import Examined
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

SPEC = "class GroupMetadataManager, replay and onLoaded"


def kill_and_restart(examined: Examined, member: Member) -> None:
    """Kill the broker and start it again; return once it has loaded the member's group, with new
    connections of the member."""
    examined.kill_and_restart()
    member.wire.forget_connections()
    member.connection = group_connection(member.wire, member.group)
    member.observer = group_connection(member.wire, member.group)
    member.wait_for_state("Stable")


@case("GRPC-38", "Heartbeat", spec=SPEC, priority="P2", requires=["restart"])
def test_a_generation_outlives_its_coordinator(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After kill -9 and restart a Stable group is unchanged: it is described as before, the
    member's Heartbeat is accepted in the same generation, and SyncGroup returns the same
    assignment."""
    member = Member.stable(wire, versions={"Heartbeat": version}, instance_id="one")
    before = member.describe()
    kill_and_restart(examined, member)
    expect(member.describe(), before, "description of the group")
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error")
    expect(member.sync(), b"mine", "assignment")


@case(
    "GRPC-38",
    "JoinGroup",
    versions=(5, 9),
    spec="GroupMetadataValue.json, GroupInstanceId; KIP-345",
    priority="P2",
    requires=["restart"],
)
def test_an_instance_outlives_its_coordinator(wire: Wire, version: int, examined: Examined) -> None:
    """After kill -9 and restart an instance that joins again without its member id gets the same
    generation and the same assignment, and its former member id gets FENCED_INSTANCE_ID (82)."""
    old = Member.stable(wire, instance_id="one", versions={"JoinGroup": version})
    kill_and_restart(examined, old)
    new = restarted(old)
    expect(new.join().generation_id, old.generation, "generation")
    expect(new.sync(), b"mine", "assignment")
    expect(old.heartbeat(), ErrorCode.FENCED_INSTANCE_ID, "Heartbeat error of the former id")


@case(
    "GRPC-38",
    "JoinGroup",
    versions=(1, 9),
    spec="GroupMetadataValue.json, RebalanceTimeout; KIP-62",
    priority="P2",
    requires=["restart"],
)
def test_the_rebalance_time_out_of_a_member_outlives_its_coordinator(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After kill -9 and restart a rebalance still waits for a member as long as its rebalance
    time-out, which is longer than its session time-out: while it sends heartbeats, which get
    REBALANCE_IN_PROGRESS (27), the JoinGroup of another member is not answered before it has
    joined."""
    versions = {"JoinGroup": version}
    patient = Member.stable(wire, versions=versions, session_timeout_ms=MIN_SESSION_TIMEOUT_MS)
    kill_and_restart(examined, patient)
    hasty = Member.of(wire, patient.group, versions=versions, rebalance_timeout_ms=500)
    hasty.begin_to_join()
    half_s = MIN_SESSION_TIMEOUT_MS / 2 / 1000
    for _ in range(3):
        silent = hasty.connection.is_silent(half_s)
        expect_that(silent, "before the rebalance time-out", "silence", "an answer")
        expect(patient.heartbeat(), ErrorCode.REBALANCE_IN_PROGRESS, "Heartbeat error")
    patient.ask_to_join()
    answers = [patient.finish_joining(), hasty.finish_joining()]
    expect(max(len(each.members) for each in answers), 2, "members told to the leader")


@case(
    "GRPC-38",
    "JoinGroup",
    spec="GroupMetadataValue.json, SessionTimeout; KIP-62",
    priority="P2",
    requires=["restart"],
)
def test_the_session_time_out_of_a_member_outlives_its_coordinator(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After kill -9 and restart a member that sends no heartbeat is removed after its session
    time-out, not after its rebalance time-out."""
    member = Member.stable(
        wire,
        versions={"JoinGroup": version},
        session_timeout_ms=MIN_SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=20 * MIN_SESSION_TIMEOUT_MS,
    )
    kill_and_restart(examined, member)
    member.wait_for_members(0)


@case("GRPC-38", "ConsumerGroupHeartbeat", spec=SPEC, priority="P2", requires=["restart"])
def test_a_consumer_group_is_described_as_before_its_coordinator_died(
    wire: Wire, version: int, examined: Examined
) -> None:
    """After kill -9 and restart a consumer group (KIP-848) is described as before: epochs,
    assignor, and each member's instance id, rack, subscription and partitions."""
    topic = wire.create_topic(2)
    member = ConsumerMember.of(
        wire, topic, version=version, instance_id="one", assignor="range", rebalance_timeout_ms=1000
    )
    member.join(rack_id="a rack")
    settle(member)
    before = member.describe()
    examined.kill_and_restart()
    wire.forget_connections()
    member.connection = group_connection(wire, member.group)
    if len(wire.brokers()) > 1:  # OFFS-17 says why
        eventually(member.described, lambda found: found == before, "it is described as before")
    expect(member.describe(), before, "description of the group")


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
