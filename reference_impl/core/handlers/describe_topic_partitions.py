"""DescribeTopicPartitions (API key 75). Spec: KIP-966, Admin API changes: topics in pages."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import compress

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import PartitionImage, TopicImage
from reference_impl.core.controller.image.topic_names import is_internal, problem_with
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.requests.alive_brokers import alive_brokers
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import DESCRIBE_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition
from reference_impl.wire.acls import ResourceType

NO_LEADER = -1
RESPONSE = definition("DescribeTopicPartitionsResponse")
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def handle_describe_topic_partitions(broker: Broker, request: Request) -> Iterator[Effect]:
    """Describe topics by name, from the cursor on, until the page is full; then the answer has the
    cursor of the next page. Topics that the client may not describe are refused at the end, or left
    out of a list of all topics. If the cursor is invalid, refuse every requested topic."""
    body = RESPONSE.new()
    cursor = request.body.cursor
    names = names_in(broker, request)
    # VALIDATE: a limit out of bounds is brought within them.
    if cursor is not None and not is_valid(cursor, names, request.body.topics):
        for wanted in request.body.topics:
            body.topics.append(refusal(wanted.name, ErrorCode.INVALID_REQUEST))
        yield Respond(request, body)
        return
    most = broker.config.number("max.request.partition.size.limit")
    left = max(min(request.body.response_partition_limit, most), 1)
    # DEDUPLICATE, APPLY: reading changes nothing.
    may_see = yield from for_each(
        request, names, lambda name: broker.access.may(request, DESCRIBE_TOPIC, name)
    )
    seen = list(compress(names, may_see))
    for name in seen:
        yield GiveWay(request)
        if left <= 0:
            body.next_cursor = RESPONSE.struct("Cursor", topic_name=name, partition_index=0)
            break
        topic = broker.image.topics.get(name)
        if topic is None:
            bad = problem_with(name) is not None
            code = ErrorCode.INVALID_TOPIC_EXCEPTION if bad else UNKNOWN
            body.topics.append(refusal(name, code))
            continue
        first = cursor.partition_index if cursor and cursor.topic_name == name else 0
        indexes = [index for index in sorted(topic.partitions) if index >= first]
        body.topics.append(described(broker, request, topic, indexes[:left]))
        if len(indexes) > left:
            body.next_cursor = RESPONSE.struct(
                "Cursor", topic_name=name, partition_index=indexes[left]
            )
            break
        left -= len(indexes)
    for row in body.topics:
        yield GiveWay(request)
        row.topic_authorized_operations = broker.access.operations(
            request, ResourceType.TOPIC, row.name
        )
    if request.body.topics:  # a list of all topics leaves out denied ones
        denied = sorted(set(names) - set(seen))
        body.topics += [refusal(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for name in denied]
    # RESPOND
    yield Respond(request, body)


def names_in(broker: Broker, request: Request) -> list[str]:
    """Return the names of the requested topics, or of all if none is requested, each once and
    sorted, without those before the cursor."""
    wanted = [topic.name for topic in request.body.topics] or list(broker.image.topics)
    cursor = request.body.cursor
    start = cursor.topic_name if cursor else ""
    return sorted(name for name in set(wanted) if name >= start)


def is_valid(cursor: Struct, names: list[str], topics: list[Struct]) -> bool:
    """Return whether a cursor points into the requested topics. If the request names no topics, any
    cursor is valid, because its topic may have been deleted since the last page
    (DescribeTopicPartitionsRequestHandler.java)."""
    return cursor.partition_index >= 0 and (not topics or cursor.topic_name in names)


def described(broker: Broker, request: Request, topic: TopicImage, indexes: list[int]) -> Struct:
    """Return the row of one topic with these of its partitions."""
    alive = alive_brokers(broker, request)
    return RESPONSE.struct(
        "DescribeTopicPartitionsResponseTopic",
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[
            described_partition(index, topic.partitions[index], alive) for index in indexes
        ],
    )


def described_partition(index: int, state: PartitionImage, alive: Container[int]) -> Struct:
    """Return the row of a partition; a leader that is not in `alive` is named as -1
    (KRaftMetadataCache.partitionMetadataForDescribeTopicResponse)."""
    return RESPONSE.struct(
        "DescribeTopicPartitionsResponsePartition",
        partition_index=index,
        leader_id=state.leader if state.leader in alive else NO_LEADER,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=list(state.elr),
        last_known_elr=list(state.last_known_elr),
        offline_replicas=[replica for replica in state.replicas if replica not in alive],
    )


def refusal(name: str, code: ErrorCode) -> Struct:
    """Return the row of a topic that cannot be described, with the reason."""
    return RESPONSE.struct("DescribeTopicPartitionsResponseTopic", error_code=code, name=name)
