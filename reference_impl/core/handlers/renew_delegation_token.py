"""RenewDelegationToken (API key 39). Spec: KIP-48; DelegationTokenControlManager.java."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.token_changes import renew_token
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.forwarding import forward_change_of_token
from reference_impl.core.refused import Refused
from reference_impl.wire import definition

RESPONSE = definition("RenewDelegationTokenResponse")


def handle_renew_delegation_token(controller: Controller, request: Request) -> Iterator[Effect]:
    """Move the expiry of a token, at most to the end of its lifetime, and answer with the new
    expiry. Refuse a token that is unknown or has expired, and a client that is neither its owner
    nor a renewer."""
    body = request.body
    answer = RESPONSE.new()
    try:
        # VALIDATE
        token = controller.tokens.proven_by(bytes(body.hmac))
        controller.tokens.check_alive(token)
        controller.tokens.check_manager(token, controller.access.principal_of(request))
        # DEDUPLICATE: a repetition moves the expiry again. APPLY
        answer.expiry_timestamp_ms = renew_token(controller, token, body.renew_period_ms)
    except Refused as refused:
        answer.error_code = refused.code
    # RESPOND
    yield Respond(request, answer)


def forward_renew_delegation_token(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the active controller handle the request of a client that may manage tokens. Answer any
    other client with an error."""
    yield from forward_change_of_token(broker, request, RESPONSE.new(expiry_timestamp_ms=-1))
