"""Invariants of both group protocols: consistent members, protocols, epochs and assignments."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conformance.case import expect_that
from conformance.invariants.shared import NONE, once_each, permissions, rows
from reference_impl.wire import Struct

CLASSIC_STATES = {"PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty"}
CONSUMER_STATES = {"Empty", "Assigning", "Reconciling", "Stable", "Dead"}
STATES = {state.lower() for state in CLASSIC_STATES | CONSUMER_STATES} | {"notready"}
TYPES = {"classic", "consumer", "share", "streams"}
WITHOUT_MEMBERS = {"Empty", "Dead"}
LEAVES = (-1, -2)
"""The epochs with which a member leaves for good, or for a while (KIP-848)."""


def joined(version: int, asked: Struct, answer: Struct) -> None:
    """Require a generation, a member id, and a protocol and (v7) protocol type that the member
    offered. Allow members for the leader only, each once and the leader among them with its
    group.instance.id (v5), and skip_assignment for the leader only (v9). Beside an error, require
    only that there are no members."""
    if answer.error_code != NONE:
        expect_that(not answer.members, "members beside an error", "none", len(answer.members))
        return
    expect_that(answer.generation_id >= 0, "generation", ">= 0", answer.generation_id)
    # The leader is empty where a consumer of the classic protocol joins a group of the new one.
    expect_that(bool(answer.member_id), "member id", "one", repr(answer.member_id))
    offered = [protocol.name for protocol in asked.protocols]
    expect_that(
        answer.protocol_name in offered, "protocol", f"one of {offered}", answer.protocol_name
    )
    if version >= 7:
        told = answer.protocol_type
        expect_that(told == asked.protocol_type, "protocol type", asked.protocol_type, told)
    members = {member.member_id: member for member in answer.members}
    once_each((member.member_id for member in answer.members), "members")
    leads = answer.member_id == answer.leader
    expect_that(
        leads or not members, "members in the response to a follower", "none", sorted(members)
    )
    if leads and members:
        expect_that(
            answer.member_id in members,
            "members in the response to the leader",
            f"{answer.member_id} among them",
            sorted(members),
        )
    if version >= 5 and answer.member_id in members:
        told = members[answer.member_id].group_instance_id
        expected = asked.group_instance_id
        expect_that(told == expected, "group_instance_id of the member", expected, told)
    if version >= 9:
        expect_that(
            not answer.skip_assignment or leads, "skip_assignment of a follower", False, True
        )


def synced(version: int, asked: Struct, answer: Struct) -> None:
    """Require that SyncGroup (v5 and newer) answers the protocol type and name that the member
    sent, or any if it sent none (KIP-559)."""
    if version < 5 or answer.error_code != NONE:
        return
    for name in ("protocol_type", "protocol_name"):
        expected, told = getattr(asked, name), getattr(answer, name)
        expect_that(
            told == expected if expected is not None else bool(told),
            name,
            expected if expected is not None else "one",
            told,
        )


def is_found(group: Struct, states: Collection[str]) -> bool:
    """Return whether a group was described, and require one of these states then. Require that a
    group that was not described has no members."""
    if group.error_code != NONE:
        expect_that(not group.members, "members beside an error", "none", len(group.members))
        return False
    expect_that(
        group.group_state in states,
        f"state of {group.group_id}",
        f"one of {sorted(states)}",
        group.group_state,
    )
    return True


def described(version: int, asked: Struct, answer: Struct) -> None:
    """Require a known group state, and members only in states that have members."""
    for group in answer.groups:
        if not is_found(group, CLASSIC_STATES):
            continue
        ids = [member.member_id for member in group.members]
        once_each(ids, "members")
        expect_that(all(ids), "ids of members", "not empty", ids)
        expect_that(
            not ids or group.group_state not in WITHOUT_MEMBERS,
            f"members of a group that is {group.group_state}",
            "none",
            ids,
        )
        once_each(
            (m.group_instance_id for m in group.members if m.group_instance_id is not None),
            "instances",
        )
        if version >= 3:
            permissions(
                group.authorized_operations,
                "authorized_operations",
                asked=asked.include_authorized_operations,
            )


def listed(version: int, asked: Struct, answer: Struct) -> None:
    """Require each group once, and only groups that match the filters (KIP-518, KIP-848)."""
    once_each((group.group_id for group in answer.groups), "groups")
    states = {state.lower() for state in asked.states_filter}
    types = {kind.lower() for kind in asked.types_filter}
    for group in answer.groups:
        state, kind = group.group_state.lower(), group.group_type.lower()
        if version >= 4:
            allowed = states or STATES
            expect_that(
                state in allowed,
                f"state of {group.group_id}",
                f"one of {sorted(allowed)}",
                group.group_state,
            )
        if version >= 5:
            allowed = types or TYPES
            expect_that(
                kind in allowed,
                f"type of {group.group_id}",
                f"one of {sorted(allowed)}",
                group.group_type,
            )


def committed(version: int, asked: Struct, answer: Struct) -> None:
    """Require an offset, or -1 without epoch and metadata."""
    path = "groups topics partitions" if version >= 8 else "topics partitions"
    for found in rows(answer, path):
        offset, epoch = found.committed_offset, found.committed_leader_epoch
        expect_that(
            offset >= -1 and epoch >= -1, "(offset, leader epoch)", ">= -1", (offset, epoch)
        )
        if offset == -1:
            expect_that(
                epoch == -1 and not found.metadata,
                "(epoch, metadata) without an offset",
                (-1, ""),
                (epoch, found.metadata),
            )


def heartbeat(version: int, asked: Struct, answer: Struct) -> None:
    """Require a member id, an epoch that does not decrease (of a member that leaves, its own), an
    interval above 0, and no assignment for a member that is refused."""
    if answer.error_code != NONE:
        expect_that(answer.assignment is None, "assignment beside an error", "null", "one")
        return
    expect_that(bool(answer.member_id), "member id", "one", answer.member_id)
    epoch, told = asked.member_epoch, answer.member_epoch
    if epoch in LEAVES:
        expect_that(told == epoch, "epoch of a member that leaves", epoch, told)
        return
    expect_that(told >= epoch, "member epoch", f">= {epoch}", told)
    expect_that(
        answer.heartbeat_interval_ms > 0, "heartbeat interval", "> 0", answer.heartbeat_interval_ms
    )
    if answer.assignment is not None:
        _assigned([answer.assignment], "assignment")


def _assigned(assignments: Iterable[Struct], what: str) -> None:
    """Require each partition once, and topics with an id and at least one partition."""
    for assignment in assignments:
        once_each((topic.topic_id for topic in assignment.topic_partitions), f"topics of an {what}")
        for topic in assignment.topic_partitions:
            expect_that(topic.topic_id.int != 0, f"topic id of an {what}", "one", topic.topic_id)
            valid = bool(topic.partitions) and min(topic.partitions) >= 0
            expect_that(valid, f"partitions of an {what}", "some", topic.partitions)
    once_each(
        ((t.topic_id, p) for a in assignments for t in a.topic_partitions for p in t.partitions),
        f"partitions of an {what}",
    )


def described8(version: int, asked: Struct, answer: Struct) -> None:
    """Require epochs in a valid order, an assignor, members only in states that have members, and
    no partition that two members have, or have as their target."""
    for group in answer.groups:
        if not is_found(group, CONSUMER_STATES):
            continue
        expect_that(
            0 <= group.assignment_epoch <= group.group_epoch,
            "assignment epoch",
            f"0 to the group's {group.group_epoch}",
            group.assignment_epoch,
        )
        expect_that(bool(group.assignor_name), "assignor", "one", repr(group.assignor_name))
        once_each((member.member_id for member in group.members), "members")
        expect_that(
            not group.members or group.group_state not in WITHOUT_MEMBERS,
            f"members of a group that is {group.group_state}",
            "none",
            len(group.members),
        )
        for member in group.members:
            _member(version, group, member)
        _assigned([member.assignment for member in group.members], "assignment")
        _assigned([member.target_assignment for member in group.members], "target")
        permissions(
            group.authorized_operations,
            "authorized_operations",
            asked=asked.include_authorized_operations,
        )


def _member(version: int, group: Struct, member: Struct) -> None:
    expect_that(bool(member.member_id), "id of a member", "one", member.member_id)
    epoch = member.member_epoch
    expect_that(
        -2 <= epoch <= group.group_epoch,
        f"epoch of {member.member_id}",
        f"up to the group's {group.group_epoch}",
        epoch,
    )
    for assignment in (member.assignment, member.target_assignment):
        for topic in assignment.topic_partitions:
            expect_that(
                bool(topic.topic_name), "topic of an assignment", "a name", repr(topic.topic_name)
            )
    if version >= 1:
        expect_that(
            member.member_type in (-1, 0, 1),
            f"type of {member.member_id}",
            "-1, 0 or 1",
            member.member_type,
        )
