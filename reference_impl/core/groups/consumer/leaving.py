"""Remove members that leave, or that did not send a heartbeat in time.

Source: GroupMetadataManager.java (consumerGroupLeave, consumerGroupStaticMemberGroupLeave,
consumerGroupFenceMembers); KIP-848, KIP-345.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from reference_impl.core.effects import Effect, Report, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer import timers
from reference_impl.core.groups.consumer.migration import conversion
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import LEAVE_STATIC_EPOCH, ConsumerMember
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("ConsumerGroupHeartbeatResponse")


def leave(coordinator: GroupCoordinator, request: Request) -> Iterator[Effect]:
    """Handle a heartbeat with epoch -1, by which a member leaves, or -2 for a static member that
    will return. Raise Refused if the group or the member is unknown or was replaced, or if the
    change cannot be written."""
    body = request.body
    group = coordinator.group(body.group_id)
    if not isinstance(group, ConsumerGroup):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, no_consumer_group(group, body.group_id))
    member = group.speaking_member(body.member_id, body.instance_id)
    if body.instance_id is not None and body.member_epoch == LEAVE_STATIC_EPOCH:
        yield from _go_for_now(coordinator, group, member)
    elif coordinator.rules.lets_go(member, group.members):
        yield from remove(coordinator, group, [member])
    yield Respond(request, RESPONSE.new(member_id=body.member_id, member_epoch=body.member_epoch))


def no_consumer_group(group: object | None, group_id: str) -> str:
    """Return the message for a group id that does not name a consumer group: not found, or of
    another type."""
    return f"Group {group_id} " + ("not found." if group is None else "is not a consumer group.")


def _go_for_now(
    coordinator: GroupCoordinator, group: ConsumerGroup, member: ConsumerMember
) -> Iterator[Effect]:
    """Note that a static member has left and may return: it keeps its partitions until it does, or
    until its session times out."""
    draft = Draft(group)
    gone = replace(
        member, epoch=LEAVE_STATIC_EPOCH, assigned=dict.fromkeys(member.assigned, 0), revoking={}
    )
    draft.write(records.current_record(group.group_id, gone))
    draft.then(timers.revocation_is_over(group.group_id, member.member_id))
    yield from coordinator.write(draft)


def remove(
    coordinator: GroupCoordinator, group: ConsumerGroup, members: Iterable[ConsumerMember]
) -> Iterator[Effect]:
    """Remove members, whose partitions are free as soon as the change is written, and bump the
    group's epoch. If only classic members are left, the group may become a classic one instead.
    Raise Refused if the change cannot be written."""
    going = {member.member_id: member for member in members}
    if not going:
        return
    if conversion.may_downgrade(coordinator, group, going):
        yield from conversion.downgrade(coordinator, Draft(group), going)
        return
    draft = Draft(group)
    for member_id in going:
        draft.write(*records.member_tombstones(group.group_id, member_id))
        draft.then(timers.forget_member(draft.group, member_id))
    for regex in sorted({member.topic_regex for member in going.values()} - {""}):
        if not draft.group.subscribers_of_regex(regex):
            draft.write(records.regex_record(group.group_id, regex, None))
    metadata_hash = draft.group.hash_of_metadata(coordinator.image)
    draft.write(records.epoch_record(group.group_id, group.epoch + 1, metadata_hash))
    yield from coordinator.write(draft)


def timer_fired(
    coordinator: GroupCoordinator, group: ConsumerGroup, what: str, member_id: str
) -> Iterator[Effect]:
    """Remove a member that did not send a heartbeat, revoke partitions, join or sync in time. If
    that cannot be written, report it, and wait for another session timeout. Do nothing if the
    member is gone or no longer late."""
    member = group.members.get(member_id)
    if member is None or not coordinator.rules.was_awaited_in_vain(member, what):
        return
    group.awaited_joins.discard(member_id)
    try:
        yield from remove(coordinator, group, [member])
    except Refused as refused:
        yield Report(
            f"member {member_id} of group {group.group_id} is late, and could not be removed:"
            f" {refused}"
        )
        session_timeout_ms = coordinator.settings.of_group(group.group_id, "session.timeout.ms")
        yield from timers.expect_heartbeat(group.group_id, member, session_timeout_ms)
