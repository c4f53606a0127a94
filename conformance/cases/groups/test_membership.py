"""Heartbeat and LeaveGroup: staying in a group, and getting out of it."""

from __future__ import annotations

import time
from typing import Any

from conformance.case import case, expect, expect_that
from conformance.cases.offsets.offsets import try_to_commit
from conformance.clients.members import (
    MIN_SESSION_TIMEOUT_MS,
    Member,
    beside,
    expect_generation,
    gathered,
    rebalanced,
    stable_pair,
)
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct

REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS


def leave(member: Member, *leavers: tuple[str, str | None]) -> Struct:
    """Send LeaveGroup v3+ for several members, each given by member id and instance id. Return the
    answer."""
    members = [
        part("LeaveGroup", "MemberIdentity", member_id=member_id, group_instance_id=instance)
        for member_id, instance in leavers
    ]
    return member.call("LeaveGroup", group_id=member.group, members=members)


@case("GRPC-22", "Heartbeat", spec="class GroupMetadataManager, validateClassicGroupHeartbeat")
def test_a_stranger_has_no_heartbeat(wire: Wire, version: int) -> None:
    """A Heartbeat with another generation gets ILLEGAL_GENERATION (22), from an unknown member or
    to an unknown group UNKNOWN_MEMBER_ID (25); the member's own is still accepted."""
    member = Member.stable(wire, versions={"Heartbeat": version})
    expect(
        member.heartbeat(generation_id=member.generation + 1),
        ErrorCode.ILLEGAL_GENERATION,
        "error of another generation",
    )
    expect(
        member.heartbeat(member_id="never-given"),
        ErrorCode.UNKNOWN_MEMBER_ID,
        "error of an unknown member",
    )
    expect(
        member.heartbeat(group_id=beside(wire, member.group)),
        ErrorCode.UNKNOWN_MEMBER_ID,
        "error of an unknown group",
    )
    expect(member.heartbeat(), ErrorCode.NONE, "error of the member's own")


@case(
    "GRPC-23", "Heartbeat", spec="class GroupMetadataManager, classicGroupHeartbeat", priority="P1"
)
def test_a_heartbeat_is_accepted_before_the_assignments(wire: Wire, version: int) -> None:
    """A member that waits for its assignment may send heartbeats."""
    member = Member.of(wire, versions={"Heartbeat": version})
    member.join()
    member.wait_for_state("CompletingRebalance")
    expect(member.heartbeat(), ErrorCode.NONE, "error")


@case("GRPC-24", "Heartbeat", spec="KIP-62; group.min.session.timeout.ms")
def test_a_silent_member_is_removed(wire: Wire, version: int) -> None:
    """A member without heartbeats for its session timeout is removed and its next Heartbeat gets
    UNKNOWN_MEMBER_ID (25); those of the other members get REBALANCE_IN_PROGRESS (27)."""
    fields = {"session_timeout_ms": MIN_SESSION_TIMEOUT_MS, "versions": {"Heartbeat": version}}
    leader, silent = stable_pair(wire, **fields)
    error = eventually(
        leader.heartbeat, lambda e: e != ErrorCode.NONE, "the other member is told", 30
    )
    expect(error, REBALANCING, "Heartbeat error of the other member")
    leader.join()
    expect([m.member_id for m in leader.describe().members], [leader.member_id], "members")
    expect(silent.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID, "Heartbeat error of the silent member")


@case("GRPC-24", "SyncGroup", spec="class GroupMetadataManager, classicGroupSync")
def test_to_ask_for_the_assignment_again_is_no_sign_of_life(wire: Wire) -> None:
    """A member that sends SyncGroup instead of heartbeats is removed after its session timeout:
    SyncGroup then gets UNKNOWN_MEMBER_ID (25)."""
    member = Member.stable(wire, session_timeout_ms=MIN_SESSION_TIMEOUT_MS)
    error = eventually(
        lambda: member.try_to_sync().error_code,
        lambda e: e != ErrorCode.NONE,
        "the member is removed",
        3 * MIN_SESSION_TIMEOUT_MS / 1000,
    )
    expect(error, ErrorCode.UNKNOWN_MEMBER_ID, "SyncGroup error")


@case(
    "GRPC-41",
    "OffsetCommit",
    spec="class OffsetMetadataManager, validateOffsetCommit",
    priority="P1",
)
def test_a_commit_is_a_sign_of_life(wire: Wire) -> None:
    """A member that commits offsets instead of sending heartbeats stays in its group beyond its
    session timeout."""
    topic = wire.create_topic()
    member = Member.stable(wire, session_timeout_ms=MIN_SESSION_TIMEOUT_MS)
    for _ in range(3):
        time.sleep(MIN_SESSION_TIMEOUT_MS / 2 / 1000)
        errors = try_to_commit(
            wire,
            member.group,
            topic,
            {0: 1},
            generation=member.generation,
            member_id=member.member_id,
        )
        expect(errors, {0: 0}, "commit errors")
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error afterwards")


