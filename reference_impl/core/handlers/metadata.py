"""Metadata (API key 3). Spec: MetadataRequest.json; KIP-78 (cluster id), KIP-320 (leader epoch),
KIP-430 (authorized operations), KIP-516 (topic ids since v10, questions by id since v12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.metadata_image import PartitionImage, TopicImage
from reference_impl.core.controller.image.topic_names import is_internal, problem_with
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.alive_brokers import Alive, alive_brokers, controller_told
from reference_impl.core.requests.automatic_topics import create_topic
from reference_impl.core.security.authorization.permissions import (
    CREATE_IN_CLUSTER,
    CREATE_TOPIC,
    DESCRIBE_CLUSTER,
    DESCRIBE_TOPIC,
)
from reference_impl.wire import ErrorCode, Struct, definition
from reference_impl.wire.acls import ResourceType
from reference_impl.wire.codec.primitives import ZERO_UUID

RESPONSE = definition("MetadataResponse")
NO_LEADER = -1
TELL_NOTHING = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def handle_metadata(broker: Broker, request: Request) -> Iterator[Effect]:
    """Describe the live brokers, and the named topics or all. Request the creation of a named topic
    that does not exist, if that is allowed; a client must ask again for it."""
    # VALIDATE and APPLY (auto-creation) happen for each topic on its own.
    # DEDUPLICATE: a topic named twice is described once.
    alive = alive_brokers(broker, request)
    body = RESPONSE.new(cluster_id=broker.cluster_id, controller_id=controller_told(broker, alive))
    body.brokers = [
        RESPONSE.struct(
            "MetadataResponseBroker",
            node_id=each.node_id,
            host=each.endpoint.host,
            port=each.endpoint.port,
            rack=each.rack,
        )
        for each in alive.values()
    ]
    pause = GiveWay(request)
    for row in topics_of(broker, request):
        if row is not None:
            body.topics.append(row)
        yield pause
    if request.body.include_topic_authorized_operations:
        for topic in body.topics:
            yield pause
            if topic.error_code not in TELL_NOTHING:
                topic.topic_authorized_operations = broker.access.operations(
                    request, ResourceType.TOPIC, topic.name
                )
    if request.body.include_cluster_authorized_operations:
        body.cluster_authorized_operations = (
            broker.access.operations(request, ResourceType.CLUSTER)
            if broker.access.may(request, DESCRIBE_CLUSTER)
            else 0
        )
    # RESPOND
    yield Respond(request, body)


def topics_of(broker: Broker, request: Request) -> Iterator[Struct | None]:
    """Yield the row of every requested topic, None for one that an earlier entry has requested. If
    all topics are requested, yield those that the client may describe. In versions 10 and 11,
    refuse every topic if one of them is requested by id."""
    wanted = request.body.topics
    # In version 0 an empty list means all topics; later null does.
    if wanted is None or (request.api_version == 0 and not wanted):
        for topic in list(broker.image.topics.values()):
            if broker.access.may(request, DESCRIBE_TOPIC, topic.name):
                yield described(broker, request, topic)
        return
    # [Modified in v12: KIP-516]
    if request.api_version in (10, 11) and any(
        topic.name is None or topic.topic_id != ZERO_UUID for topic in wanted
    ):
        for topic in wanted:
            yield refusal(topic.name or "", topic.topic_id, ErrorCode.INVALID_REQUEST)
        return
    seen = set()
    for topic in wanted:
        by_id = topic.topic_id != ZERO_UUID
        key = topic.topic_id if by_id else topic.name
        if key in seen:
            yield None
            continue
        seen.add(key)
        yield of_id(broker, request, topic) if by_id else of_name(broker, request, topic.name or "")


def of_id(broker: Broker, request: Request, wanted: Struct) -> Struct:
    """Return the row of a topic requested by id, or its refusal."""
    topic = broker.image.topics_by_id.get(wanted.topic_id)
    if topic is None:
        return refusal(None, wanted.topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
    if not broker.access.may(request, DESCRIBE_TOPIC, topic.name):
        # The client knows the id, but must not learn the name.
        return refusal(None, wanted.topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return described(broker, request, topic)


def of_name(broker: Broker, request: Request, name: str) -> Struct:
    """Return the row of a topic requested by name, or its refusal. Request the creation of a topic
    that does not exist, if that is allowed, and refuse it until it exists."""
    if not broker.access.may(request, DESCRIBE_TOPIC, name):
        return denial(name)  # the same answer whether or not the topic exists
    topic = broker.image.topics.get(name)
    if topic is not None:
        return described(broker, request, topic)
    creates = request.api_version < 4 or request.body.allow_auto_topic_creation
    creates = creates and broker.config.flag("auto.create.topics.enable")
    if creates and not may_create(broker, request, name):
        return refusal(name, ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if problem_with(name) is not None:
        return refusal(name, ZERO_UUID, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if creates:
        try:
            create_topic(broker, name)
        except Refused as refused:
            return refusal(name, ZERO_UUID, refused.code)
    # Kafka creates the topic in the background, and the client must ask again. Answer in the same
    # way, so that no client depends on a faster creation (AutoTopicCreationManager.java).
    return refusal(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def may_create(broker: Broker, request: Request, name: str) -> bool:
    """Return whether the requester is authorized to create the topic: CREATE on the cluster or on
    the topic."""
    return broker.access.may(request, CREATE_IN_CLUSTER) or broker.access.may(
        request, CREATE_TOPIC, name
    )


def denial(name: str) -> Struct:
    """Return the row for a topic that the client may not see. It does not even reveal whether the
    topic is internal."""
    row = refusal(name, ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    row.is_internal = False
    return row


def described(broker: Broker, request: Request, topic: TopicImage) -> Struct:
    """Return the row of a topic and its partitions."""
    alive = alive_brokers(broker, request)
    return RESPONSE.struct(
        "MetadataResponseTopic",
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=is_internal(topic.name),
        partitions=[
            described_partition(broker, request, index, state, alive)
            for index, state in sorted(topic.partitions.items())
        ],
    )


def described_partition(
    broker: Broker, request: Request, index: int, state: PartitionImage, alive: Mapping[int, Alive]
) -> Struct:
    """Return the row of a partition. If it has no leader, or one that is fenced or has no address
    on the client's listener, the row has leader -1 and an error
    (KRaftMetadataCache.partitionMetadata)."""
    code = ErrorCode.NONE
    if state.leader not in alive:
        has_no_listener = state.leader in broker.image.brokers and request.api_version >= 6
        code = ErrorCode.LISTENER_NOT_FOUND if has_no_listener else ErrorCode.LEADER_NOT_AVAILABLE
    return RESPONSE.struct(
        "MetadataResponsePartition",
        error_code=code,
        partition_index=index,
        leader_id=state.leader if code == ErrorCode.NONE else NO_LEADER,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        offline_replicas=[replica for replica in state.replicas if replica not in alive],
    )


def refusal(name: str | None, topic_id: object, code: ErrorCode) -> Struct:
    """Return the row of a topic that cannot be described, with the reason."""
    return RESPONSE.struct(
        "MetadataResponseTopic",
        error_code=code,
        name=name,
        topic_id=topic_id,
        is_internal=name is not None and is_internal(name),
    )
