"""BrokerRegistration (API key 62). Spec: KIP-631; KIP-858 (directories, v2), KIP-966 (previous
broker epoch, v3)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.broker_changes import register_in_slices
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import in_turns
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import definition

RESPONSE = definition("BrokerRegistrationResponse")


def handle_broker_registration(controller: Controller, request: Request) -> Iterator[Effect]:
    """Register an incarnation of a broker, and answer with the epoch that it gets, or with an error
    if it does not fit the cluster or the incarnation before it still lives."""
    # VALIDATE, DEDUPLICATE (an incarnation that registers again amends what it said), APPLY
    answer = RESPONSE.new()
    try:
        controller.access.require(request, CLUSTER_ACTION)
        slices = register_in_slices(controller, request.body)
        answer.broker_epoch = yield from in_turns(request, slices)
    except Refused as refused:
        answer.error_code = refused.code
    # RESPOND
    yield Respond(request, answer)
