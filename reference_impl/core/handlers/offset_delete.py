"""OffsetDelete (API key 47). Spec: OffsetDeleteRequest.json; KIP-496."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic_group import CONSUMER_PROTOCOL
from reference_impl.core.groups.coordinator import Group
from reference_impl.core.groups.offsets import TopicPartition
from reference_impl.core.groups.states import State
from reference_impl.core.refused import Refused
from reference_impl.core.security.permissions import DELETE_GROUP, READ_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("OffsetDeleteResponse")


def handle_offset_delete(broker: Broker, request: Request) -> Iterator[Effect]:
    """Forget committed offsets of partitions that nobody in the group reads."""
    body = RESPONSE.new()
    try:
        # VALIDATE
        broker.access.require(request, DELETE_GROUP, request.body.group_id)
        group = checked_group(broker, request.body.group_id)
        keys: list[TopicPartition] = []
        for topic in request.body.topics:
            answer = RESPONSE.struct("OffsetDeleteResponseTopic", name=topic.name)
            body.topics.append(answer)
            may_read = broker.access.may(request, READ_TOPIC, topic.name)
            for wanted in topic.partitions:
                row = partition_row(broker, group, topic.name, wanted)
                if not may_read:
                    row.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                answer.partitions.append(row)
                if row.error_code == ErrorCode.NONE:
                    keys.append((topic.name, wanted.partition_index))
        # DEDUPLICATE: what is not committed is not deleted. APPLY
        broker.groups.delete_offsets(request.body.group_id, keys)
    except Refused as refused:
        body = RESPONSE.new(error_code=refused.code)
    # RESPOND
    yield Respond(request, body)


def checked_group(broker: Broker, group_id: str) -> Group:
    """Return the group if its offsets may be deleted, or raise Refused."""
    if not group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    group = broker.groups.group(group_id)
    if group is None or group.state is State.DEAD:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    if not group.is_empty and group.protocol_type != CONSUMER_PROTOCOL:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)  # nobody can tell what its members read
    return group


def partition_row(broker: Broker, group: Group, topic: str, wanted: Struct) -> Struct:
    """Return the row that says whether one partition's offset may be deleted."""
    image = broker.image.topics.get(topic)
    code = ErrorCode.NONE
    if image is None or wanted.partition_index not in image.partitions:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif group.is_subscribed_to(topic):
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    return RESPONSE.struct(
        "OffsetDeleteResponsePartition", partition_index=wanted.partition_index, error_code=code
    )
