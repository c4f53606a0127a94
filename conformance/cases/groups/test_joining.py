"""JoinGroup: how a member gets into a generation."""

from __future__ import annotations

import select

import pytest

from conformance.case import Unsupported, case, expect, expect_that
from conformance.clients.members import (
    RANGE,
    Member,
    expect_generation,
    group_connection,
    rebalanced,
    stable_pair,
    subscription,
)
from conformance.connection import Connection
from conformance.target.settings import session_timeouts_ms
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

STICKY, ROUND_ROBIN = ("sticky", subscription()), ("roundrobin", subscription())
SECOND = subscription(user_data=b"second")
REFUSALS = "class GroupMetadataManager, classicGroupJoin; JoinGroupRequest.json"
PROTOCOLS = "class ClassicGroup, supportsProtocols and selectProtocol"
REBALANCE = "KIP-62, Rebalance Timeout; class GroupMetadataManager"


def refused(wire: Wire, version: int, code: ErrorCode, **changed: object) -> None:
    """Require that a JoinGroup gets this error and makes no member."""
    member = Member.of(wire, versions={"JoinGroup": version})
    expect(member.try_to_join(**changed).error_code, code, "JoinGroup error")
    # Apache Kafka 4.3.1 may keep the group, without members, as Empty: nothing forbids that.
    expect(len(member.describe().members), 0, "members of the group")


def has_answer(connection: Connection) -> bool:
    """Return whether something can be read from a connection within a moment."""
    return bool(select.select([connection.socket], [], [], 0.2)[0])


@case("GRPC-04", "JoinGroup", versions=(4, 9), spec="KIP-394")
def test_a_member_gets_its_id_before_it_joins(wire: Wire, version: int) -> None:
    """A first JoinGroup with an empty member id gets MEMBER_ID_REQUIRED (79) and an id; a second
    one with that id joins."""
    member = Member.of(wire, versions={"JoinGroup": version})
    first = member.try_to_join()
    expect(first.error_code, ErrorCode.MEMBER_ID_REQUIRED, "error of the first JoinGroup")
    expect_that(first.member_id != "", "member id", "not empty", first.member_id)
    expect(first.generation_id, -1, "generation of the first answer")
    second = member.try_to_join()
    expect(
        (second.error_code, second.member_id),
        (ErrorCode.NONE, first.member_id),
        "(error, member id) of the second JoinGroup",
    )


@case("GRPC-05", "JoinGroup", versions=(0, 3), spec="KIP-394")
def test_an_old_client_joins_without_an_id(wire: Wire, version: int) -> None:
    """Before version 4 a JoinGroup with an empty member id joins at once, and is given an id."""
    answer = Member.of(wire, versions={"JoinGroup": version}).try_to_join()
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect_generation([answer.generation_id])
    expect_that(answer.member_id != "", "member id", "not empty", answer.member_id)


@case("GRPC-06", "JoinGroup", spec="JoinGroupResponse.json; KIP-62")
def test_a_lone_member_leads_the_first_generation(wire: Wire, version: int) -> None:
    """The first member of a group leads a generation, sees itself with its metadata in the list of
    members, gets back the assignment it gave itself, and its Heartbeat is accepted."""
    member = Member.of(wire, versions={"JoinGroup": version})
    answer = member.join()
    expect_generation([answer.generation_id])
    expect(answer.leader, answer.member_id, "leader")
    expect(answer.protocol_name, "range", "protocol")
    expect(
        [(m.member_id, bytes(m.metadata)) for m in answer.members],
        [(answer.member_id, RANGE[1])],
        "members",
    )
    expect(member.sync({member.member_id: b"mine"}), b"mine", "assignment")
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error")


@case("GRPC-06", "JoinGroup", spec="JoinGroupResponse.json, field Members")
def test_only_the_leader_is_told_the_members(wire: Wire, version: int) -> None:
    """Of two members the leader alone gets the list of both; the other one's list is empty."""
    versions = {"JoinGroup": version}
    first = Member.stable(wire, versions=versions)
    second = Member.of(wire, first.group, versions=versions, protocols=[("range", SECOND)])
    second.begin_to_join()
    first.wait_for_members(2)
    first.ask_to_join()
    answers = [first.finish_joining(), second.finish_joining()]
    told = {a.member_id: {m.member_id: bytes(m.metadata) for m in a.members} for a in answers}
    both = {first.member_id: RANGE[1], second.member_id: SECOND}
    leader = answers[0].leader
    expect(told.pop(leader), both, "members in the response to the leader")
    expect(list(told.values()), [{}], "members in the response to the other")


