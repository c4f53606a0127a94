"""ConsumerGroupHeartbeat (API key 68). Spec: ConsumerGroupHeartbeatRequest.json; KIP-848; KIP-1082
(the client makes its member id, v1).

groups/consumer/heartbeat.py has the effects of a heartbeat on the group.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.consumer.heartbeat import RESPONSE, heartbeat
from reference_impl.core.groups.consumer.model.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
)
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import DESCRIBE_TOPIC, READ_GROUP
from reference_impl.wire import ErrorCode

OWN_MEMBER_ID_SINCE = 1


def handle_consumer_group_heartbeat(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let a member join, stay in, move within or leave a consumer group by its heartbeat. Answer
    with an error if it may not."""
    try:
        # VALIDATE
        if not broker.groups.settings.serves_consumer_groups:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION)
        broker.access.require(request, READ_GROUP, request.body.group_id)
        for topic in request.body.subscribed_topic_names or ():
            yield GiveWay(request)
            broker.access.require(request, DESCRIBE_TOPIC, topic)
        check(broker, request)
        # DEDUPLICATE: a repeated heartbeat finds the member where the first one took it.
        # APPLY
        yield from heartbeat(broker.groups.of(request.body.group_id), request)
    except Refused as refused:
        # RESPOND
        yield Respond(request, RESPONSE.new(error_code=refused.code, error_message=refused.message))


def check(broker: Broker, request: Request) -> None:
    """Raise Refused if the request is invalid by itself, whatever the state of the group.

    Source: GroupCoordinatorService.java, throwIfConsumerGroupHeartbeatRequestIsInvalid.
    """
    body = request.body
    # [Modified in v1: KIP-1082]
    needs_member_id = (
        request.api_version >= OWN_MEMBER_ID_SINCE
        or body.member_epoch > JOIN_EPOCH
        or body.member_epoch == LEAVE_EPOCH
    )
    problem = None
    if needs_member_id and not body.member_id:
        problem = "MemberId can't be empty."
    elif not body.group_id:
        problem = "GroupId can't be empty."
    elif body.instance_id == "":
        problem = "InstanceId can't be empty."
    elif body.rack_id == "":
        problem = "RackId can't be empty."
    elif body.member_epoch == JOIN_EPOCH:
        problem = problem_of_joining(request)
    elif body.member_epoch == LEAVE_STATIC_EPOCH and body.instance_id is None:
        problem = "InstanceId can't be null."
    elif body.member_epoch < LEAVE_STATIC_EPOCH:
        problem = "MemberEpoch is invalid."
    if problem is not None:
        raise Refused(ErrorCode.INVALID_REQUEST, problem)
    assignors = broker.groups.settings.consumer_assignors
    if body.server_assignor is not None and body.server_assignor not in assignors:
        raise Refused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {body.server_assignor} is not supported. Supported assignors:"
            f" {', '.join(assignors)}.",
        )


def problem_of_joining(request: Request) -> str | None:
    """Return the error in a joining member's heartbeat, or None. It must name everything that a
    member needs, and own no partitions."""
    body = request.body
    if body.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    if body.topic_partitions is None or body.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if body.subscribed_topic_names is None and body.subscribed_topic_regex is None:
        return (
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
            " (re-)joining."
        )
    return None
