"""SyncGroup: how the leader's assignments reach the members."""

from __future__ import annotations

from typing import Any

from conformance.case import case, expect
from conformance.clients.members import Member, beside, described, rebalanced, stable_pair
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "class GroupMetadataManager, classicGroupSync"


def unsynced_pair(wire: Wire, version: int, **fields: Any) -> list[Member]:
    """Return two members whose generation has no assignments yet; the leader first."""
    first = Member.stable(wire, versions={"SyncGroup": version}, **fields)
    other = Member.of(wire, first.group, versions={"SyncGroup": version}, **fields)
    return rebalanced(first, other)


@case("GRPC-16", "SyncGroup", spec=SPEC + "; KIP-559")
def test_the_leader_hands_out_the_assignments(wire: Wire, version: int) -> None:
    """Each member gets the assignment that the leader sent for it, and a follower that asked first
    waits for it; from version 5 the answer names the protocol."""
    leader, follower = unsynced_pair(wire, version)
    follower.ask_to_sync()
    leader.ask_to_sync({leader.member_id: b"one", follower.member_id: b"two"})
    answers = [leader.answer_to_sync(), follower.answer_to_sync()]
    expect([a.error_code for a in answers], [0, 0], "errors")
    expect([bytes(a.assignment) for a in answers], [b"one", b"two"], "assignments")
    if version >= 5:
        expect(
            [(a.protocol_type, a.protocol_name) for a in answers],
            [("consumer", "range")] * 2,
            "(protocol type, protocol)",
        )
    expect(leader.state(), "Stable", "state of the group")


@case("GRPC-16", "SyncGroup", spec=SPEC)
def test_a_member_without_assignment_gets_an_empty_one(wire: Wire, version: int) -> None:
    """A member for which the leader sent nothing gets empty bytes, and no error."""
    leader, follower = unsynced_pair(wire, version)
    follower.ask_to_sync()
    expect(leader.sync({leader.member_id: b"all"}), b"all", "assignment of the leader")
    answer = follower.answer_to_sync()
    expect(
        (answer.error_code, bytes(answer.assignment)),
        (ErrorCode.NONE, b""),
        "(error, assignment) of the other",
    )


@case("GRPC-17", "SyncGroup", spec="class GroupMetadataManager, validateSyncGroup")
def test_a_stranger_may_not_sync(wire: Wire, version: int) -> None:
    """A SyncGroup with another generation gets ILLEGAL_GENERATION (22), from an unknown member or
    to an unknown group UNKNOWN_MEMBER_ID (25); the assignments do not change."""
    member = Member.stable(wire, versions={"SyncGroup": version})
    wrong = {member.member_id: b"wrong"}
    older = member.try_to_sync(wrong, generation_id=member.generation - 1)
    newer = member.try_to_sync(wrong, generation_id=member.generation + 1)
    stranger = member.try_to_sync(wrong, member_id="never-given")
    nowhere = member.try_to_sync(wrong, group_id=beside(wire, member.group))
    expect(
        [a.error_code for a in (older, newer)],
        [ErrorCode.ILLEGAL_GENERATION] * 2,
        "errors of other generations",
    )
    expect(
        [a.error_code for a in (stranger, nowhere)],
        [ErrorCode.UNKNOWN_MEMBER_ID] * 2,
        "errors of an unknown member and an unknown group",
    )
    expect(member.sync(), b"mine", "assignment afterwards")


@case("GRPC-18", "SyncGroup", versions=(5, 5), spec="KIP-559", priority="P1")
def test_another_protocol_may_not_sync(wire: Wire, version: int) -> None:
    """A SyncGroup that names another protocol, or protocol type, than the group's gets
    INCONSISTENT_GROUP_PROTOCOL (23)."""
    member = Member.stable(wire, versions={"SyncGroup": version})
    answers = [member.try_to_sync(protocol_type="connect"), member.try_to_sync(protocol_name="x")]
    expect([a.error_code for a in answers], [ErrorCode.INCONSISTENT_GROUP_PROTOCOL] * 2, "errors")
    expect(member.sync(), b"mine", "assignment afterwards")


