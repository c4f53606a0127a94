"""CreatePartitions (API key 37). Spec: CreatePartitionsRequest.json; KIP-195."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.topic_changes import RECORDS_MAX, grow_topic, plan_growth
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import TIMED_OUT, Refused
from reference_impl.core.requests.giving_way import counted, for_each
from reference_impl.core.security.authorization.permissions import ALTER_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("CreatePartitionsResponse")


def handle_create_partitions(controller: Controller, request: Request) -> Iterator[Effect]:
    """Give topics more partitions, each with its own result; existing data stays where it is. If
    the request's timeout is not positive, add none: answer REQUEST_TIMED_OUT for all, unless all
    would be refused anyway."""
    times = yield from counted(request, (topic.name for topic in request.body.topics))
    if request.body.timeout_ms <= 0:
        asked = partial(is_asked, controller, request, times)
        if any((yield from for_each(request, request.body.topics, asked))):
            # Kafka's controller gives up before it begins (KafkaEventQueue.java, deadlines).
            yield Respond(request, timed_out(request.body))
            return
    rows, left = [], RECORDS_MAX
    for wanted in {topic.name: topic for topic in request.body.topics}.values():
        yield GiveWay(request)
        row = RESPONSE.struct("CreatePartitionsTopicResult", name=wanted.name)
        rows.append(row)
        try:
            left = grow_one(controller, request, wanted, times[wanted.name], left)
            if left < 0:
                # An unexpected exception in Kafka, whose list of records is full then.
                left = 0
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
        except Refused as refused:
            row.error_code, row.error_message = refused.code, refused.message
    # RESPOND
    yield Respond(request, RESPONSE.new(results=rows))


def is_asked(
    controller: Controller, request: Request, times: Mapping[str, int], wanted: Struct
) -> bool:
    """Return whether the controller should handle this row: its topic is named once, and the client
    has the permission."""
    return times[wanted.name] == 1 and controller.access.may(request, ALTER_TOPIC, wanted.name)


def timed_out(body: Struct) -> Struct:
    """Return the response with REQUEST_TIMED_OUT for each topic, for a request whose timeout is not
    positive."""
    rows = [
        RESPONSE.struct(
            "CreatePartitionsTopicResult",
            name=topic.name,
            error_code=TIMED_OUT.code,
            error_message=TIMED_OUT.message,
        )
        for topic in body.topics
    ]
    return RESPONSE.new(results=rows)


def grow_one(
    controller: Controller, request: Request, wanted: Struct, times: int, left: int
) -> int:
    """Add partitions to one topic (validate_only: only check that this is possible), and return how
    many of the `left` metadata records the request may still write. If that is negative, the topic
    has not grown. Raise Refused if it may not grow, or is named more than once (`times`)."""
    # VALIDATE
    if times > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    controller.access.require(request, ALTER_TOPIC, wanted.name)
    topic = controller.image.topics.get(wanted.name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assignments = wanted.assignments
    growth = plan_growth(
        controller,
        topic,
        wanted.count,
        None if assignments is None else [row.broker_ids for row in assignments],
    )
    # DEDUPLICATE: a topic that has as many already was refused above, as in Kafka.
    # APPLY
    left -= len(growth)
    if left >= 0 and not request.body.validate_only:
        grow_topic(controller, topic, growth)
    return left