@case("GRPC-06", "JoinGroup", versions=(4, 9), spec="KIP-394; ClassicGroup.hasAllMembersJoined")
def test_a_generation_waits_for_who_was_given_an_id(wire: Wire, version: int) -> None:
    """The coordinator waits for a member that was given its id and has not joined with it yet: a
    leader that joins again is answered only when that member has joined, in the same generation."""
    versions = {"JoinGroup": version}
    first = Member.stable(wire, versions=versions)
    second = Member.of(wire, first.group, versions=versions)
    second.get_member_id()
    first.ask_to_join()
    silent = first.connection.is_silent(0.7)
    expect_that(silent, "while the other has only its id", "silence", "an answer")
    second.ask_to_join()
    answers = [first.finish_joining(), second.finish_joining()]
    expect([a.error_code for a in answers], [0, 0], "errors")
    expect(answers[0].generation_id, answers[1].generation_id, "generation of both")
    expect(max(len(a.members) for a in answers), 2, "members in the response to the leader")


@case("GRPC-07", "JoinGroup", spec=REFUSALS)
def test_an_empty_group_id_is_refused(wire: Wire, version: int) -> None:
    """A JoinGroup without group id gets INVALID_GROUP_ID (24)."""
    refused(wire, version, ErrorCode.INVALID_GROUP_ID, group_id="")


@pytest.mark.parametrize("side", ["short", "long"])
@case("GRPC-08", "JoinGroup", spec="group.min.session.timeout.ms, group.max.session.timeout.ms")
def test_a_session_timeout_out_of_range_is_refused(wire: Wire, version: int, side: str) -> None:
    """A session timeout outside the broker's range gets INVALID_SESSION_TIMEOUT (26)."""
    shortest, longest = session_timeouts_ms(wire)
    timeout_ms = shortest - 1 if side == "short" else longest + 1
    if timeout_ms not in range(-(2**31), 2**31):
        raise Unsupported(f"the broker allows session time-outs from {shortest} to {longest} ms")
    refused(wire, version, ErrorCode.INVALID_SESSION_TIMEOUT, session_timeout_ms=timeout_ms)


@case("GRPC-08", "JoinGroup", spec="group.min.session.timeout.ms, group.max.session.timeout.ms")
def test_the_shortest_and_the_longest_session_timeout_are_allowed(wire: Wire, version: int) -> None:
    """A session timeout that equals one of the broker's bounds is allowed."""
    for timeout_ms in session_timeouts_ms(wire):
        member = Member.of(wire, session_timeout_ms=timeout_ms, versions={"JoinGroup": version})
        member.join()


@case("GRPC-09", "JoinGroup", spec=REFUSALS)
def test_a_member_id_never_given_is_refused(wire: Wire, version: int) -> None:
    """A member id that the coordinator never gave gets UNKNOWN_MEMBER_ID (25), in a new group as
    in one that has members."""
    refused(wire, version, ErrorCode.UNKNOWN_MEMBER_ID, member_id="never-given")
    member = Member.stable(wire)
    stranger = Member.of(wire, member.group, versions={"JoinGroup": version})
    answer = stranger.try_to_join(member_id="never-given")
    expect(answer.error_code, ErrorCode.UNKNOWN_MEMBER_ID, "error in a group with members")
    expect(member.state(), "Stable", "state of the group")


@pytest.mark.parametrize(
    "changed", [{"protocols": []}, {"protocol_type": ""}], ids=["no-protocol", "no-type"]
)
@case("GRPC-10", "JoinGroup", spec=PROTOCOLS)
def test_a_member_without_protocol_is_refused(
    wire: Wire, version: int, changed: dict[str, object]
) -> None:
    """A first member without protocols, or without protocol type, gets
    INCONSISTENT_GROUP_PROTOCOL (23)."""
    refused(wire, version, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, **changed)


