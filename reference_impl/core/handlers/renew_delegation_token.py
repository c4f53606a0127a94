"""RenewDelegationToken (API key 39). Spec: KIP-48; DelegationTokenControlManager.java."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.token_changes import renew_token
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.sasl.tokens import time_beside
from reference_impl.wire import definition

RESPONSE = definition("RenewDelegationTokenResponse")


def handle_renew_delegation_token(broker: Broker, request: Request) -> Iterator[Effect]:
    """Move the expiry of a token, at most to the end of its lifetime."""
    body = request.body
    answer = RESPONSE.new()
    try:
        # VALIDATE
        broker.authentication.check_may_manage_tokens(request)
        token = broker.tokens.proven_by(bytes(body.hmac))
        broker.tokens.check_alive(token)
        broker.tokens.check_manager(token, broker.principal_of(request))
        # DEDUPLICATE: a repetition moves the expiry again. APPLY
        answer.expiry_timestamp_ms = renew_token(broker.controller, token, body.renew_period_ms)
    except Refused as refused:
        answer.error_code, answer.expiry_timestamp_ms = refused.code, time_beside(refused)
    # RESPOND
    yield Respond(request, answer)
