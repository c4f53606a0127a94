"""DeleteTopics (API key 20). Spec: DeleteTopicsRequest.json; KIP-4, KIP-322 (delete.topic.enable),
KIP-516 (topic ids since v6)."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from functools import partial
from uuid import UUID

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.controller.topic_changes import delete_topic
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import TIMED_OUT, Refused
from reference_impl.core.requests.giving_way import counted, for_each
from reference_impl.core.security.authorization.permissions import (
    DELETE_IN_CLUSTER,
    DELETE_TOPIC,
    DESCRIBE_TOPIC,
    Permission,
)
from reference_impl.wire import ErrorCode, Struct, definition
from reference_impl.wire.codec.primitives import ZERO_UUID

RESPONSE = definition("DeleteTopicsResponse")
REQUEST = definition("DeleteTopicsRequest")


def handle_delete_topics(controller: Controller, request: Request) -> Iterator[Effect]:
    """Delete the topics that can be deleted; each gets its own result. If the request's timeout is
    not positive, delete none: answer REQUEST_TIMED_OUT for all, unless all would be refused
    anyway."""
    body = RESPONSE.new()
    wanted_topics = yield from wanted_in(request)
    times = yield from counted(request, ((row.name, row.topic_id) for row in wanted_topics))
    if request.body.timeout_ms <= 0 and controller.config.flag("delete.topic.enable"):
        asked = partial(is_asked, times)
        if any((yield from for_each(request, wanted_topics, asked))):
            # Kafka's controller gives up before it begins (KafkaEventQueue.java, deadlines).
            body.responses = [timed_out(wanted) for wanted in wanted_topics]
            yield Respond(request, body)
            return
    answered = set()
    for wanted in wanted_topics:
        yield GiveWay(request)
        if (wanted.name, wanted.topic_id) in answered:
            continue
        answered.add((wanted.name, wanted.topic_id))
        answer = RESPONSE.struct("DeletableTopicResult", name=wanted.name, topic_id=wanted.topic_id)
        try:
            topic = checked(controller, request, wanted, times[wanted.name, wanted.topic_id])
            answer.name, answer.topic_id = topic.name, topic.topic_id
            # DEDUPLICATE: a topic that is gone is unknown.
            # APPLY
            delete_topic(controller, topic)
        except Refused as refused:
            answer.error_code, answer.error_message = refused.code, refused.message
            if refused.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                answer.name = name_to_tell(controller, request, wanted)
        body.responses.append(answer)
    # RESPOND
    yield Respond(request, body)


def is_asked(times: Mapping[tuple[str | None, UUID], int], wanted: Struct) -> bool:
    """Return whether the controller should handle this row: it names a topic either by name or by
    id, and only once."""
    by_id = wanted.topic_id != ZERO_UUID
    return by_id == (wanted.name is None) and times[wanted.name, wanted.topic_id] == 1


def timed_out(wanted: Struct) -> Struct:
    """Return the row with REQUEST_TIMED_OUT, for a request whose timeout is not positive."""
    return RESPONSE.struct(
        "DeletableTopicResult",
        name=wanted.name,
        topic_id=wanted.topic_id,
        error_code=TIMED_OUT.code,
        error_message=TIMED_OUT.message,
    )


def wanted_in(request: Request) -> Generator[Effect, None, list[Struct]]:
    """Return the topics of a request of any version, each as a row of version 6 (KIP-516)."""
    if request.api_version >= 6:
        topics: list[Struct] = request.body.topics
        return topics
    return (
        yield from for_each(
            request,
            request.body.topic_names,
            lambda name: REQUEST.struct("DeleteTopicState", name=name),
        )
    )


def checked(controller: Controller, request: Request, wanted: Struct, times: int) -> TopicImage:
    """Return the topic to delete, which the request names `times` times. Raise Refused if it does
    not exist, if both or neither of its name and id are given, if it is named more than once, or if
    it may not be deleted."""
    # VALIDATE
    if not controller.config.flag("delete.topic.enable"):
        # [Modified in v3: KIP-322]
        raise Refused(
            ErrorCode.TOPIC_DELETION_DISABLED
            if request.api_version >= 3
            else ErrorCode.INVALID_REQUEST
        )
    by_id = wanted.topic_id != ZERO_UUID
    if by_id and wanted.name is not None:
        raise Refused(
            ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."
        )
    if not by_id and wanted.name is None:
        raise Refused(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if times > 1:
        raise Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name or id.")
    topic = controller.image.topic_of(wanted.name, wanted.topic_id)
    if not by_id:
        # Only a client that may describe the topic learns whether it exists.
        require_in(controller, request, DESCRIBE_TOPIC, wanted.name)
    if topic is None:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "This server does not host this topic ID."
            if by_id
            else "This server does not host this topic-partition.",
        )
    require_in(controller, request, DELETE_TOPIC, topic.name)
    return topic


def name_to_tell(controller: Controller, request: Request, wanted: Struct) -> str | None:
    """Return the topic name to put in an authorization error: the requested name or, if an existing
    id was requested, that topic's name, or None if the client may not see it."""
    topic = controller.image.topics_by_id.get(wanted.topic_id)
    if wanted.name is None and topic is not None:
        known = controller.access.may(request, DESCRIBE_TOPIC, topic.name)
        return topic.name if known else None
    name: str | None = wanted.name
    return name


def require_in(controller: Controller, request: Request, permission: Permission, name: str) -> None:
    """Raise Refused unless the client has the permission for this topic, or may delete everything
    in the cluster."""
    if not controller.access.may(request, DELETE_IN_CLUSTER):
        controller.access.require(request, permission, name)
