"""SaslHandshake (API key 17): the client chooses a mechanism. Spec: KIP-43; KIP-152 (version 1);
KIP-368 (re-authentication before the session ends)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("SaslHandshakeResponse")
TOKENS_IN_REQUESTS_SINCE = 1


def handle_sasl_handshake(broker: Broker, request: Request) -> Iterator[Effect]:
    """Begin an exchange of SASL tokens by the requested mechanism, or refuse the client and list
    the enabled mechanisms. Answer ILLEGAL_SASL_STATE where no exchange may begin."""
    # VALIDATE
    session = broker.authentication.session_of(request)
    if session is None or not session.may_begin:
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.ILLEGAL_SASL_STATE))
        return
    answer = RESPONSE.new(mechanisms=list(session.sasl.mechanisms))
    mechanism = request.body.mechanism
    if mechanism not in session.sasl.mechanisms:
        answer.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        yield from broker.authentication.refuse(session, Respond(request, answer))
        return
    # DEDUPLICATE: a second handshake begins a second exchange.
    # APPLY
    # [New in v1: KIP-152] Tokens come in SaslAuthenticate; before, they came as they are.
    framed = request.api_version >= TOKENS_IN_REQUESTS_SINCE
    yield from broker.authentication.begin(session, mechanism, framed=framed)
    # RESPOND
    yield Respond(request, answer)