@case("GRPC-19", "SyncGroup", spec=SPEC)
def test_sync_during_a_rebalance_says_so(wire: Wire, version: int) -> None:
    """While members are joining, SyncGroup of the generation before gets
    REBALANCE_IN_PROGRESS (27)."""
    member = Member.stable(wire, versions={"SyncGroup": version})
    other = Member.of(wire, member.group)
    other.begin_to_join()
    member.wait_for_state("PreparingRebalance")
    expect(member.try_to_sync().error_code, ErrorCode.REBALANCE_IN_PROGRESS, "error")


@case("GRPC-20", "SyncGroup", spec=SPEC, priority="P1")
def test_a_lost_sync_answer_is_given_again(wire: Wire, version: int) -> None:
    """In a Stable group SyncGroup answers the current assignment, again and again; a late
    assignment of the leader changes nothing."""
    leader, follower = stable_pair(wire, versions={"SyncGroup": version})
    expect(follower.sync(), b"two", "assignment of the follower")
    expect(
        leader.sync({leader.member_id: b"x", follower.member_id: b"y"}),
        b"one",
        "assignment of the leader",
    )
    expect(follower.sync(), b"two", "assignment of the follower afterwards")


@case("GRPC-21", "SyncGroup", spec="class GroupMetadataManager, expirePendingSync", priority="P1")
def test_a_member_that_never_syncs_is_removed(wire: Wire, version: int) -> None:
    """A member that has joined and does not send SyncGroup within the rebalance timeout is removed,
    its Heartbeat gets UNKNOWN_MEMBER_ID (25), and that of the other one, which must join again,
    REBALANCE_IN_PROGRESS (27)."""
    leader, silent = unsynced_pair(wire, version, rebalance_timeout_ms=1000)
    leader.sync({leader.member_id: b"one", silent.member_id: b"two"})
    leader.wait_for_members(1)
    expect(leader.heartbeat(), ErrorCode.REBALANCE_IN_PROGRESS, "Heartbeat error of the other")
    expect(silent.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID, "Heartbeat error of the silent member")


@case("GRPC-37", "SyncGroup", spec="SyncGroupRequest.json, field Assignment", priority="P1")
def test_an_assignment_is_carried_untouched(wire: Wire, version: int) -> None:
    """The coordinator does not read an assignment: 100 kB of any bytes arrive as they were sent."""
    anything = bytes(range(256)) * 400
    member = Member.of(wire, versions={"SyncGroup": version})
    member.join()
    assignment = member.sync({member.member_id: anything})
    expect(assignment == anything, True, "assignment is what was sent")


@case("GRPC-16", "SyncGroup", spec="SyncGroupRequest.json, field Assignments")
def test_who_is_left_out_gets_nothing_again(wire: Wire, version: int) -> None:
    """A member to which the leader gives nothing in a new generation gets an empty assignment, not
    the one of the generation before."""
    member = Member.stable(wire, versions={"SyncGroup": version})
    member.join()
    expect(member.sync({}), b"", "assignment in the next generation")


@case("GRPC-18", "DescribeGroups", spec="class ClassicGroup, asDescribedGroup", priority="P1")
def test_before_the_assignment_a_group_has_no_protocol_to_describe(
    wire: Wire, version: int
) -> None:
    """While a group waits for the leader's assignment (CompletingRebalance), DescribeGroups returns
    no protocol, and its members without metadata and assignment."""
    member = Member.of(wire)
    member.join()
    member.wait_for_state("CompletingRebalance")
    found = described(member.observer, wire, member.group, version)
    rows = [(bytes(m.member_metadata), bytes(m.member_assignment)) for m in found.members]
    expect(
        (found.group_state, found.protocol_data, rows),
        ("CompletingRebalance", "", [(b"", b"")]),
        "(state, protocol, members)",
    )
