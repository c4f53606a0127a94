"""InitProducerId (API key 22). Spec: KIP-98; KIP-360 (a producer that continues after an error,
v3), KIP-588 (PRODUCER_FENCED, v4), KIP-730 (id blocks).

Not modelled: two-phase commit (KIP-939, v6).
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import (
    IDEMPOTENT_WRITE,
    WRITE_TOPIC,
    WRITE_TRANSACTIONAL_ID,
)
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("InitProducerIdResponse")
FENCED_SINCE = 4


def handle_init_producer_id(broker: Broker, request: Request) -> Iterator[Effect]:
    """Give a producer its id and epoch; without a transactional id these are a new id and epoch 0.
    With one, fence the producer that had it before; if that one's transaction is open, abort it and
    answer CONCURRENT_TRANSACTIONS, so that the client asks again."""
    body = request.body
    try:
        check(broker, request)
        # DEDUPLICATE: without a transactional id each call gets a fresh id, and ids given in the
        # request are ignored (KafkaApis.java, handleInitProducerIdRequest).
        # APPLY
        if body.transactional_id is None:
            producer_id, epoch = broker.producer_ids.take(), 0
        else:
            expected = None if body.producer_id == -1 else (body.producer_id, body.producer_epoch)
            coordinator = broker.transactions.of(body.transactional_id)
            yield from coordinator.begin_producer(
                body.transactional_id, body.transaction_timeout_ms, expected
            )
            transaction = coordinator.transactions[body.transactional_id]
            producer_id, epoch = transaction.producer_id, transaction.producer_epoch
    except Refused as refused:
        code = refused.code
        # [Modified in v4: KIP-588]
        if code is ErrorCode.PRODUCER_FENCED and request.api_version < FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        yield Respond(request, RESPONSE.new(error_code=code, producer_id=-1, producer_epoch=-1))
        return
    # RESPOND
    yield Respond(request, RESPONSE.new(producer_id=producer_id, producer_epoch=epoch))


def check(broker: Broker, request: Request) -> None:
    """Raise Refused unless the client may have a producer id and the fields of the request are
    valid."""
    # VALIDATE
    body = request.body
    check_access(broker, request)
    if (body.producer_id == -1) != (body.producer_epoch == -1):
        raise Refused(ErrorCode.INVALID_REQUEST)
    if body.transactional_id is None:
        return
    if body.transactional_id == "":
        raise Refused(ErrorCode.INVALID_REQUEST)
    longest_ms = broker.config.number("transaction.max.timeout.ms")
    if not 0 < body.transaction_timeout_ms <= longest_ms:
        raise Refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def check_access(broker: Broker, request: Request) -> None:
    """Raise Refused unless the client may use its transactional id. Without one, it must be allowed
    to write to some topic (KIP-679), or to be an idempotent producer of the cluster."""
    access, transactional_id = broker.access, request.body.transactional_id
    if transactional_id is not None:
        access.require(request, WRITE_TRANSACTIONAL_ID, transactional_id)
    elif not access.may_somewhere(request, WRITE_TOPIC):
        access.require(request, IDEMPOTENT_WRITE)