@pytest.mark.parametrize(
    "changed",
    [{"protocol_type": "connect"}, {"protocols": [STICKY]}, {"protocols": []}],
    ids=["other-type", "no-common-protocol", "no-protocol"],
)
@case("GRPC-10", "JoinGroup", spec=PROTOCOLS)
def test_a_member_that_shares_no_protocol_is_refused(
    wire: Wire, version: int, changed: dict[str, object]
) -> None:
    """A member of another protocol type, or without a protocol that all others have, gets
    INCONSISTENT_GROUP_PROTOCOL (23); the group is not disturbed."""
    member = Member.stable(wire)
    stranger = Member.of(wire, member.group, versions={"JoinGroup": version})
    answer = stranger.try_to_join(**changed)
    expect(answer.error_code, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "error")
    expect(member.state(), "Stable", "state of the group")
    expect(member.heartbeat(), ErrorCode.NONE, "Heartbeat error of the member")


@case("GRPC-12", "JoinGroup", spec=REBALANCE)
def test_a_second_member_makes_the_group_rebalance(wire: Wire, version: int) -> None:
    """A second member's JoinGroup waits and makes the first one's Heartbeat answer
    REBALANCE_IN_PROGRESS (27); once the first joins again, both are in a later generation with
    the same leader and protocol."""
    versions = {"JoinGroup": version}
    first = Member.stable(wire, versions=versions)
    before = first.generation
    leader, follower = rebalanced(first, Member.of(wire, first.group, versions=versions))
    expect_generation([leader.generation, follower.generation], before)
    expect(leader.member_id != follower.member_id, True, "ids differ")
    first.wait_for_state("CompletingRebalance")


@case("GRPC-13", "JoinGroup", spec=PROTOCOLS, priority="P1")
def test_the_protocol_is_voted(wire: Wire, version: int) -> None:
    """Each member votes for the first of its protocols that all have; the most votes win."""
    versions = {"JoinGroup": version}
    first = Member.stable(wire, versions=versions, protocols=[RANGE, STICKY])
    others = [
        Member.of(wire, first.group, versions=versions, protocols=[ROUND_ROBIN, STICKY, RANGE])
        for _ in range(2)
    ]
    members = rebalanced(first, *others)
    # roundrobin is not common; sticky has two votes of three.
    expect([member.protocol for member in members], ["sticky"] * 3, "protocols")


@case("GRPC-14", "JoinGroup", versions=(1, 9), spec=REBALANCE)
def test_a_late_member_is_left_behind(wire: Wire, version: int) -> None:
    """A rebalance does not wait longer than the rebalance timeout: a member that has not joined
    again by then is no longer in the group, and its Heartbeat gets UNKNOWN_MEMBER_ID (25)."""
    # Long enough for a target whose answers may take a second.
    fields = {"versions": {"JoinGroup": version}, "rebalance_timeout_ms": 2500}
    leader, late = stable_pair(wire, **fields)
    before = leader.generation
    third = Member.of(wire, leader.group, **fields)
    third.begin_to_join()
    leader.wait_for_members(3)
    leader.ask_to_join()
    answers = [leader.finish_joining(), third.finish_joining()]
    expect_generation([answer.generation_id for answer in answers], before)
    told = sorted(m.member_id for answer in answers for m in answer.members)
    expect(told, sorted([leader.member_id, third.member_id]), "members of the new generation")
    expect(late.heartbeat(), ErrorCode.UNKNOWN_MEMBER_ID, "Heartbeat error of the late member")


@case(
    "GRPC-27",
    "JoinGroup",
    spec="GroupMetadataManager.classicGroupJoinExistingMember",
    priority="P1",
)
def test_an_unchanged_follower_joins_again_without_rebalance(wire: Wire, version: int) -> None:
    """In a Stable group a follower that joins again with the same metadata gets the current
    generation at once, and no other member must rejoin."""
    leader, follower = stable_pair(wire, versions={"JoinGroup": version})
    answer = follower.try_to_join()
    expect(
        (answer.error_code, answer.generation_id, answer.leader),
        (ErrorCode.NONE, follower.generation, leader.member_id),
        "(error, generation, leader)",
    )
    expect(leader.heartbeat(), ErrorCode.NONE, "Heartbeat error of the leader")
    expect(leader.state(), "Stable", "state of the group")


@case(
    "GRPC-27",
    "JoinGroup",
    spec="GroupMetadataManager.classicGroupJoinExistingMember",
    priority="P1",
)
def test_the_leader_joins_again_to_rebalance(wire: Wire, version: int) -> None:
    """In a Stable group the leader's JoinGroup begins a rebalance, even with unchanged metadata:
    the others' Heartbeat gets REBALANCE_IN_PROGRESS (27), and all get a later generation."""
    leader, follower = stable_pair(wire, versions={"JoinGroup": version})
    before = leader.generation
    leader.ask_to_join()
    leader.wait_for_state("PreparingRebalance")
    expect(follower.heartbeat(), ErrorCode.REBALANCE_IN_PROGRESS, "Heartbeat error")
    follower.ask_to_join()
    expect_generation([m.finish_joining().generation_id for m in (leader, follower)], before)


