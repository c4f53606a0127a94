"""Members that still speak the classic protocol, inside a consumer group.

Source: KIP-848, Supporting Online Consumer Group Upgrade; GroupMetadataManager.java
(classicGroupJoinToConsumerGroup, classicGroupSyncToConsumerGroup,
classicGroupHeartbeatToConsumerGroup, classicGroupLeaveToConsumerGroup). To such a member the broker
looks like a group whose leader is another member: JoinGroup reports what it owns and gets its epoch
as generation, SyncGroup gets its partitions, Heartbeat tells it when there is a reason to join
again. No member waits for another, so every answer comes at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic import answers
from reference_impl.core.groups.classic.group import CONSUMER_PROTOCOL
from reference_impl.core.groups.classic.join_requests import (
    needs_member_id,
    protocols_of,
    rebalance_timeout_of,
)
from reference_impl.core.groups.consumer import membership, targets, timers
from reference_impl.core.groups.consumer.heartbeat import new_member_id, note_member
from reference_impl.core.groups.consumer.migration import conversion
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.consumer.model.member import ClassicMembership, ConsumerMember
from reference_impl.core.groups.consumer.model.states import MemberState
from reference_impl.core.groups.consumer.patterns import regexes
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Malformed, Struct, decode_versioned


def join(coordinator: GroupCoordinator, group: ConsumerGroup, request: Request) -> Iterator[Effect]:
    """Handle a JoinGroup of a classic member in a consumer group. Ask a new member to join again
    with an id, if its version can. A static member that replaces the last one of the new protocol
    may make the group classic. Raise Refused if the broker does not migrate groups, the group is
    full, the protocols do not fit, the member was replaced, or the log does not take the change."""
    body = request.body
    if coordinator.settings.migration_policy == conversion.DISABLED:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    member_id = body.member_id or new_member_id(coordinator)
    membership.check_size(coordinator, group, member_id)
    protocols = protocols_of(request)
    if not group.supports_protocols(body.protocol_type, protocols):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    # [New in v4: KIP-394]
    if needs_member_id(request):
        yield answers.join_refused(request, ErrorCode.MEMBER_ID_REQUIRED, member_id)
        return
    subscription = _subscription_in(next(iter(protocols.values())))
    draft = Draft(group)
    replaced = group.static_member(body.group_instance_id)
    old = _joiner(draft, body, member_id)
    new = replace(
        old,
        instance_id=body.group_instance_id or old.instance_id,
        rack_id=subscription.rack_id or old.rack_id,
        rebalance_timeout_ms=rebalance_timeout_of(request),
        topic_names=frozenset(subscription.topics),
        topic_regex="",  # the clients of classic members resolve their own patterns
        client_id=request.client_id or "",
        client_host=request.client_host,
        classic=ClassicMembership(body.session_timeout_ms, tuple(protocols.items())),
    )
    changed = note_member(draft, old, new)
    changed |= regexes.note_change(draft, old, new)
    targets.update_epoch(coordinator, draft, bump=changed)
    # A joining member can make the group classic only if it replaces a static member.
    downgrades = (
        replaced is not None
        and replaced.classic is None
        and conversion.may_downgrade(coordinator, group, {replaced.member_id: replaced}, coming=1)
    )
    is_outdated = group.assignment_epoch < draft.group.epoch
    if not downgrades:
        targets.update_target(coordinator, draft)
    if not (downgrades and is_outdated):
        owned = conversion.partitions_named(coordinator.image, subscription.owned_partitions)
        new = targets.reconcile(coordinator, draft, new, set(owned), subscription_changed=changed)
    if downgrades:
        yield from conversion.downgrade(coordinator, draft, {}, rebalances=is_outdated)
    else:
        draft.then(timers.join_is_over(draft.group, member_id))
        draft.then(timers.expect_heartbeat(group.group_id, new, body.session_timeout_ms))
        draft.then(timers.expect_sync(group.group_id, new))
        yield from coordinator.write(draft)
    yield _joined(request, new)


def _subscription_in(metadata: bytes) -> Struct:
    try:
        return decode_versioned(conversion.SUBSCRIPTION, metadata)[1]
    except Malformed as error:
        raise Refused(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"Malformed subscription: {error}."
        ) from None


def _joiner(draft: Draft, body: Struct, member_id: str) -> ConsumerMember:
    """Return the member as it was before this JoinGroup, or a new one if it is unknown. Raise
    Refused if it names a member id and an instance id that do not belong together."""
    if body.group_instance_id is None:
        return draft.group.members.get(member_id, ConsumerMember(member_id))
    if not body.member_id:
        return membership.static_joiner(draft, member_id, body.group_instance_id, is_classic=True)
    return draft.group.speaking_member(member_id, body.group_instance_id)


def _joined(request: Request, member: ConsumerMember) -> Respond:
    protocols = member.classic.protocols if member.classic is not None else ()
    return Respond(
        request,
        answers.JOIN_RESPONSE.new(
            member_id=member.member_id,
            generation_id=member.epoch,
            protocol_type=CONSUMER_PROTOCOL,
            protocol_name=protocols[0][0],
        ),
    )


def sync(coordinator: GroupCoordinator, group: ConsumerGroup, request: Request) -> Iterator[Effect]:
    """Handle a SyncGroup of a classic member in a consumer group. Raise Refused if it is not a
    member of this generation, names another protocol, or should join again."""
    body = request.body
    member, classic = _classic_speaker(group, body)
    if body.protocol_type not in (None, CONSUMER_PROTOCOL):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if body.protocol_name not in (None, classic.protocols[0][0]):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    is_behind = group.assignment_epoch > member.epoch
    if is_behind and member.state is not MemberState.UNREVOKED_PARTITIONS:
        yield from timers.expect_join(group, member)
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
    yield from timers.sync_is_over(group.group_id, member.member_id)
    yield from timers.expect_heartbeat(group.group_id, member, classic.session_timeout_ms)
    yield Respond(
        request,
        answers.SYNC_RESPONSE.new(
            protocol_type=body.protocol_type,
            protocol_name=body.protocol_name,
            assignment=conversion.encoded_assignment(
                coordinator.image, member, frozenset(member.assigned)
            ),
        ),
    )


def heartbeat(group: ConsumerGroup, request: Request) -> Iterator[Effect]:
    """Handle a Heartbeat of a classic member in a consumer group. Raise Refused if it is not a
    member of this generation, or with REBALANCE_IN_PROGRESS if it should join again."""
    member, classic = _classic_speaker(group, request.body)
    yield from timers.expect_heartbeat(group.group_id, member, classic.session_timeout_ms)
    can_go_on = (
        member.state is MemberState.UNRELEASED_PARTITIONS
        and not group.is_waiting_for_others(member)
    )
    must_revoke = member.state is MemberState.UNREVOKED_PARTITIONS
    if member.epoch < group.assignment_epoch or must_revoke or can_go_on:
        yield from timers.expect_join(group, member)
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)


def _classic_speaker(
    group: ConsumerGroup, body: Struct
) -> tuple[ConsumerMember, ClassicMembership]:
    """Return the member that sent the request. Raise Refused if it is unknown, is not a classic
    member, or is of another generation."""
    member = group.speaking_member(body.member_id, body.group_instance_id)
    if member.classic is None:
        raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
    if body.generation_id != member.epoch:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    return member, member.classic


def leaver(group: ConsumerGroup, identity: Struct) -> ConsumerMember:
    """Return a member that LeaveGroup names, of either protocol. If only an instance id is given,
    return the member that has it now. Raise Refused if the member is unknown or was replaced."""
    member = group.static_member(identity.group_instance_id)
    if member is not None and not identity.member_id:
        return member  # an administrator names only the instance
    return group.speaking_member(identity.member_id, identity.group_instance_id)
