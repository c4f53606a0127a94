"""CreateDelegationToken (API key 38). Spec: KIP-48; KIP-373 (tokens for somebody else, version 3);
ControllerApis.scala, DelegationTokenControlManager.java."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.token_changes import create_token
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import CREATE_TOKENS_FOR_USER
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("CreateDelegationTokenResponse")
USER = "User"


def handle_create_delegation_token(broker: Broker, request: Request) -> Iterator[Effect]:
    """Create a token for the requester, or for the owner that the request names."""
    body = request.body
    requester = broker.principal_of(request)
    # [New in v3: KIP-373]
    owner = requester
    if body.owner_principal_name:
        owner = f"{body.owner_principal_type or ''}:{body.owner_principal_name}"
    answer = RESPONSE.new(issue_timestamp_ms=-1, expiry_timestamp_ms=-1, max_timestamp_ms=-1)
    answer.principal_type, _, answer.principal_name = owner.partition(":")
    kind, _, name = requester.partition(":")
    answer.token_requester_principal_type, answer.token_requester_principal_name = kind, name
    try:
        # VALIDATE
        broker.authentication.check_may_manage_tokens(request)
        if body.owner_principal_type is None and body.owner_principal_name:
            raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE)
        if owner != requester:
            broker.access.require(request, CREATE_TOKENS_FOR_USER, owner)
        broker.tokens.check_enabled()
        if any(renewer.principal_type != USER for renewer in body.renewers):
            raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE)
        # DEDUPLICATE: each request creates a token of its own. APPLY
        renewers = [f"{USER}:{renewer.principal_name}" for renewer in body.renewers]
        token = create_token(broker.controller, owner, requester, renewers, body.max_lifetime_ms)
    except Refused as refused:
        answer.error_code = refused.code
    else:
        answer.issue_timestamp_ms, answer.max_timestamp_ms = token.issue_ms, token.max_ms
        answer.expiry_timestamp_ms, answer.token_id = token.expiry_ms, token.token_id
        answer.hmac = broker.tokens.hmac_of(token.token_id)
    # RESPOND
    yield Respond(request, answer)
