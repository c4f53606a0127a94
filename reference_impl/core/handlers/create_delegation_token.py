"""CreateDelegationToken (API key 38). Spec: KIP-48; KIP-373 (tokens for another owner, version 3);
ControllerApis.scala, DelegationTokenControlManager.java."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.token_changes import create_token
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.forwarding import forward_change_of_token
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.access import Access
from reference_impl.core.security.authorization.permissions import CREATE_TOKENS_FOR_USER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("CreateDelegationTokenResponse")
USER = "User"


def handle_create_delegation_token(controller: Controller, request: Request) -> Iterator[Effect]:
    """Create a token for the requester, or for the owner that the request names, and answer with
    the token. Refuse an owner that is named without a type or for whom the client may not create
    tokens, a renewer that is not a user, and every request while tokens are disabled."""
    body, answer = request.body, unanswered(controller.access, request)
    owner, requester = owner_in(controller.access, request)
    try:
        # VALIDATE
        if body.owner_principal_type is None and body.owner_principal_name:
            raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE)
        if owner != requester:
            controller.access.require(request, CREATE_TOKENS_FOR_USER, owner)
        controller.tokens.check_enabled()
        if any(renewer.principal_type != USER for renewer in body.renewers):
            raise Refused(ErrorCode.INVALID_PRINCIPAL_TYPE)
        # DEDUPLICATE: each request creates a token of its own. APPLY
        renewers = [f"{USER}:{renewer.principal_name}" for renewer in body.renewers]
        token = create_token(controller, owner, requester, renewers, body.max_lifetime_ms)
    except Refused as refused:
        answer.error_code = refused.code
    else:
        answer.issue_timestamp_ms, answer.max_timestamp_ms = token.issue_ms, token.max_ms
        answer.expiry_timestamp_ms, answer.token_id = token.expiry_ms, token.token_id
        answer.hmac = controller.tokens.hmac_of(token.token_id)
    # RESPOND
    yield Respond(request, answer)


def owner_in(access: Access, request: Request) -> tuple[str, str]:
    """Return the principal that will own the token, and the principal that requests it."""
    requester, body = access.principal_of(request), request.body
    # [New in v3: KIP-373]
    if body.owner_principal_name:
        return f"{body.owner_principal_type or ''}:{body.owner_principal_name}", requester
    return requester, requester


def unanswered(access: Access, request: Request) -> Struct:
    """Return a response that names the owner and the requester but contains no token, for a request
    that is refused."""
    answer = RESPONSE.new(issue_timestamp_ms=-1, expiry_timestamp_ms=-1, max_timestamp_ms=-1)
    owner, requester = owner_in(access, request)
    answer.principal_type, _, answer.principal_name = owner.partition(":")
    kind, _, name = requester.partition(":")
    answer.token_requester_principal_type, answer.token_requester_principal_name = kind, name
    return answer


def forward_create_delegation_token(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the active controller handle the request of a client that may manage tokens. Answer any
    other client with an error."""
    yield from forward_change_of_token(broker, request, unanswered(broker.access, request))
