"""ConsumerGroupHeartbeat: the one request by which a member joins, stays, moves and leaves.

Source: KIP-848, ConsumerGroupHeartbeat API; GroupMetadataManager.java (consumerGroupHeartbeat).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace

from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer import leaving, membership, targets, timers
from reference_impl.core.groups.consumer.model import records
from reference_impl.core.groups.consumer.model.draft import Draft
from reference_impl.core.groups.consumer.model.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerMember,
)
from reference_impl.core.groups.consumer.patterns import regexes
from reference_impl.core.groups.coordinator import GroupCoordinator
from reference_impl.wire import Struct, definition

RESPONSE = definition("ConsumerGroupHeartbeatResponse")


def heartbeat(coordinator: GroupCoordinator, request: Request) -> Iterator[Effect]:
    """Handle a ConsumerGroupHeartbeat: write what it changes to the log, then answer it. Raise
    Refused, before anything has changed, if the member may not send it or the log does not take the
    change."""
    body = request.body
    if body.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
        yield from leaving.leave(coordinator, request)
        return
    draft = membership.group_to_enter(coordinator, body.group_id, body.member_epoch == JOIN_EPOCH)
    membership.check_size(coordinator, draft.group, body.member_id)
    member_id = body.member_id or new_member_id(coordinator)
    reported = None
    if body.topic_partitions is not None:
        reported = set(records.partitions_in(body.topic_partitions))
    # 1. Who is it, and what does it want? New heartbeat_fields bump the group epoch.
    old = membership.speaker(coordinator, draft, body, member_id, reported)
    new = with_requested_fields(old, request)
    names_changed = note_member(draft, old, new)
    regex_is_known = regexes.note_change(draft, old, new)
    targets.update_epoch(coordinator, draft, bump=names_changed or regex_is_known)
    # 2. A new epoch gets a new target.
    targets.update_target(coordinator, draft)
    # 3. The member walks towards it.
    new = targets.reconcile(
        coordinator,
        draft,
        new,
        reported,
        subscription_changed=names_changed or old.topic_regex != new.topic_regex,
    )
    session_timeout_ms = coordinator.settings.of_group(body.group_id, "session.timeout.ms")
    session = timers.expect_heartbeat(body.group_id, new, session_timeout_ms)
    is_new = body.member_epoch == JOIN_EPOCH
    draft.then(session if is_new else coordinator.rules.session_renewed(new, session))
    # The change takes effect only when it is in the log.
    yield from coordinator.write(draft)
    found = yield from regexes.look_through_topics(coordinator, request)
    yield Respond(request, answer(coordinator, body, old, new))
    yield from regexes.note_topics(coordinator, body.group_id, found)


def new_member_id(coordinator: GroupCoordinator) -> str:
    """Return a random UUID as a member id, as Kafka writes it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(coordinator.random_uuid().bytes).rstrip(b"=").decode()


def with_requested_fields(member: ConsumerMember, request: Request) -> ConsumerMember:
    """Return the member with the fields of the request; one that the request does not set (null, or
    -1) keeps its value."""
    body = request.body
    told = {
        "instance_id": body.instance_id,
        "rack_id": body.rack_id,
        "server_assignor": body.server_assignor,
        "topic_regex": body.subscribed_topic_regex,
        "topic_names": None
        if body.subscribed_topic_names is None
        else frozenset(body.subscribed_topic_names),
        "rebalance_timeout_ms": None
        if body.rebalance_timeout_ms == -1
        else body.rebalance_timeout_ms,
    }
    return replace(
        member,
        **{name: value for name, value in told.items() if value is not None},
        client_id=request.client_id or "",
        client_host=request.client_host,
        classic=None,  # a member that sends heartbeats uses the new protocol
    )


def note_member(draft: Draft, old: ConsumerMember, new: ConsumerMember) -> bool:
    """Write the member's new identity and subscription to the draft if anything about it differs
    from `old`. Return whether the topics to which it subscribes by name have changed."""
    if new != old:
        draft.write(records.member_record(draft.group.group_id, new))
    return new.topic_names != old.topic_names


def answer(
    coordinator: GroupCoordinator, body: Struct, old: ConsumerMember, new: ConsumerMember
) -> Struct:
    """Return the heartbeat response: the member's epoch, and its partitions if they have changed or
    the member may not know them."""
    response = RESPONSE.new(
        member_id=new.member_id,
        member_epoch=new.epoch,
        heartbeat_interval_ms=coordinator.settings.of_group(body.group_id, "heartbeat.interval.ms"),
    )
    says_everything = (
        body.rebalance_timeout_ms != -1
        and (body.subscribed_topic_names is not None or body.subscribed_topic_regex is not None)
        and body.topic_partitions is not None
    )
    if body.member_epoch == JOIN_EPOCH or says_everything or dict(old.assigned) != new.assigned:
        response.assignment = RESPONSE.struct(
            "Assignment",
            topic_partitions=[
                RESPONSE.struct("TopicPartitions", topic_id=topic_id, partitions=indexes)
                for topic_id, indexes in records.by_topic(new.assigned)
            ],
        )
    return response
