"""SyncGroup and Heartbeat: a member of a generation fetches its assignment, or shows that it is
alive.

Source: GroupMetadataManager.java (classicGroupSync, validateSyncGroup, classicGroupHeartbeat).
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.effects import Effect
from reference_impl.core.events import Request
from reference_impl.core.groups.classic import answers, rebalance, timers
from reference_impl.core.groups.classic.group import ClassicGroup, Member
from reference_impl.core.groups.classic.states import Move, State
from reference_impl.core.groups.consumer.migration import classic_members
from reference_impl.core.groups.consumer.model.group import ConsumerGroup
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct


def sync(coordinator: GroupCoordinator, request: Request) -> Iterator[Effect]:
    """Handle a SyncGroup: answer it now in a stable group; else keep it until the leader's own
    SyncGroup, which has the assignment, answers all. Raise Refused if its sender is not a member of
    the generation, names another protocol, or must join again."""
    body = request.body
    group = coordinator.known_group(body.group_id)
    if isinstance(group, ConsumerGroup):
        yield from classic_members.sync(coordinator, group, request)
        return
    member = _speaker(coordinator, group, body)
    for given, own in (
        (body.protocol_type, group.protocol_type),
        (body.protocol_name, group.protocol),
    ):
        # [New in v5: KIP-559]
        if given is not None and given != own:
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is State.PREPARING_REBALANCE:
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
    group.pending_syncs.discard(member.member_id)
    if group.state is State.STABLE:
        # A retry, or a late request; as in Kafka, it is no sign of life.
        yield answers.synced(request, group, member)
    elif member.member_id == group.leader:
        member.awaiting_sync = request
        given_out = {row.member_id: bytes(row.assignment) for row in body.assignments}
        yield from _assign(coordinator, group, given_out)
    else:
        member.awaiting_sync = request
    if not group.pending_syncs:
        yield from timers.syncs_are_over(group)


def _assign(
    coordinator: GroupCoordinator, group: ClassicGroup, given_out: dict[str, bytes]
) -> Iterator[Effect]:
    """Store the leader's assignment in the group and in the log, and answer every parked SyncGroup
    with the member's part of it. If the log does not take it, answer them with that error, and let
    all members join again (classicGroupSync, resetAndPropagateAssignmentError)."""
    for member in group.members.values():
        member.assignment = coordinator.rules.part_of(member, given_out)
    group.state_timestamp_ms = coordinator.now_ms
    try:
        coordinator.save_group(group)
    except Refused as refused:
        yield from rebalance.refuse_syncs(group, refused.code)
        yield from rebalance.prepare(coordinator, group)
        return
    group.move(Move.LEADER_SYNCS)
    for member in group.members.values():
        request, member.awaiting_sync = member.awaiting_sync, None
        if request is not None:
            yield answers.synced(request, group, member)
            yield from timers.expect_heartbeat(group, member)


def heartbeat(coordinator: GroupCoordinator, request: Request) -> Iterator[Effect]:
    """Renew a member's session. Raise Refused if it is not a member of this generation. For a
    classic group the caller asks afterwards whether it is rebalancing; a member of a consumer group
    gets REBALANCE_IN_PROGRESS here."""
    body = request.body
    group = coordinator.known_group(body.group_id)
    if isinstance(group, ConsumerGroup):
        yield from classic_members.heartbeat(group, request)
        return
    member = _speaker(coordinator, group, body)
    yield from coordinator.rules.session_renewed(member, timers.expect_heartbeat(group, member))


def is_rebalancing(coordinator: GroupCoordinator, group_id: str) -> bool:
    """Return whether a rebalance of a classic group is collecting members, so that they should join
    again. Return False if there is no such group."""
    group = coordinator.groups.get(group_id)
    return isinstance(group, ClassicGroup) and coordinator.rules.must_join_again(group)


def _speaker(coordinator: GroupCoordinator, group: ClassicGroup, body: Struct) -> Member:
    """Return the member that sent the request. Raise Refused if it is unknown, was replaced or
    names another generation, or if the group is dead."""
    if group.state is State.DEAD:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return coordinator.rules.check_speaker(
        group, body.member_id, body.group_instance_id, body.generation_id
    )
