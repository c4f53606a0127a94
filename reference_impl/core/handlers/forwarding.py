"""Forwarding: a broker lets the controller answer what changes the cluster.

Source: ForwardingManager.scala, KafkaApis.scala (forwardToController); KIP-590;
QuorumController.java (DeferredEventQueue). The controller
answers when its decision is committed; what it means for this broker's partitions is done before
the client hears of it, one partition after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.waiting.waits import Applied
from reference_impl.wire import ErrorCode


def forward(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the controller handle the request. Send its answer only when the whole metadata log known
    to it is committed, since the answer may depend on a decision made for another request."""
    controller = broker.controller
    api = controller.apis[request.api_key]
    if broker.controller_id != broker.node_id and api.refuse is not None:
        yield Respond(request, api.refuse(request, ErrorCode.NOT_CONTROLLER))
        return
    for effect in api.handle(controller, request):
        if isinstance(effect, Respond) and not api.tells_of_no_decision:
            yield Applied(controller.image.end_offset)
        yield effect


def forward_change_of_topics(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let the controller handle the request, then open and remove partitions."""
    for effect in forward(broker, request):
        if isinstance(effect, Respond):
            yield from for_each(request, broker.replicas.unopened(), broker.replicas.open)
            yield from for_each(request, broker.replicas.leaving(), broker.replicas.remove)
        yield effect