@case(
    "GRPC-41",
    "OffsetCommit",
    spec="class OffsetMetadataManager, validateOffsetCommit",
    priority="P1",
)
def test_a_commit_in_a_rebalance_is_a_sign_of_life(wire: Wire) -> None:
    """A member that commits offsets while others wait for its JoinGroup stays in its group beyond
    its session timeout, up to its rebalance timeout."""
    topic = wire.create_topic()
    member = Member.stable(wire, session_timeout_ms=MIN_SESSION_TIMEOUT_MS)
    other = Member.of(wire, member.group)
    other.begin_to_join()
    member.wait_for_state("PreparingRebalance")
    who: dict[str, Any] = {"generation": member.generation, "member_id": member.member_id}
    for _ in range(3):
        time.sleep(MIN_SESSION_TIMEOUT_MS / 2 / 1000)
        errors = try_to_commit(wire, member.group, topic, {0: 1}, **who)
        expect(errors, {0: 0}, "commit errors")
    gathered(member, other)


@case("GRPC-25", "LeaveGroup", spec="KIP-345, LeaveGroup; class GroupMetadataManager")
def test_leaving_makes_the_others_rebalance(wire: Wire, version: int) -> None:
    """LeaveGroup answers NONE and removes the member, whose Heartbeat then gets UNKNOWN_MEMBER_ID
    (25); a Heartbeat of another member gets REBALANCE_IN_PROGRESS (27)."""
    leader, follower = stable_pair(wire, versions={"LeaveGroup": version})
    answer = follower.leave()
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect([m.error_code for m in answer.members], [0] if version >= 3 else [], "member errors")
    expect(leader.heartbeat(), REBALANCING, "Heartbeat error of the other")
    expect(follower.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID, "Heartbeat error of the leaver")


@case("GRPC-25", "LeaveGroup", spec="KIP-345, LeaveGroup; class GroupMetadataManager")
def test_the_last_one_to_leave_empties_the_group(wire: Wire, version: int) -> None:
    """When the last member has left, the group is Empty; a new member gets a later generation."""
    member = Member.stable(wire, versions={"LeaveGroup": version})
    expect(member.leave().error_code, ErrorCode.NONE, "error")
    described = member.describe()
    expect((described.group_state, len(described.members)), ("Empty", 0), "(state, members)")
    expect_generation([Member.of(wire, member.group).join().generation_id], member.generation)


