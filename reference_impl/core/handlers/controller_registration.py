"""ControllerRegistration (API key 70). Spec: KIP-919."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.leaders.controller_registrations import register_controller
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import definition

RESPONSE = definition("ControllerRegistrationResponse")


def handle_controller_registration(controller: Controller, request: Request) -> Iterator[Effect]:
    """Register an incarnation of a controller, in place of the one before it."""
    answer = RESPONSE.new(error_message=None)
    try:
        # VALIDATE, DEDUPLICATE (a registration that comes twice is written twice), APPLY
        controller.access.require(request, CLUSTER_ACTION)
        register_controller(controller, request.body)
    except Refused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message
    # RESPOND
    yield Respond(request, answer)