@case(
    "GRPC-28",
    "JoinGroup",
    spec="GroupMetadataManager.classicGroupJoinExistingMember",
    priority="P1",
)
def test_changed_metadata_of_a_follower_begins_a_rebalance(wire: Wire, version: int) -> None:
    """A follower that joins again with other metadata begins a rebalance: the leader's Heartbeat
    gets REBALANCE_IN_PROGRESS (27), and the leader receives the new metadata."""
    leader, follower = stable_pair(wire, versions={"JoinGroup": version})
    follower.protocols = [("range", SECOND)]
    follower.ask_to_join()
    leader.wait_for_state("PreparingRebalance")
    expect(leader.heartbeat(), ErrorCode.REBALANCE_IN_PROGRESS, "Heartbeat error of the leader")
    leader.ask_to_join()
    answer = leader.finish_joining()
    follower.finish_joining()
    told = {m.member_id: bytes(m.metadata) for m in answer.members}
    expect(told.get(follower.member_id), SECOND, "metadata told to the leader")


@case(
    "GRPC-29",
    "JoinGroup",
    spec="GroupMetadataManager.classicGroupJoinExistingMember",
    priority="P1",
)
def test_a_lost_join_answer_is_given_again(wire: Wire, version: int) -> None:
    """Before the assignments are there, a member that sends the same JoinGroup again is given the
    same generation again, and as the leader the same members."""
    member = Member.of(wire, versions={"JoinGroup": version})
    first = member.join()
    again = member.try_to_join()
    fields = ("error_code", "generation_id", "leader", "protocol_name", "member_id")
    expect([getattr(again, f) for f in fields], [getattr(first, f) for f in fields], "answer")
    expect([m.member_id for m in again.members], [member.member_id], "members")
    expect(member.sync({member.member_id: b"mine"}), b"mine", "assignment")


@case("GRPC-46", "JoinGroup", spec="class ClassicGroup, updateMember", priority="P2")
def test_of_two_waiting_join_requests_the_newer_is_answered(wire: Wire, version: int) -> None:
    """If a member whose JoinGroup waits for the generation sends another one, over another
    connection, the newer one gets the generation; the older one gets REBALANCE_IN_PROGRESS (27)
    or no answer."""
    # Apache Kafka 4.3.1 forgets the older one, which is never answered (README).
    leader, follower = stable_pair(wire, versions={"JoinGroup": version})
    leader.ask_to_join()
    leader.wait_for_state("PreparingRebalance")
    older, leader.connection = leader.connection, group_connection(wire, leader.group)
    leader.ask_to_join()
    expect_that(leader.connection.is_silent(0.7), "before the follower", "silence", "an answer")
    follower.ask_to_join()
    answers = [leader.finish_joining(), follower.finish_joining()]
    expect_generation([answer.generation_id for answer in answers])
    if has_answer(older):
        _, answer = older.receive("JoinGroup", version)
        expect(answer.error_code, ErrorCode.REBALANCE_IN_PROGRESS, "error of the older one")


@case("GRPC-35", "JoinGroup", versions=(8, 9), spec="KIP-800", priority="P1")
def test_a_reason_is_accepted(wire: Wire, version: int) -> None:
    """A member may say why it joins; it changes nothing."""
    member = Member.of(wire, versions={"JoinGroup": version})
    member.get_member_id()
    answer = member.try_to_join(reason="r" * 255)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect_generation([answer.generation_id])


@case("GRPC-36", "JoinGroup", spec="KIP-429; JoinGroupRequest.json, field Metadata", priority="P1")
def test_metadata_is_carried_untouched(wire: Wire, version: int) -> None:
    """The coordinator does not read a protocol's metadata: any bytes, 100 kB of them too, reach
    the leader as they were sent."""
    anything = bytes(range(256)) * 400
    # Not as "consumer": of that type Apache Kafka 4.3.1 does read the metadata (ClassicGroup).
    member = Member.of(
        wire, versions={"JoinGroup": version}, protocols=[("any", anything)], protocol_type="other"
    )
    answer = member.join()
    expect(bytes(answer.members[0].metadata) == anything, True, "metadata is what was sent")
