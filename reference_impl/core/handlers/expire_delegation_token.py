"""ExpireDelegationToken (API key 40). Spec: KIP-48; DelegationTokenControlManager.java."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.token_changes import move_expiry, remove_tokens
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.sasl.tokens import time_beside
from reference_impl.wire import definition

RESPONSE = definition("ExpireDelegationTokenResponse")


def handle_expire_delegation_token(broker: Broker, request: Request) -> Iterator[Effect]:
    """Set the expiry of a token, or remove the token where the period is negative."""
    body = request.body
    answer = RESPONSE.new()
    try:
        # VALIDATE
        broker.authentication.check_may_manage_tokens(request)
        token = broker.tokens.proven_by(bytes(body.hmac))
        broker.tokens.check_manager(token, broker.principal_of(request))
        # DEDUPLICATE: a token that was removed is not found. APPLY
        if body.expiry_time_period_ms < 0:
            remove_tokens(broker.controller, [token])
            answer.expiry_timestamp_ms = broker.now_ms
        else:
            broker.tokens.check_alive(token)
            answer.expiry_timestamp_ms = move_expiry(
                broker.controller, token, body.expiry_time_period_ms
            )
    except Refused as refused:
        answer.error_code, answer.expiry_timestamp_ms = refused.code, time_beside(refused)
    # RESPOND
    yield Respond(request, answer)
