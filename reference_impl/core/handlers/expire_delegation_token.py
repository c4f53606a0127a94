"""ExpireDelegationToken (API key 40). Spec: KIP-48; DelegationTokenControlManager.java."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.token_changes import move_expiry, remove_tokens
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.forwarding import forward_change_of_token
from reference_impl.core.refused import Refused
from reference_impl.wire import definition

RESPONSE = definition("ExpireDelegationTokenResponse")


def handle_expire_delegation_token(controller: Controller, request: Request) -> Iterator[Effect]:
    """Set the expiry of a token, and answer with the new expiry; remove the token if the period is
    negative. Refuse a token that is unknown or, unless it is to be removed, has expired. Refuse a
    client that is neither the token's owner nor a renewer."""
    body = request.body
    answer = RESPONSE.new()
    try:
        # VALIDATE
        token = controller.tokens.proven_by(bytes(body.hmac))
        controller.tokens.check_manager(token, controller.access.principal_of(request))
        # DEDUPLICATE: a token that was removed is not found. APPLY
        if body.expiry_time_period_ms < 0:
            remove_tokens(controller, [token])
            answer.expiry_timestamp_ms = controller.now_ms
        else:
            controller.tokens.check_alive(token)
            answer.expiry_timestamp_ms = move_expiry(controller, token, body.expiry_time_period_ms)
    except Refused as refused:
        answer.error_code = refused.code
    # RESPOND
    yield Respond(request, answer)


def forward_expire_delegation_token(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the active controller handle the request of a client that may manage tokens. Answer any
    other client with an error."""
    yield from forward_change_of_token(broker, request, RESPONSE.new(expiry_timestamp_ms=-1))
