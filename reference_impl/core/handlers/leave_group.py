"""LeaveGroup (API key 13). Spec: LeaveGroupRequest.json; KIP-345 (several members since v3),
KIP-800 (reason since v5)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic.leaving import leave
from reference_impl.core.groups.consumer.leaving import remove
from reference_impl.core.groups.consumer.migration import classic_members
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import ConsumerMember
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import READ_GROUP
from reference_impl.wire import ErrorCode, Struct, definition

REQUEST = definition("LeaveGroupRequest")
RESPONSE = definition("LeaveGroupResponse")
SEVERAL_MEMBERS_SINCE = 3


def handle_leave_group(broker: Broker, request: Request) -> Iterator[Effect]:
    """Remove members from their group; each gets its own result. Refuse the whole request if the
    client may not read the group, the group id is empty, this broker does not coordinate the group,
    or the log does not take the change of a consumer group."""
    rows = []
    try:
        # VALIDATE
        broker.access.require(request, READ_GROUP, request.body.group_id)
        members = members_in(request)
        if not request.body.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        coordinator = broker.groups.of(request.body.group_id)
        group = coordinator.group(request.body.group_id)
        leavers: list[ConsumerMember] = []
        for wanted in members:
            if not isinstance(group, ConsumerGroup):
                yield GiveWay(request)
                group = coordinator.group(request.body.group_id)  # it may have been replaced
            row = RESPONSE.struct(
                "MemberResponse",
                member_id=wanted.member_id,
                group_instance_id=wanted.group_instance_id,
            )
            rows.append(row)
            try:
                # DEDUPLICATE: a member that has left is unknown.
                if group is None:
                    raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
                # APPLY: at once in a classic group; a consumer group changes once for all of them.
                if isinstance(group, ConsumerGroup):
                    leavers.append(classic_members.leaver(group, wanted))
                    continue
                yield from leave(coordinator, group, wanted.member_id, wanted.group_instance_id)
            except Refused as refused:
                row.error_code = refused.code
        if isinstance(group, ConsumerGroup):
            yield from remove(coordinator, group, leavers)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(error_code=refused.code))
        return
    # RESPOND
    # [Modified in v3: KIP-345]
    if request.api_version < SEVERAL_MEMBERS_SINCE:
        yield Respond(request, RESPONSE.new(error_code=rows[0].error_code))
    else:
        yield Respond(request, RESPONSE.new(members=rows))


def members_in(request: Request) -> list[Struct]:
    """Return the members that leave, each in the form of version 3, which allows several."""
    if request.api_version < SEVERAL_MEMBERS_SINCE:
        return [REQUEST.struct("MemberIdentity", member_id=request.body.member_id)]
    members: list[Struct] = request.body.members
    return members
