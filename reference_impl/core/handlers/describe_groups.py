"""DescribeGroups (API key 15). Spec: DescribeGroupsRequest.json; KIP-345 (v4), KIP-430 (v3),
KIP-1043 (error and message for a group that does not exist, v6)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.core.groups.classic.states import State
from reference_impl.core.refused import Refused
from reference_impl.core.requests.repetitions import Repetitions
from reference_impl.core.security.authorization.permissions import DESCRIBE_GROUP
from reference_impl.wire import ErrorCode, Struct, definition
from reference_impl.wire.acls import ResourceType

RESPONSE = definition("DescribeGroupsResponse")
NOT_FOUND_SINCE = 6


def handle_describe_groups(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the state and the members of classic groups. Describe one group at most
    REPETITIONS_MAX times."""
    # VALIDATE happens for each group. DEDUPLICATE, APPLY: reading changes nothing.
    rows = []
    asked = Repetitions()
    for group_id in request.body.groups:
        yield GiveWay(request)
        if not asked.allow(group_id):
            continue
        try:
            broker.access.require(request, DESCRIBE_GROUP, group_id)
            group = broker.groups.of(group_id).group(group_id)
        except Refused as refused:
            rows.append(
                RESPONSE.struct("DescribedGroup", group_id=group_id, error_code=refused.code)
            )
            continue
        if isinstance(group, ClassicGroup):
            row = described(group)
        else:
            row = unknown(request, group_id, exists=group is not None)
        if request.body.include_authorized_operations and row.error_code == ErrorCode.NONE:
            row.authorized_operations = broker.access.operations(
                request, ResourceType.GROUP, group_id
            )
        rows.append(row)
    # RESPOND
    yield Respond(request, RESPONSE.new(groups=rows))


def unknown(request: Request, group_id: str, *, exists: bool) -> Struct:
    """Return the row, in state Dead, of a group that does not exist, or that exists but is not a
    classic group. Since version 6 it has an error."""
    row = RESPONSE.struct("DescribedGroup", group_id=group_id, group_state=State.DEAD.value)
    # [New in v6: KIP-1043]
    if request.api_version >= NOT_FOUND_SINCE:
        row.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        what = "is not a classic group" if exists else "not found"
        row.error_message = f"Group {group_id} {what}."
    return row


def described(group: ClassicGroup) -> Struct:
    """Return the row of a group, with subscriptions and assignments only while the group is
    stable."""
    stable = group.state is State.STABLE
    return RESPONSE.struct(
        "DescribedGroup",
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if stable else "",
        members=[member_row(group, member, stable) for member in group.members.values()],
    )


def member_row(group: ClassicGroup, member: Member, stable: bool) -> Struct:
    """Return the row of one member. It has the member's subscription and assignment only if
    `stable`."""
    return RESPONSE.struct(
        "DescribedGroupMember",
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.protocols.get(group.protocol or "", b"") if stable else b"",
        member_assignment=member.assignment if stable else b"",
    )
