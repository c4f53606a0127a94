"""Static members: a place in the group that outlives a restart of its holder (KIP-345)."""

from __future__ import annotations

from typing import Any

from conformance.case import case, expect, expect_that
from conformance.cases.groups.test_membership import leave
from conformance.clients.members import RANGE, Member, expect_generation, rebalanced
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "KIP-345, Static Membership"


def static_member(wire: Wire, **versions: int) -> Member:
    """Return the only member of a Stable group, with an instance id and assignment b"mine"."""
    return Member.stable(wire, instance_id="one", versions=versions)


def restarted(member: Member, **fields: Any) -> Member:
    """Return the same instance after it has forgotten its member id."""
    return Member.of(
        member.wire, member.group, instance_id="one", versions=member.versions, **fields
    )


@case("GRPC-30", "JoinGroup", versions=(5, 9), spec=SPEC + "; KIP-814")
def test_a_static_member_comes_back_without_rebalance(wire: Wire, version: int) -> None:
    """An instance that joins a Stable group again, with the same protocols and without its member
    id, gets a new member id, the same generation and the same assignment: no rebalance."""
    old = static_member(wire, JoinGroup=version)
    new = restarted(old)
    answer = new.join()
    expect_that(new.member_id not in ("", old.member_id), "member id", "a new one", new.member_id)
    expect(answer.generation_id, old.generation, "generation")
    expect(new.state(), "Stable", "state of the group")
    expect(new.sync(), b"mine", "assignment")
    expect(new.heartbeat(), ErrorCode.NONE, "Heartbeat error")


@case("GRPC-31", "Heartbeat", versions=(3, 4), spec=SPEC)
def test_the_old_member_id_of_an_instance_is_fenced(wire: Wire, version: int) -> None:
    """Once an instance has a new member id, a Heartbeat, SyncGroup or JoinGroup with the old one
    gets FENCED_INSTANCE_ID (82)."""
    old = static_member(wire, Heartbeat=version)
    new = restarted(old)
    new.join()
    fenced = ErrorCode.FENCED_INSTANCE_ID
    expect(old.heartbeat(), fenced, "Heartbeat error")
    expect(old.try_to_sync().error_code, fenced, "SyncGroup error")
    expect(old.try_to_join().error_code, fenced, "JoinGroup error")
    expect(new.heartbeat(), ErrorCode.NONE, "Heartbeat error of the new member id")


@case("GRPC-32", "LeaveGroup", versions=(3, 5), spec=SPEC, priority="P1")
def test_a_static_member_leaves_by_its_instance_id(wire: Wire, version: int) -> None:
    """LeaveGroup with an instance id and no member id removes that instance."""
    member = static_member(wire, LeaveGroup=version)
    answer = leave(member, ("", "one"))
    expect(
        (answer.error_code, [(m.group_instance_id, m.error_code) for m in answer.members]),
        (ErrorCode.NONE, [("one", 0)]),
        "(error, member errors)",
    )
    expect(member.state(), "Empty", "state of the group")


@case("GRPC-32", "LeaveGroup", versions=(3, 5), spec=SPEC, priority="P1")
def test_an_instance_that_has_left_may_join_anew(wire: Wire, version: int) -> None:
    """After an instance has left, its Heartbeat gets UNKNOWN_MEMBER_ID (25), and a process that
    joins under its name is a new member of the next generation."""
    member = static_member(wire, LeaveGroup=version)
    expect(leave(member, ("", "one")).members[0].error_code, ErrorCode.NONE, "error of leaving")
    expect(member.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID, "Heartbeat error of who has left")
    new = restarted(member)
    answer = new.join()
    expect([m.group_instance_id for m in answer.members], ["one"], "members")
    expect_that(
        answer.generation_id > member.generation,
        "generation",
        f"> {member.generation}",
        answer.generation_id,
    )
    expect(new.sync({new.member_id: b"anew"}), b"anew", "assignment")


@case("GRPC-32", "LeaveGroup", versions=(3, 5), spec=SPEC, priority="P1")
def test_an_unknown_instance_cannot_leave(wire: Wire, version: int) -> None:
    """LeaveGroup of an instance that is not in the group gets UNKNOWN_MEMBER_ID (25) for it, and
    one with a wrong member id FENCED_INSTANCE_ID (82); no member is removed."""
    member = static_member(wire, LeaveGroup=version)
    answer = leave(member, ("", "two"), ("never-given", "one"))
    errors = {m.group_instance_id: m.error_code for m in answer.members}
    expect(
        errors,
        {"two": ErrorCode.UNKNOWN_MEMBER_ID, "one": ErrorCode.FENCED_INSTANCE_ID},
        "member errors",
    )
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error of the member")


