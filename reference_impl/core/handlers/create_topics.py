"""CreateTopics (API key 19). Spec: CreateTopicsRequest.json; KIP-4, KIP-464 (defaults), KIP-525
(v5: the answer describes the created topic), KIP-516 (topic id, v7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from reference_impl.core.configs.entries import topic_entries
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.topic_changes import (
    BY_DEFAULT,
    RECORDS_MAX,
    NewTopic,
    plan_topic,
    publish_topic,
    refused_number,
)
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import TIMED_OUT, Refused
from reference_impl.core.requests.giving_way import counted, for_each
from reference_impl.core.security.authorization.permissions import (
    CREATE_IN_CLUSTER,
    CREATE_TOPIC,
    DESCRIBE_CONFIGS_OF_TOPIC,
)
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("CreateTopicsResponse")
TOO_MANY_RECORDS = Refused(
    ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
)


def handle_create_topics(controller: Controller, request: Request) -> Iterator[Effect]:
    """Create the topics that can be created; each gets its own result. If the request's timeout is
    not positive, create none: answer REQUEST_TIMED_OUT for all, unless all would be refused
    anyway."""
    body = RESPONSE.new()
    times = yield from counted(request, (topic.name for topic in request.body.topics))
    if request.body.timeout_ms <= 0:
        asked = partial(is_asked, controller, request, times)
        if any((yield from for_each(request, request.body.topics, asked))):
            # Kafka's controller gives up before it begins (KafkaEventQueue.java, deadlines).
            body.topics = [refusal(topic.name, TIMED_OUT) for topic in request.body.topics]
            yield Respond(request, body)
            return
    asked_of = partial(partitions_in, controller)
    partitions = yield from for_each(request, request.body.topics, asked_of)
    too_many = refused_number(sum(partitions))
    if too_many is None and sum(partitions) + records_beside(request.body) > RECORDS_MAX:
        needed_of = partial(records_of, controller, request, times)
        if sum((yield from for_each(request, request.body.topics, needed_of))) > RECORDS_MAX:
            too_many = TOO_MANY_RECORDS
    answered = set()
    for wanted in request.body.topics:
        yield GiveWay(request)
        if wanted.name in answered:
            continue
        answered.add(wanted.name)
        try:
            if too_many is not None:
                raise too_many
            row = create_one(controller, request, wanted, times[wanted.name])
            body.topics.append(row)
        except Refused as refused:
            body.topics.append(refusal(wanted.name, refused))
    # RESPOND
    yield Respond(request, body)


def is_asked(
    controller: Controller, request: Request, times: Mapping[str, int], wanted: Struct
) -> bool:
    """Return whether the controller should handle this row: its topic is named once, and the client
    has the permission."""
    return times[wanted.name] == 1 and (
        controller.access.may(request, CREATE_IN_CLUSTER)
        or controller.access.may(request, CREATE_TOPIC, wanted.name)
    )


def partitions_in(controller: Controller, wanted: Struct) -> int:
    """Return the number of partitions that a row of the request asks for, by its assignments, its
    number or the default. Return 0 for a negative number."""
    if wanted.assignments:
        return len(wanted.assignments)
    if wanted.num_partitions == BY_DEFAULT:
        return controller.config.number("num.partitions")
    return max(0, int(wanted.num_partitions))


def records_beside(body: Struct) -> int:
    """Return how many metadata records the topics of a request need besides those of their
    partitions."""
    return sum(1 + len(topic.configs) for topic in body.topics)


def records_of(
    controller: Controller, request: Request, times: Mapping[str, int], wanted: Struct
) -> int:
    """Return how many metadata records a topic needs: 0 if it is refused."""
    try:
        topic = planned(controller, request, wanted, times[wanted.name])
    except Refused:
        return 0
    return 1 + len(topic.configs) + len(topic.assignments)


def planned(controller: Controller, request: Request, wanted: Struct, times: int) -> NewTopic:
    """Return the plan of one topic that the request names `times` times. Raise Refused if that is
    more than once, or if the topic is not possible or not permitted."""
    if times > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    if not controller.access.may(request, CREATE_IN_CLUSTER):
        controller.access.require(request, CREATE_TOPIC, wanted.name)
    return plan_topic(
        controller,
        wanted.name,
        wanted.num_partitions,
        wanted.replication_factor,
        assignments_of(wanted),
        {config.name: config.value for config in wanted.configs},
    )


def create_one(controller: Controller, request: Request, wanted: Struct, times: int) -> Struct:
    """Create one topic (validate_only: only check that this is possible), and return its row. Raise
    Refused if it is not possible or not permitted."""
    # VALIDATE
    topic = planned(controller, request, wanted, times)
    # DEDUPLICATE: a name that exists was refused above.
    # APPLY
    if not request.body.validate_only:
        publish_topic(controller, topic)
    if controller.access.may(request, DESCRIBE_CONFIGS_OF_TOPIC, topic.name):
        return acceptance(controller, topic)
    return RESPONSE.struct(
        "CreatableTopicResult",
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        configs=[],
    )


def assignments_of(wanted: Struct) -> dict[int, list[int]]:
    """Return the replicas that the client assigned to each partition. Raise Refused if it names a
    partition twice."""
    found: dict[int, list[int]] = {}
    for row in wanted.assignments:
        if row.partition_index in found:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {row.partition_index}",
            )
        found[row.partition_index] = row.broker_ids
    return found


def acceptance(controller: Controller, topic: NewTopic) -> Struct:
    """Return the result of a topic that was created, or would have been (validate_only)."""
    return RESPONSE.struct(
        "CreatableTopicResult",
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=len(topic.assignments),
        replication_factor=len(topic.assignments[0]),
        configs=[
            RESPONSE.struct(
                "CreatableTopicConfigs",
                name=entry.key.name,
                value=entry.value,
                read_only=False,
                config_source=entry.source,
                is_sensitive=entry.is_sensitive,
            )
            for entry in topic_entries(controller, topic.configs)
        ],
    )


def refusal(name: str, refused: Refused) -> Struct:
    """Return the row of a topic that was not created, with the reason."""
    return RESPONSE.struct(
        "CreatableTopicResult",
        name=name,
        error_code=refused.code,
        error_message=refused.message,
        configs=[],
    )
