"""OffsetDelete (API key 47). Spec: OffsetDeleteRequest.json; KIP-496."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic.group import CONSUMER_PROTOCOL
from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.state import Group
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import DELETE_GROUP, READ_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("OffsetDeleteResponse")


def handle_offset_delete(broker: Broker, request: Request) -> Iterator[Effect]:
    """Delete committed offsets of partitions that no member of the group reads, and answer with an
    error code for each partition, or for the group."""
    body = RESPONSE.new()
    try:
        # VALIDATE
        broker.access.require(request, DELETE_GROUP, request.body.group_id)
        checked_group(broker, request.body.group_id)
        rows: dict[TopicPartition, list[Struct]] = {}  # a request may repeat a partition
        for topic in request.body.topics:
            yield GiveWay(request)
            answer = RESPONSE.struct("OffsetDeleteResponseTopic", name=topic.name)
            body.topics.append(answer)
            may_read = broker.access.may(request, READ_TOPIC, topic.name)
            for wanted in topic.partitions:
                yield GiveWay(request)
                row = partition_row(broker, topic.name, wanted)
                if not may_read:
                    row.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                answer.partitions.append(row)
                if row.error_code == ErrorCode.NONE:
                    rows.setdefault((topic.name, wanted.partition_index), []).append(row)
        # DEDUPLICATE: what is not committed is not deleted. APPLY
        delete(broker, request.body.group_id, rows)
    except Refused as refused:
        body = RESPONSE.new(error_code=refused.code)
    # RESPOND
    yield Respond(request, body)


def checked_group(broker: Broker, group_id: str) -> Group:
    """Return the group if its offsets may be deleted. Raise Refused if it does not exist, has
    members that are not consumers, or is not coordinated by this broker."""
    if not group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    group = broker.groups.of(group_id).group(group_id)
    if group is None or group.state is State.DEAD:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    if not group.is_empty and group.protocol_type != CONSUMER_PROTOCOL:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)  # the topics of its members are unknown
    return group


def delete(broker: Broker, group_id: str, rows: Mapping[TopicPartition, list[Struct]]) -> None:
    """Delete the offsets of partitions that the group does not read, and set the error in the rows
    of those that it does. Raise Refused if the group has changed so that its offsets may not be
    deleted any more, or the log does not take the deletion."""
    group = checked_group(broker, group_id)
    read = group.topics_read({topic for topic, _ in rows})
    for topic, partition in rows:
        if topic in read:
            for row in rows[topic, partition]:
                row.error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    unread = [key for key in rows if key[0] not in read]
    broker.groups.of(group_id).delete_offsets(group_id, unread)


def partition_row(broker: Broker, topic: str, wanted: Struct) -> Struct:
    """Return the row of one partition, with an error if the partition does not exist."""
    image = broker.image.topics.get(topic)
    code = ErrorCode.NONE
    if image is None or wanted.partition_index not in image.partitions:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return RESPONSE.struct(
        "OffsetDeleteResponsePartition", partition_index=wanted.partition_index, error_code=code
    )
