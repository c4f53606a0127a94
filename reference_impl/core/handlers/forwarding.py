"""Forwarding: a broker lets the controller answer what changes the cluster.

Source: ForwardingManager.scala, KafkaApis.scala (forwardToController); KIP-590;
QuorumController.java (DeferredEventQueue). The controller
answers when its decision is committed; what it means for this broker's partitions is done before
the client hears of it, one partition after the other.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.effects import CloseConnection, Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.waiting.waits import Applied
from reference_impl.wire import ErrorCode


def forward(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the controller of this node handle the request."""
    yield (yield from outcome(broker, request))


def forward_change_of_topics(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the controller handle the request, then open and remove partitions."""
    end = yield from outcome(broker, request)
    yield from for_each(request, broker.replicas.unopened(), broker.replicas.open)
    yield from for_each(request, broker.replicas.leaving(), broker.replicas.remove)
    yield end


def outcome(broker: Broker, request: Request) -> Generator[Effect, Any, Effect]:
    """Let the controller of this node handle the request, and return how that ends: Respond or
    CloseConnection. Refuse it if the controller is not the active one, or ceases to be before the
    answer is sure."""
    try:
        return (yield from decision(broker, request))
    except Refused as refused:
        refuse = broker.controller.apis[request.api_key].refuse
        assert refuse is not None
        return Respond(request, refuse(request, refused.code))


def decision(broker: Broker, request: Request) -> Generator[Effect, Any, Effect]:
    """Let the controller of this node handle the request. Return how that ends, once the whole
    metadata log known to it is committed, since the answer may depend on a decision made for
    another request. Raise Refused(NOT_CONTROLLER) if it may have decided in vain."""
    controller, epoch = broker.controller, broker.quorum.active_epoch
    api = controller.apis[request.api_key]
    if epoch is None and not api.tells_of_no_decision:
        raise Refused(ErrorCode.NOT_CONTROLLER)
    for effect in api.handle(controller, request):
        if isinstance(effect, CloseConnection):
            return effect
        if isinstance(effect, Respond):
            if not api.tells_of_no_decision:
                yield Applied(controller.image.end_offset, decided_in=epoch)
            return effect
        yield effect
    raise RuntimeError(f"nobody has answered a request of API {request.api_key}")
