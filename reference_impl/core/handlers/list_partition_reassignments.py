"""ListPartitionReassignments (API key 46). Spec: KIP-455.

With one node nothing ever moves, so that nothing is listed.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("ListPartitionReassignmentsResponse")


def handle_list_partition_reassignments(
    controller: Controller, request: Request
) -> Iterator[Effect]:
    """Answer with the partitions that are being moved."""
    # VALIDATE
    may = controller.access.may(request, DESCRIBE_CLUSTER)
    # DEDUPLICATE, APPLY: reading changes nothing.
    # RESPOND
    code = ErrorCode.NONE if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    yield Respond(request, RESPONSE.new(error_code=code, error_message=None))
