"""Forwarding: a broker sends requests that change the cluster to the active controller, and passes
the answer on.

Source: ForwardingManager.scala, KafkaApis.scala (forwardToController); KIP-590;
QuorumController.java (DeferredEventQueue). The controller answers when its decision is committed.
If the controller is on this node, the broker opens and removes its own partitions, one after
another, before it answers the client.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, cast

from reference_impl.core.broker import Broker
from reference_impl.core.effects import CloseConnection, Effect, Failed, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.asking_controller import ask_controller
from reference_impl.core.requests.envelopes import answer_in, put_in_envelope
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Applied, Unanswered
from reference_impl.wire import ApiKey, ErrorCode, Malformed, Struct

RETRY_TIMEOUT_MS = 60_000
"""The milliseconds for which a broker tries to reach an active controller (ForwardingManager's
channel)."""


def forward(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the active controller handle the request, and yield its answer."""
    yield (yield from outcome(broker, request))


def forward_change_of_topics(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the active controller handle the request, and open and remove the replicas of this broker
    that have been created or deleted; then yield the answer."""
    end = yield from outcome(broker, request)
    yield from for_each(request, broker.replicas.unopened(), broker.replicas.open)
    yield from for_each(request, broker.replicas.leaving(), broker.replicas.remove)
    yield end


def forward_change_of_token(
    broker: Broker, request: Request, unanswered: Struct
) -> Iterator[Effect]:
    """Let the active controller handle the request of a client that may manage delegation tokens.
    Send any other client `unanswered`, with the error."""
    try:
        broker.authentication.check_may_manage_tokens(request)
    except Refused as refused:
        unanswered.error_code = refused.code
        yield Respond(request, unanswered)
    else:
        yield from forward(broker, request)


def outcome(broker: Broker, request: Request) -> Generator[Effect, Any, Effect]:
    """Let the active controller handle the request, wherever it is. Return the effect that ends the
    request: Respond, with an error if no controller answers, or CloseConnection. A controller on
    this node needs no envelope."""
    if broker.quorum.active_epoch is not None:
        try:
            return (yield from decision(broker, request))
        except Refused as refused:
            if refused.code is not ErrorCode.NOT_CONTROLLER:
                return refusal(broker, request, refused.code)
    body = put_in_envelope(broker, request)
    try:
        answer = yield from ask_controller(broker, ApiKey.ENVELOPE, body, RETRY_TIMEOUT_MS)
    except Unanswered:
        return refusal(broker, request, ErrorCode.UNKNOWN_SERVER_ERROR)
    except Refused as refused:
        return refusal(broker, request, refused.code)
    return in_envelope(broker, request, answer)


def in_envelope(broker: Broker, request: Request, answer: Struct) -> Effect:
    """Return the effect that ends a request, given the answer to its envelope
    (ForwardingManager.onComplete)."""
    if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
        # The client must ask again which versions there are: this controller is an older one.
        return CloseConnection(request.connection, "the controller cannot read the request")
    if answer.error_code != ErrorCode.NONE or answer.response_data is None:
        # The client can do nothing about an envelope that is refused.
        return refusal(broker, request, ErrorCode.UNKNOWN_SERVER_ERROR)
    try:
        return Respond(request, answer_in(request, bytes(answer.response_data)))
    except Malformed:
        return refusal(broker, request, ErrorCode.UNKNOWN_SERVER_ERROR)


def refusal(broker: Broker, request: Request, code: ErrorCode) -> Respond:
    """Return the answer that refuses the whole request."""
    refuse = broker.controller.apis[request.api_key].refuse
    assert refuse is not None
    return Respond(request, refuse(request, code))


def decide(broker: Broker, request: Request) -> Iterator[Effect]:
    """Handle a request that was sent to this node's controller. Refuse it if that controller is not
    the active one, or ceases to be before its decision is committed."""
    request.is_for_controller = True
    try:
        yield (yield from decision(broker, request))
    except Refused as refused:
        yield refusal(broker, request, refused.code)


def decision(broker: Broker, request: Request) -> Generator[Effect, Any, Effect]:
    """Let the controller of this node handle the request. Return the effect that ends it, once
    everything in the metadata log up to now is committed, since the answer may depend on a decision
    made for another request. Answer requests about the quorum itself (`tells_of_no_decision`) at
    once, on any controller. Let a handler's Refused or StorageError pass; any other exception
    becomes UNKNOWN_SERVER_ERROR. Raise Refused(NOT_CONTROLLER) if this controller is not active, or
    if the decision may be lost because another has taken over."""
    controller, epoch = broker.controller, broker.quorum.active_epoch
    api = controller.apis[request.api_key]
    if epoch is None and not api.tells_of_no_decision:
        raise Refused(ErrorCode.NOT_CONTROLLER)
    try:
        effect = yield from until_end(api.handle(controller, request))
    except (Refused, StorageError):
        raise
    except Exception as error:
        # The client learns of it in the API's own form (RequestHandlerHelper.handleError).
        yield Failed(None, error)
        return refusal(broker, request, ErrorCode.UNKNOWN_SERVER_ERROR)
    if isinstance(effect, Respond) and not api.tells_of_no_decision:
        yield Applied(controller.image.end_offset, decided_in=epoch)
    return effect


def until_end(handler: Iterator[Effect]) -> Generator[Effect, Any, Effect]:
    """Run a handler until it yields the effect that ends its request (a response, or the closing of
    the connection), and return that effect. Yield each effect before it, and pass the result, or
    the Refused that is thrown in, to the handler."""
    generator = cast("Generator[Effect, Any, None]", handler)
    try:
        effect = next(generator)
        while not isinstance(effect, Respond | CloseConnection):
            try:
                result = yield effect
            except Refused as refused:
                effect = generator.throw(refused)
            else:
                effect = generator.send(result)
    finally:
        generator.close()
    return effect
