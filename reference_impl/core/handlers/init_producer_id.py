"""InitProducerId (API key 22). Spec: KIP-98; KIP-360 (epoch bump); KIP-730 (id blocks).

Not modelled: transactions. A transactional id gets an error, never an id without a coordinator
behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("InitProducerIdResponse")


def handle_init_producer_id(broker: Broker, request: Request) -> Iterator[Effect]:
    """Give an idempotent producer an id that nobody else has."""
    try:
        check(broker, request)
        # DEDUPLICATE: each call gets a fresh id; ids given in the request are ignored without
        # a transactional id (KafkaApis.java, handleInitProducerIdRequest).
        # APPLY
        producer_id = broker.producer_ids.take()
    except Refused as refused:
        yield Respond(
            request,
            RESPONSE.new(error_code=refused.code, producer_id=-1, producer_epoch=-1),
        )
        return
    # RESPOND
    yield Respond(request, RESPONSE.new(producer_id=producer_id, producer_epoch=0))


def check(broker: Broker, request: Request) -> None:
    # VALIDATE
    body = request.body
    if (body.producer_id == -1) != (body.producer_epoch == -1):
        raise Refused(ErrorCode.INVALID_REQUEST)
    if body.transactional_id is None:
        return
    if body.transactional_id == "":
        raise Refused(ErrorCode.INVALID_REQUEST)
    longest_ms = broker.config.number("transaction.max.timeout.ms")
    if not 0 < body.transaction_timeout_ms <= longest_ms:
        raise Refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    raise Refused(ErrorCode.NOT_COORDINATOR)
