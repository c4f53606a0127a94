"""Decide who may join a classic group, and under which member id. Source: GroupMetadataManager.java
(classicGroupJoinNewMember, classicGroupJoinExistingMember,
updateStaticMemberThenRebalanceOrCompleteJoin); KIP-345, KIP-389 (group.max.size), KIP-394 (member
id required), KIP-814 (skip_assignment)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reference_impl.core.effects import Effect
from reference_impl.core.events import Request
from reference_impl.core.groups.classic import answers, rebalance, timers
from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.core.groups.classic.join_requests import (
    needs_member_id,
    protocols_of,
    rebalance_timeout_of,
)
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.consumer.migration import classic_members
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.wire import STRING_BYTES_MAX, ErrorCode, fitting

SKIP_ASSIGNMENT_SINCE = 9
NO_MEMBER_ID = ""
"""The member id in a consumer group's refusal to join; a classic group repeats the request's."""


def join(coordinator: GroupCoordinator, request: Request) -> Iterator[Effect]:
    """Handle a JoinGroup: answer it, or store it until the next generation begins. Raise Refused,
    and leave no empty group behind, if the member may not join a classic group. A refusal by a
    consumer group is answered here."""
    try:
        yield from _join(coordinator, request)
    except Refused:
        coordinator.forget_if_unused(request.body.group_id)
        raise


def _join(coordinator: GroupCoordinator, request: Request) -> Iterator[Effect]:
    body = request.body
    known = coordinator.group(body.group_id)
    if isinstance(known, ConsumerGroup) and known.members:
        try:
            yield from classic_members.join(coordinator, known, request)
        except Refused as refused:
            yield answers.join_refused(request, refused.code, NO_MEMBER_ID)
        return
    group = coordinator.group_to_join(body.group_id, body.member_id)
    _check_size(coordinator, group, body.member_id)
    if not group.supports(body.protocol_type, protocols_of(request)):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if not body.member_id:
        yield from _join_new(coordinator, group, request)
    elif body.member_id in group.pending_members:
        yield from timers.forget_pending(group, body.member_id)
        yield from _add(coordinator, group, request, body.member_id)
    else:
        yield from _rejoin(coordinator, group, request)


def _check_size(coordinator: GroupCoordinator, group: ClassicGroup, member_id: str) -> None:
    """Raise Refused(GROUP_MAX_SIZE_REACHED) if the group is full (KIP-389), and remove the sender
    from it. Existing members may stay; while a rebalance collects members, only those that have
    joined count."""
    if group.state is State.EMPTY:
        return
    member = group.members.get(member_id)
    if group.state is State.PREPARING_REBALANCE:
        inside = member is not None and member.awaiting_join is not None
        size = sum(each.awaiting_join is not None for each in group.members.values())
    else:
        inside, size = member is not None, len(group.members)
    if not inside and size >= coordinator.settings.group_size_max:
        group.remove(member_id)
        raise Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)


def new_member_id(name: str, coordinator: GroupCoordinator) -> str:
    """Return a new member id: `name` and a random UUID, as Kafka joins them. Cut a name of almost
    32,767 bytes, so that the id is a string of the protocol."""
    unique = f"-{coordinator.random_uuid()}"
    return fitting(name, STRING_BYTES_MAX - len(unique)) + unique


def _join_new(
    coordinator: GroupCoordinator, group: ClassicGroup, request: Request
) -> Iterator[Effect]:
    """Handle a JoinGroup without a member id: replace a static member, ask a dynamic one to come
    again with an id (KIP-394), or add it."""
    body = request.body
    member_id = new_member_id(body.group_instance_id or request.client_id or "", coordinator)
    if body.group_instance_id is not None:
        if body.group_instance_id in group.static_members:
            yield from _replace_static(coordinator, group, request, member_id)
        else:
            yield from _add(coordinator, group, request, member_id)
    # [New in v4: KIP-394]
    elif needs_member_id(request):
        group.pending_members.add(member_id)
        yield from timers.expect_pending(group, member_id, body.session_timeout_ms)
        yield answers.join_refused(request, ErrorCode.MEMBER_ID_REQUIRED, member_id)
    else:
        yield from _add(coordinator, group, request, member_id)


def _add(
    coordinator: GroupCoordinator, group: ClassicGroup, request: Request, member_id: str
) -> Iterator[Effect]:
    """Add a new member, whose JoinGroup then waits for the next generation, and begin or complete a
    rebalance."""
    body = request.body
    member = Member(
        member_id,
        body.group_instance_id,
        request.client_id or "",
        request.client_host,
        body.session_timeout_ms,
        rebalance_timeout_of(request),
        body.protocol_type,
        protocols_of(request),
        awaiting_join=request,
        is_new=True,
    )
    if group.state is State.PREPARING_REBALANCE and group.is_initial_rebalance:
        group.new_member_added = True
    group.add(member)
    yield from timers.expect_heartbeat(group, member, timers.NEW_MEMBER_TIMEOUT_MS)
    yield from rebalance.change(coordinator, group)


def _rejoin(
    coordinator: GroupCoordinator, group: ClassicGroup, request: Request
) -> Iterator[Effect]:
    """Handle the JoinGroup of a known member. Answer with the current generation if it may have
    lost that answer, or if nothing changes in a stable group and it does not lead; else begin or
    complete a rebalance. Raise Refused if the member is unknown or was replaced."""
    body = request.body
    member = group.checked_member(body.member_id, body.group_instance_id)
    same = member.protocols == protocols_of(request)
    leads = group.leader == member.member_id
    lost_answer = group.state is State.COMPLETING_REBALANCE and same
    nothing_new = group.state is State.STABLE and same and not leads
    if lost_answer or nothing_new:
        yield answers.joined(request, group, member, members=answers.members_for(group, member))
        return
    yield from _update(group, member, request)
    yield from rebalance.change(coordinator, group)


def _update(group: ClassicGroup, member: Member, request: Request) -> Iterator[Effect]:
    """Store what the request says about the member, and let the request wait for the next
    generation. Refuse an older request of the member that still waits."""
    if member.awaiting_join is not None and member.awaiting_join is not request:
        yield answers.join_refused(
            member.awaiting_join, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id
        )
    group.change_protocols(member, protocols_of(request))
    member.session_timeout_ms = request.body.session_timeout_ms
    member.rebalance_timeout_ms = rebalance_timeout_of(request)
    member.awaiting_join = request


def _replace_static(
    coordinator: GroupCoordinator, group: ClassicGroup, request: Request, member_id: str
) -> Iterator[Effect]:
    """Handle the restart of the process behind a group.instance.id (KIP-345). If the group is
    stable and nothing about the choice of protocol changes, the new process gets the old one's
    place and assignment without a rebalance; otherwise begin or complete a rebalance."""
    instance_id = request.body.group_instance_id
    old_leader = group.leader
    member = group.members[group.static_members[instance_id]]
    yield from rebalance.fence(group, member)
    before = replace(member)
    group.replace_static(instance_id, member_id)
    yield from timers.expect_heartbeat(group, member)
    yield from _update(group, member, request)
    if group.state is not State.STABLE or group.select_protocol() != group.protocol:
        yield from rebalance.change(coordinator, group)
        return
    member.awaiting_join = None
    try:
        coordinator.save_group(group)
    except Refused as refused:
        yield from _put_back(group, member, before)
        yield answers.not_replaced(request, group, refused.code)
        return
    leads = group.leader == member_id
    # [New in v9: KIP-814]
    skips = request.api_version >= SKIP_ASSIGNMENT_SINCE
    yield answers.joined(
        request,
        group,
        member,
        # Before version 9 the only way to keep the leader from assigning again is to tell it that
        # it does not lead, by naming the member id which it had before.
        members=answers.members_for(group, member) if skips else [],
        leader=group.leader if skips else old_leader,
        skip_assignment=skips and leads,
    )


def _put_back(group: ClassicGroup, member: Member, before: Member) -> Iterator[Effect]:
    """Give a static member that was replaced its old member id, timeouts and protocols again, and
    restart its session: the log did not take the new id, so that after a restart of this broker the
    group would know the old one alone."""
    yield from timers.forget_member(group, member.member_id)
    group.change_protocols(member, before.protocols)
    member.session_timeout_ms = before.session_timeout_ms
    member.rebalance_timeout_ms = before.rebalance_timeout_ms
    group.replace_static(before.instance_id or "", before.member_id)
    yield from timers.expect_heartbeat(group, member)
