"""Heartbeat (API key 12). Spec: HeartbeatRequest.json; KIP-62, KIP-345."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups.classic.syncing import heartbeat, is_rebalancing
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import READ_GROUP
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("HeartbeatResponse")


def handle_heartbeat(broker: Broker, request: Request) -> Iterator[Effect]:
    """Renew a member's session; the error code says whether it must join again. While the group is
    being loaded, answer NONE."""
    code = ErrorCode.NONE
    try:
        # VALIDATE, APPLY (the session begins again). DEDUPLICATE: once more does no harm.
        broker.access.require(request, READ_GROUP, request.body.group_id)
        coordinator = broker.groups.of_request(request)
        yield from heartbeat(coordinator, request)
        if is_rebalancing(coordinator, request.body.group_id):
            code = ErrorCode.REBALANCE_IN_PROGRESS
    except Refused as refused:
        # While the group is being loaded, answer NONE: old clients do not know the error, and all
        # sessions start again afterwards (GroupCoordinatorService.java, heartbeat).
        is_loading = refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        code = ErrorCode.NONE if is_loading else refused.code
    # RESPOND
    yield Respond(request, RESPONSE.new(error_code=code))
