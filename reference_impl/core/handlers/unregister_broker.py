"""UnregisterBroker (API key 64). Spec: KIP-631."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.unregistration import unregister_in_slices
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import in_turns
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import definition

RESPONSE = definition("UnregisterBrokerResponse")


def handle_unregister_broker(controller: Controller, request: Request) -> Iterator[Effect]:
    """Remove the registration of a broker, which an administrator says will not come back. Answer
    with an error if there is none."""
    answer = RESPONSE.new(error_message=None)
    try:
        # VALIDATE, DEDUPLICATE (a removed broker is not registered), APPLY
        controller.access.require(request, ALTER_CLUSTER)
        yield from in_turns(request, unregister_in_slices(controller, request.body.broker_id))
    except Refused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message
    # RESPOND
    yield Respond(request, answer)