@case("GRPC-25", "LeaveGroup", versions=(0, 2), spec="class GroupMetadataManager")
def test_a_stranger_cannot_leave(wire: Wire, version: int) -> None:
    """LeaveGroup of an unknown member gets UNKNOWN_MEMBER_ID (25)."""
    member = Member.stable(wire, versions={"LeaveGroup": version})
    answer = member.call("LeaveGroup", group_id=member.group, member_id="never-given")
    expect(answer.error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error")
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error of the member")


@case("GRPC-43", "LeaveGroup", spec="KIP-394; class GroupMetadataManager", priority="P1")
def test_who_was_given_an_id_may_leave_before_it_joins(wire: Wire, version: int) -> None:
    """LeaveGroup of a member that was given an id, and has not joined with it, gets no error; then
    the id gets UNKNOWN_MEMBER_ID (25). A rebalance begins, REBALANCE_IN_PROGRESS (27) for a
    Heartbeat of another member, and does not wait for the id."""
    member = Member.stable(wire)
    newcomer = Member.of(wire, member.group, versions={"LeaveGroup": version})
    newcomer.get_member_id()
    answer = newcomer.leave()
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect([m.error_code for m in answer.members], [0] if version >= 3 else [], "member errors")
    expect(member.heartbeat(), REBALANCING, "Heartbeat error of the member")
    error = newcomer.try_to_join().error_code
    expect(error, ErrorCode.UNKNOWN_MEMBER_ID, "JoinGroup error afterwards")
    expect(member.try_to_join().error_code, ErrorCode.NONE, "JoinGroup error of the member")


@case("GRPC-26", "LeaveGroup", versions=(3, 5), spec="KIP-345, LeaveGroup", priority="P1")
def test_members_leave_together_with_an_answer_each(wire: Wire, version: int) -> None:
    """If several members leave in one request, each gets its own error: an unknown one
    UNKNOWN_MEMBER_ID (25), while the others leave."""
    member = Member.stable(wire, versions={"LeaveGroup": version})
    answer = leave(member, ("never-given", None), (member.member_id, None))
    expect(answer.error_code, ErrorCode.NONE, "error of the request")
    errors = {m.member_id: m.error_code for m in answer.members}
    expect(errors, {"never-given": ErrorCode.UNKNOWN_MEMBER_ID, member.member_id: 0}, "errors")
    expect(member.state(), "Empty", "state of the group")


@case("GRPC-42", "JoinGroup", versions=(1, 9), spec="KIP-62; ClassicGroup.rebalanceTimeoutMs")
def test_a_rebalance_waits_as_long_as_its_most_patient_member(wire: Wire, version: int) -> None:
    """A rebalance gives all members the longest rebalance time-out of any of them, not the
    shortest: a member that joins late, but within it, is in the new generation."""
    versions = {"JoinGroup": version}
    first = Member.stable(wire, versions=versions, rebalance_timeout_ms=20_000)
    before = first.generation
    second = Member.of(wire, first.group, versions=versions, rebalance_timeout_ms=500)
    second.begin_to_join()
    silent = second.connection.is_silent(2.0)
    expect_that(silent, "after the shortest time-out", "silence", "an answer")
    first.ask_to_join()
    answers = [first.finish_joining(), second.finish_joining()]
    expect_generation([a.generation_id for a in answers], before)
    expect(max(len(a.members) for a in answers), 2, "members in the response to the leader")


@case("GRPC-44", "JoinGroup", spec="KIP-62; class GroupMetadataManager", priority="P2")
def test_who_joins_later_gives_the_others_no_more_time(wire: Wire) -> None:
    """The time to join runs from the begin of a rebalance: another member that joins meanwhile does
    not extend it for one that has not joined again. When it is over, that one is removed: its
    Heartbeat gets UNKNOWN_MEMBER_ID (25)."""
    fields = {"rebalance_timeout_ms": 8000, "session_timeout_ms": 30_000}
    absent = Member.stable(wire, "", **fields)
    second, third = (Member.of(wire, absent.group, **fields) for _ in range(2))
    second.begin_to_join()
    began = time.monotonic()
    expect_that(second.connection.is_silent(6.0), "before the time is over", "silence", "an answer")
    third.begin_to_join()
    second.finish_joining()
    needed_s = time.monotonic() - began
    expect_that(needed_s < 12, "seconds until the generation", "8 after its begin", needed_s)
    third.finish_joining()
    expect(absent.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID, "Heartbeat error of the absent member")


@case("GRPC-45", "LeaveGroup", versions=(3, 5), spec="class GroupMetadataManager", priority="P1")
def test_who_waits_and_is_removed_is_told(wire: Wire, version: int) -> None:
    """A member that is removed while its JoinGroup waits gets UNKNOWN_MEMBER_ID (25) for it."""
    leader, follower = stable_pair(wire, versions={"LeaveGroup": version})
    leader.ask_to_join()
    follower.wait_for_state("PreparingRebalance")
    leave(follower, (leader.member_id, None))
    error = leader.answer_to_join().error_code
    expect(error, ErrorCode.UNKNOWN_MEMBER_ID, "JoinGroup error")


@case("GRPC-45", "SyncGroup", spec="class GroupMetadataManager, prepareRebalance", priority="P1")
def test_who_waits_for_a_leader_that_leaves_is_told(wire: Wire, version: int) -> None:
    """A SyncGroup that waits for the leader's gets REBALANCE_IN_PROGRESS (27) if the leader leaves
    instead."""
    versions = {"SyncGroup": version}
    first = Member.stable(wire, versions=versions)
    leader, follower = rebalanced(first, Member.of(wire, first.group, versions=versions))
    follower.ask_to_sync()
    expect_that(follower.connection.is_silent(0.5), "before the leader's", "silence", "an answer")
    leader.leave()
    expect(follower.answer_to_sync().error_code, REBALANCING, "SyncGroup error")


@case("GRPC-24", "SyncGroup", spec="class ClassicGroupMember, hasSatisfiedHeartbeat")
def test_the_session_of_a_member_that_waits_for_its_assignment_goes_on(
    wire: Wire, version: int
) -> None:
    """A member whose SyncGroup waits for the leader's longer than its session timeout is not
    removed: it gets its assignment."""
    leader = Member.stable(wire)
    follower = Member.of(
        wire,
        leader.group,
        versions={"SyncGroup": version},
        session_timeout_ms=MIN_SESSION_TIMEOUT_MS,
    )
    rebalanced(leader, follower)
    follower.ask_to_sync()
    silent = follower.connection.is_silent(MIN_SESSION_TIMEOUT_MS / 1000 + 1)
    expect_that(silent, "before the leader's SyncGroup", "silence", "an answer")
    leader.ask_to_sync({leader.member_id: b"one", follower.member_id: b"two"})
    answer = follower.answer_to_sync()
    expect((answer.error_code, bytes(answer.assignment)), (0, b"two"), "(error, assignment)")


@case("GRPC-24", "JoinGroup", spec="class GroupMetadataManager, classicGroupJoinNewMember")
def test_a_new_member_may_wait_longer_than_its_session_timeout(wire: Wire, version: int) -> None:
    """A new member whose JoinGroup waits for the others longer than its session timeout is not
    removed: it is in the next generation."""
    leader = Member.stable(wire)
    new = Member.of(
        wire,
        leader.group,
        versions={"JoinGroup": version},
        session_timeout_ms=MIN_SESSION_TIMEOUT_MS,
    )
    new.begin_to_join()
    silent = new.connection.is_silent(MIN_SESSION_TIMEOUT_MS / 1000 + 1)
    expect_that(silent, "before the leader's JoinGroup", "silence", "an answer")
    leader.ask_to_join()
    answers = [leader.finish_joining(), new.finish_joining()]
    expect_generation([answer.generation_id for answer in answers])
    members = sorted(row.member_id for answer in answers for row in answer.members)
    expect(members, sorted([leader.member_id, new.member_id]), "members told to the leader")
