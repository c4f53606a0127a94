"""AlterPartitionReassignments (API key 45). Spec: KIP-455; KIP-860 (replication factor, v1).

With one node a partition can only be where it is: that is accepted and moves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.topic_changes import check_reassignment
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("AlterPartitionReassignmentsResponse")


def handle_alter_partition_reassignments(
    controller: Controller, request: Request
) -> Iterator[Effect]:
    """Begin, change or cancel the move of partitions to other replicas."""
    # VALIDATE
    if not controller.access.may(request, ALTER_CLUSTER):
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return
    # DEDUPLICATE, APPLY: what is accepted is there already.
    answer = RESPONSE.new(
        allow_replication_factor_change=request.body.allow_replication_factor_change
    )
    for topic in request.body.topics:
        yield GiveWay(request)
        move = partial(result, controller, topic.name)
        rows = yield from for_each(request, topic.partitions, move)
        answer.responses.append(
            RESPONSE.struct("ReassignableTopicResponse", name=topic.name, partitions=rows)
        )
    # RESPOND
    yield Respond(request, answer)


def result(controller: Controller, topic: str, wanted: Struct) -> Struct:
    """Return one partition's row: moved, or the reason why not."""
    row = RESPONSE.struct(
        "ReassignablePartitionResponse", partition_index=wanted.partition_index, error_message=None
    )
    try:
        check_reassignment(controller, topic, wanted.partition_index, wanted.replicas)
    except Refused as refused:
        row.error_code, row.error_message = refused.code, refused.message
    return row
