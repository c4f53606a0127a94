"""The answers to JoinGroup and SyncGroup, which are given long after they were asked for.

Source: JoinGroupResponse.json, SyncGroupResponse.json; KIP-345, KIP-559 (protocol in v7 and v5),
KIP-814 (skip_assignment, v9).
"""

from __future__ import annotations

from reference_impl.core.effects import Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.wire import ErrorCode, Struct, definition

JOIN_RESPONSE = definition("JoinGroupResponse")
SYNC_RESPONSE = definition("SyncGroupResponse")


def join_refused(request: Request, code: ErrorCode, member_id: str) -> Respond:
    """Return the JoinGroup response with this error and member id."""
    return Respond(
        request,
        JOIN_RESPONSE.new(
            error_code=code,
            member_id=member_id,
            # [New in v7: KIP-559]
            protocol_name=None if request.api_version >= 7 else "",
        ),
    )


def joined(
    request: Request,
    group: ClassicGroup,
    member: Member,
    *,
    members: list[Struct],
    leader: str | None = None,
    skip_assignment: bool = False,
) -> Respond:
    """Return the JoinGroup response for this generation. members: the list for the leader, who
    assigns; empty for a follower. leader: the member id to name as the leader, the group's by
    default. skip_assignment: whether the leader must not assign (KIP-814)."""
    return Respond(
        request,
        JOIN_RESPONSE.new(
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol,
            leader=leader or group.leader or "",
            member_id=member.member_id,
            members=members,
            skip_assignment=skip_assignment,
        ),
    )


def not_replaced(request: Request, group: ClassicGroup, code: ErrorCode) -> Respond:
    """Return the JoinGroup response to a static member that was not allowed to replace the one
    before: this error, no member id, and the generation of the group."""
    return Respond(
        request,
        JOIN_RESPONSE.new(
            error_code=code,
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol,
            leader=group.leader or "",
        ),
    )


def subscriptions(group: ClassicGroup) -> list[Struct]:
    """Return a row of the JoinGroup response for each member, with its metadata for the selected
    protocol."""
    return [
        JOIN_RESPONSE.struct(
            "JoinGroupResponseMember",
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=member.protocols[group.protocol or ""],
        )
        for member in group.members.values()
    ]


def members_for(group: ClassicGroup, member: Member) -> list[Struct]:
    """Return the list of members in this member's JoinGroup response: all of them for the leader,
    none for a follower."""
    return subscriptions(group) if group.leader == member.member_id else []


def sync_refused(request: Request, code: ErrorCode) -> Respond:
    """Return the SyncGroup response with this error, and without an assignment."""
    return Respond(request, SYNC_RESPONSE.new(error_code=code))


def synced(request: Request, group: ClassicGroup, member: Member) -> Respond:
    """Return the SyncGroup response with the member's assignment."""
    return Respond(
        request,
        SYNC_RESPONSE.new(
            protocol_type=group.protocol_type,
            protocol_name=group.protocol,
            assignment=member.assignment,
        ),
    )