@case("GRPC-34", "JoinGroup", versions=(9, 9), spec="KIP-814", priority="P1")
def test_a_static_leader_that_comes_back_need_not_assign(wire: Wire, version: int) -> None:
    """A static leader that comes back to a Stable group is the leader under its new member id; its
    answer lists the members and says to skip the assignment."""
    new = restarted(static_member(wire, JoinGroup=version))
    answer = new.join()
    expect((answer.leader, answer.skip_assignment), (new.member_id, True), "(leader, skip)")
    expect([m.group_instance_id for m in answer.members], ["one"], "members")


@case(
    "GRPC-40",
    "JoinGroup",
    versions=(5, 9),
    spec=SPEC + "; class ClassicGroup, replaceStaticMember",
    priority="P1",
)
def test_the_waiting_request_of_a_fenced_member_is_answered(wire: Wire, version: int) -> None:
    """An instance that comes back while its former self waits for a rebalance takes its place: the
    waiting JoinGroup gets FENCED_INSTANCE_ID (82) at once, and the new one is answered when all
    have joined."""
    first = static_member(wire, JoinGroup=version)
    other, third = Member.of(wire, first.group), Member.of(wire, first.group)
    rebalanced(first, other)
    third.begin_to_join()
    first.wait_for_members(3)
    first.ask_to_join()  # and waits for the other
    new = restarted(first)
    new.ask_to_join()
    expect(first.answer_to_join().error_code, ErrorCode.FENCED_INSTANCE_ID, "JoinGroup error")
    other.ask_to_join()
    generations = {member.finish_joining().generation_id for member in (other, third, new)}
    expect(len(generations), 1, "different generations of the others")


@case("GRPC-30", "JoinGroup", versions=(5, 9), spec=SPEC)
def test_a_static_member_that_changes_the_protocol_begins_a_rebalance(
    wire: Wire, version: int
) -> None:
    """An instance that comes back to a Stable group without the group's protocol gets a later
    generation, with a protocol that it has."""
    both = [RANGE, ("roundrobin", RANGE[1])]
    old = Member.stable(wire, instance_id="one", protocols=both, versions={"JoinGroup": version})
    answer = restarted(old, protocols=[p for p in both if p[0] != old.protocol]).join()
    expect_that(answer.protocol_name != old.protocol, "protocol", "the other", old.protocol)
    expect_generation([answer.generation_id], after=old.generation)


@case("GRPC-30", "JoinGroup", versions=(5, 8), spec=SPEC + "; KAFKA-9801")
def test_a_static_leader_that_comes_back_is_not_asked_to_assign(wire: Wire, version: int) -> None:
    """Up to v8 a static leader that comes back to a Stable group is told its former member id as
    the leader's, and no members: it takes itself for a follower, and assigns nothing."""
    old = static_member(wire, JoinGroup=version)
    answer = restarted(old).join()
    expect((answer.leader, answer.members), (old.member_id, []), "(leader, members)")


@case("GRPC-34", "JoinGroup", versions=(9, 9), spec="KIP-814", priority="P1")
def test_a_static_follower_that_comes_back_has_no_assignment_to_skip(
    wire: Wire, version: int
) -> None:
    """A static follower that comes back to a Stable group is told the leader, no members, and not
    to skip an assignment."""
    leader = Member.stable(wire, versions={"JoinGroup": version})
    follower = restarted(leader)
    rebalanced(leader, follower)
    leader.ask_to_sync({leader.member_id: b"one", follower.member_id: b"two"})
    expect(follower.sync(), b"two", "assignment of the follower")
    answer = restarted(leader).join()
    expect(
        (answer.leader, answer.members, answer.skip_assignment),
        (leader.member_id, [], False),
        "(leader, members, skip)",
    )


@case("GRPC-33", "JoinGroup", versions=(5, 9), spec=SPEC, priority="P1")
def test_a_static_member_that_does_not_join_again_stays(wire: Wire, version: int) -> None:
    """A static member that does not join in a rebalance stays in the group, and is a member of the
    next generation, until its session ends."""
    absent = Member.stable(
        wire, instance_id="one", versions={"JoinGroup": version}, rebalance_timeout_ms=1_000
    )
    other = Member.of(wire, absent.group, rebalance_timeout_ms=1_000)
    other.join()
    ids = sorted(member.member_id for member in other.describe().members)
    expect(ids, sorted([absent.member_id, other.member_id]), "members")
