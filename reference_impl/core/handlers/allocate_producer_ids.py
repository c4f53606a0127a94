"""AllocateProducerIds (API key 67). Spec: KIP-730."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.controller import Controller
from reference_impl.core.controller.producer_id_blocks import allocate_block
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION
from reference_impl.wire import definition

RESPONSE = definition("AllocateProducerIdsResponse")


def handle_allocate_producer_ids(controller: Controller, request: Request) -> Iterator[Effect]:
    """Give a broker a block of producer ids that was never given to any broker before. Refuse one
    whose broker epoch is not current."""
    body, answer = request.body, RESPONSE.new()
    try:
        # VALIDATE
        controller.access.require(request, CLUSTER_ACTION)
        broker = controller.image.brokers.get(body.broker_id)
        controller.rules.check_broker_epoch(broker, body.broker_epoch)
        # DEDUPLICATE: a broker that asks twice gets two blocks; ids are not scarce.
        # APPLY
        block = allocate_block(controller, body.broker_id, body.broker_epoch)
        answer.producer_id_start, answer.producer_id_len = block.start, len(block)
    except Refused as refused:
        answer.error_code = refused.code
    # RESPOND
    yield Respond(request, answer)
