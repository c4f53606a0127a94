"""Envelope (API key 58). Spec: KIP-590.

Source: ControllerApis.scala (handleEnvelopeRequest), RequestChannel.scala (buildResponse): an
answer that says NOT_CONTROLLER becomes the error of the envelope, so that the broker forwards the
request to the next controller, and its client does not notice.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Failed, Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.forwarding import decision
from reference_impl.core.refused import Refused
from reference_impl.core.requests.envelopes import answer_to_envelope, take_from_envelope
from reference_impl.core.storage import StorageError
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("EnvelopeResponse")


def handle_envelope(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the controller handle the request in the envelope as if the original client had sent it.
    Put the answer into an envelope, whose error is UNSUPPORTED_VERSION where the client's
    connection must be closed."""
    try:
        # VALIDATE
        forwarded = take_from_envelope(broker, request)
        # DEDUPLICATE, APPLY: as the handler of the forwarded API does.
        end = yield from decision(broker, forwarded)
        # RESPOND
        if isinstance(end, Respond):
            answer = answer_to_envelope(forwarded, end.body)
        else:  # so that the broker closes the client's connection, not its own to the controller
            answer = RESPONSE.new(error_code=ErrorCode.UNSUPPORTED_VERSION)
    except Refused as refused:
        answer = RESPONSE.new(error_code=refused.code)
    except StorageError:
        raise
    except Exception as error:
        # After a closed connection the broker would forward the request again, to fail again
        # (ControllerApis.handle, RequestHandlerHelper.handleError).
        yield Failed(None, error)
        answer = RESPONSE.new(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    yield Respond(request, answer)
