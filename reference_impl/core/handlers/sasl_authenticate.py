"""SaslAuthenticate (API key 36): one SASL token of an exchange. Spec: KIP-152; KIP-368 (the
lifetime of the session, version 1)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.security.sasl.mechanisms import Denied
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("SaslAuthenticateResponse")


def handle_sasl_authenticate(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer each SASL token by another until the client is authenticated or refused. Answer a
    refused client after a delay, unless there is nothing to tell it, and close its connection.
    Answer ILLEGAL_SASL_STATE to a client that is not in an exchange."""
    # VALIDATE
    session = broker.authentication.session_of(request)
    if session is None or session.is_in:
        sentence = (
            "SaslAuthenticate request received"
            f" {'on a listener without SASL' if session is None else 'after authentication'}"
        )
        answer = RESPONSE.new(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=sentence)
        yield Respond(request, answer)
        return
    try:
        token = broker.authentication.token(session, bytes(request.body.auth_bytes))
    except Denied as denied:
        answer = RESPONSE.new(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=denied.message
        )
        told = Respond(request, answer) if denied.message else None
        yield from broker.authentication.refuse(session, told)
        return
    # DEDUPLICATE: the exchange knows which token comes next.
    # APPLY
    yield from broker.authentication.let_in(session)
    # RESPOND
    lifetime_ms = session.lifetime_ms if session.is_in else None
    body = RESPONSE.new(auth_bytes=token, session_lifetime_ms=lifetime_ms or 0)
    yield Respond(request, body)
