"""AlterPartitionReassignments (API key 45). Spec: KIP-455; KIP-860 (replication factor, v1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.reassignments import reassign
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
    """Begin, change or cancel the move of partitions to other replicas, and answer with a result
    for each partition."""
    # VALIDATE
    if not controller.access.may(request, ALTER_CLUSTER):
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        return
    # DEDUPLICATE, APPLY: a partition that has these replicas already does not move.
    may_change_factor = request.body.allow_replication_factor_change
    answer = RESPONSE.new(allow_replication_factor_change=may_change_factor)
    for topic in request.body.topics:
        yield GiveWay(request)
        move = partial(result, controller, topic.name, may_change_factor)
        rows = yield from for_each(request, topic.partitions, move)
        answer.responses.append(
            RESPONSE.struct("ReassignableTopicResponse", name=topic.name, partitions=rows)
        )
    # RESPOND
    yield Respond(request, answer)


def result(controller: Controller, topic: str, may_change_factor: bool, wanted: Struct) -> Struct:
    """Begin, change or (for null replicas) cancel the move of one partition. Return its row, with
    the error if that was refused."""
    row = RESPONSE.struct(
        "ReassignablePartitionResponse", partition_index=wanted.partition_index, error_message=None
    )
    try:
        reassign(
            controller,
            topic,
            wanted.partition_index,
            wanted.replicas,
            may_change_factor=may_change_factor,
        )
    except Refused as refused:
        row.error_code, row.error_message = refused.code, refused.message
    return row
