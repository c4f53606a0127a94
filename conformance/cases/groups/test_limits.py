"""Limits that the configuration of the broker and of static members sets."""

from __future__ import annotations

import time

from conformance.case import case, expect, expect_that
from conformance.cases.groups.test_static_members import restarted
from conformance.clients.members import (
    MIN_SESSION_TIMEOUT_MS,
    Member,
    expect_generation,
    rebalanced,
    stable_pair,
)
from conformance.target.variants import STRICT
from conformance.wire import Wire, eventually
from reference_impl.wire import ErrorCode

DELAY_S = int(STRICT["group.initial.rebalance.delay.ms"]) / 1000
LONG_MS = 60_000
"""A time out far beyond MIN_SESSION_TIMEOUT_MS, and beyond the patience of `eventually`."""
SLACK_S = 0.3  # between a request's arrival there and its reading of the clock here


@case("GRPC-11", "JoinGroup", spec="KIP-389; group.max.size", priority="P1", config=STRICT)
def test_a_full_group_takes_no_more(wire: Wire, version: int) -> None:
    """Beyond group.max.size a new member gets GROUP_MAX_SIZE_REACHED (81) and is not admitted; the
    existing members go on."""
    first = Member.of(wire, versions={"JoinGroup": version})
    others = [Member.of(wire, first.group, versions={"JoinGroup": version}) for _ in range(2)]
    for member in (first, others[0]):  # both in the delay before the first generation
        member.begin_to_join()
    first.wait_for_members(2)
    expect(
        others[1].try_to_join().error_code,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        "JoinGroup error of the third",
    )
    for member in (first, others[0]):
        member.finish_joining()
    expect(len(first.describe().members), 2, "members of the group")
    expect(first.heartbeat(), ErrorCode.NONE, "Heartbeat error of the first")


@case("GRPC-11", "JoinGroup", spec="KIP-389; group.max.size", priority="P1", config=STRICT)
def test_in_a_rebalance_those_count_that_have_joined(wire: Wire, version: int) -> None:
    """While a full group rebalances, a new member takes the place of one that has not joined yet,
    which then gets GROUP_MAX_SIZE_REACHED (81)."""
    versions = {"JoinGroup": version}
    leader, follower = stable_pair(wire, versions=versions)
    third = Member.of(wire, leader.group, versions=versions)
    leader.ask_to_join()
    leader.wait_for_state("PreparingRebalance")
    third.begin_to_join()
    leader.wait_for_members(3)
    code = follower.try_to_join().error_code
    expect(code, ErrorCode.GROUP_MAX_SIZE_REACHED, "JoinGroup error of the late one")
    leader.wait_for_members(2)


@case("GRPC-15", "JoinGroup", spec="KIP-134", priority="P1", config=STRICT)
def test_an_empty_group_waits_for_more_members(wire: Wire, version: int) -> None:
    """The first generation of an empty group begins group.initial.rebalance.delay.ms after the
    first JoinGroup, and as long again if another member joins meanwhile. It includes every member
    that has joined by then."""
    first = Member.of(wire, versions={"JoinGroup": version})
    second = Member.of(wire, first.group, versions={"JoinGroup": version})
    begun = time.monotonic()
    first.begin_to_join()
    second.begin_to_join()
    answers = [first.finish_joining()]
    took = time.monotonic() - begun
    expect_that(
        took >= 2 * DELAY_S - SLACK_S,
        "time to the first generation",
        f"{2 * DELAY_S} s or more",
        f"{took:.2f} s",
    )
    answers.append(second.finish_joining())
    expect_generation([a.generation_id for a in answers])
    first.wait_for_members(2)


@case("GRPC-33", "JoinGroup", versions=(5, 9), spec="KIP-345, Static Membership", priority="P1")
def test_a_static_member_may_be_away_for_its_session_timeout(wire: Wire, version: int) -> None:
    """A static member that goes away says nothing: the others' Heartbeat gets REBALANCE_IN_PROGRESS
    (27) after its session timeout, and not before."""
    versions = {"JoinGroup": version}
    first = Member.stable(wire, instance_id="one", versions=versions)
    away = Member.of(
        wire,
        first.group,
        instance_id="two",
        versions=versions,
        session_timeout_ms=MIN_SESSION_TIMEOUT_MS,
    )
    members = rebalanced(first, away)
    members[0].ask_to_sync({member.member_id: b"a part" for member in members})
    members[1].sync()
    members[0].answer_to_sync()
    gone = time.monotonic()  # the session begins again before the answer is read here
    expect(away.heartbeat(), ErrorCode.NONE, "Heartbeat error of the one that goes away")
    away.connection.close()
    error = eventually(first.heartbeat, lambda e: e != ErrorCode.NONE, "the other is told", 30)
    took = time.monotonic() - gone
    expect(error, ErrorCode.REBALANCE_IN_PROGRESS, "Heartbeat error of the other")
    expect_that(
        took >= MIN_SESSION_TIMEOUT_MS / 1000 - SLACK_S,
        "time until the rebalance",
        f"{MIN_SESSION_TIMEOUT_MS} ms or more",
        f"{took:.2f} s",
    )


@case(
    "GRPC-33",
    "JoinGroup",
    versions=(5, 9),
    spec="KIP-345; class GroupMetadataManager, updateStaticMemberThenRebalanceOrCompleteJoin",
    priority="P1",
)
def test_an_instance_that_came_back_and_fell_silent_is_removed(wire: Wire, version: int) -> None:
    """An instance that has joined again, and then sends neither SyncGroup nor Heartbeat, is removed
    after its session timeout: its partitions go to others."""
    old = Member.stable(
        wire,
        instance_id="one",
        versions={"JoinGroup": version},
        session_timeout_ms=MIN_SESSION_TIMEOUT_MS,
    )
    restarted(old, session_timeout_ms=MIN_SESSION_TIMEOUT_MS).join()
    old.wait_for_members(0)


@case(
    "GRPC-06",
    "JoinGroup",
    versions=(4, 9),
    spec="KIP-394; class GroupMetadataManager, expirePendingMember",
)
def test_who_was_given_an_id_is_awaited_for_its_session_timeout(wire: Wire, version: int) -> None:
    """A member that was given its id and never joins with it holds up a generation for its session
    timeout at most, however long the rebalance timeout of the others is."""
    versions = {"JoinGroup": version}
    first = Member.stable(wire, versions=versions, rebalance_timeout_ms=LONG_MS)
    lost = Member.of(
        wire, first.group, versions=versions, session_timeout_ms=MIN_SESSION_TIMEOUT_MS
    )
    lost.get_member_id()
    asked = time.monotonic()
    answer = first.join()
    took = time.monotonic() - asked
    expect(len(answer.members), 1, "members told to the leader")
    latest_s = LONG_MS / 1000 * 0.9
    expect_that(took < latest_s, "time to the generation", f"< {latest_s:g} s", f"{took:.2f} s")


@case(
    "GRPC-28",
    "JoinGroup",
    spec="class GroupMetadataManager, updateMemberThenRebalanceOrCompleteJoin",
    priority="P1",
)
def test_the_newest_session_timeout_counts(wire: Wire, version: int) -> None:
    """A member that joins again with a shorter session timeout is removed after that one."""
    member = Member.stable(wire, versions={"JoinGroup": version}, session_timeout_ms=LONG_MS)
    member.session_timeout_ms = MIN_SESSION_TIMEOUT_MS
    member.join()
    member.sync({member.member_id: b"mine"})
    member.wait_for_members(0)
