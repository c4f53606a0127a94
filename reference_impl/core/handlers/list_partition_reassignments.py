"""ListPartitionReassignments (API key 46). Spec: KIP-455."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.image.metadata_image import TopicImage
from reference_impl.core.controller.leaders.reassignments import is_moving
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("ListPartitionReassignmentsResponse")


def handle_list_partition_reassignments(
    controller: Controller, request: Request
) -> Iterator[Effect]:
    """Answer with those of the requested partitions, or of all, that are being moved."""
    # VALIDATE
    may = controller.access.may(request, DESCRIBE_CLUSTER)
    if not may:
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        yield Respond(request, RESPONSE.new(error_code=code, error_message=None))
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    answer = RESPONSE.new(error_message=None)
    wanted: Mapping[str, Sequence[int] | None]
    if request.body.topics is None:
        wanted = dict.fromkeys(sorted(controller.image.topics))
    else:
        wanted = {row.name: row.partition_indexes for row in request.body.topics}
    for name, indexes in wanted.items():
        yield GiveWay(request)
        topic = controller.image.topics.get(name)
        rows = [] if topic is None else moves(topic, indexes)
        if rows:
            row = RESPONSE.struct("OngoingTopicReassignment", name=name, partitions=rows)
            answer.topics.append(row)
    # RESPOND
    yield Respond(request, answer)


def moves(topic: TopicImage, indexes: Sequence[int] | None) -> list[Struct]:
    """Return the rows of a topic's partitions that are being moved: of these indexes, or of all if
    None."""
    wanted = sorted(topic.partitions) if indexes is None else indexes
    return [
        RESPONSE.struct(
            "OngoingPartitionReassignment",
            partition_index=index,
            replicas=list(state.replicas),
            adding_replicas=list(state.adding),
            removing_replicas=list(state.removing),
        )
        for index in wanted
        if (state := topic.partitions.get(index)) is not None and is_moving(state)
    ]
