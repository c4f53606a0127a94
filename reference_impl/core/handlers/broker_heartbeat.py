"""BrokerHeartbeat (API key 63). Spec: KIP-631; KIP-858 (offline directories, v1), KIP-1066
(cordoned directories, v2)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.broker_changes import State, hear_in_slices
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import in_turns
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import definition

RESPONSE = definition("BrokerHeartbeatResponse")


def handle_broker_heartbeat(controller: Controller, request: Request) -> Iterator[Effect]:
    """Renew the session of a broker, and answer whether it has caught up with the metadata, is
    fenced, and may shut down. Refuse a broker whose epoch is not current."""
    answer = RESPONSE.new()
    try:
        # VALIDATE, APPLY
        controller.access.require(request, CLUSTER_ACTION)
        reply = yield from in_turns(request, hear_in_slices(controller, request.body))
        answer.is_caught_up = reply.is_caught_up
        answer.is_fenced = reply.state in (State.FENCED, State.SHUTDOWN_NOW)
        answer.should_shut_down = reply.state is State.SHUTDOWN_NOW
    except Refused as refused:
        answer.error_code = refused.code
    # DEDUPLICATE: a heartbeat that comes twice says the same.
    # RESPOND
    yield Respond(request, answer)
