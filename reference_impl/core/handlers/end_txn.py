"""EndTxn (API key 26). Spec: KIP-98; KIP-588 (PRODUCER_FENCED, v2), KIP-890 (v5: the answer has the
epoch of the next transaction)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import WRITE_TRANSACTIONAL_ID
from reference_impl.core.transactions.transaction import CLASSIC, EPOCH_PER_TRANSACTION
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("EndTxnResponse")
FENCED_SINCE, EPOCH_PER_TRANSACTION_SINCE = 2, 5


def handle_end_txn(broker: Broker, request: Request) -> Iterator[Effect]:
    """Commit or abort the producer's transaction. Answer once the decision is in the log; the
    markers are written after that."""
    body, version = request.body, request.api_version
    try:
        broker.access.require(request, WRITE_TRANSACTIONAL_ID, body.transactional_id)
        # VALIDATE, DEDUPLICATE: transactions/ending.py.
        # APPLY: the decision is in the log.
        coordinator = broker.transactions.of(body.transactional_id)
        producer_id, epoch = yield from coordinator.end(
            body.transactional_id,
            body.producer_id,
            body.producer_epoch,
            commit=body.committed,
            # [New in v5: KIP-890]
            version=EPOCH_PER_TRANSACTION if version >= EPOCH_PER_TRANSACTION_SINCE else CLASSIC,
        )
    except Refused as refused:
        code = refused.code
        # [Modified in v2: KIP-588]
        if code is ErrorCode.PRODUCER_FENCED and version < FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
        yield Respond(request, RESPONSE.new(error_code=code))
        return
    # RESPOND: the decision is final, so do not wait for the markers.
    yield Respond(request, RESPONSE.new(producer_id=producer_id, producer_epoch=epoch))
    coordinator.carry_out(body.transactional_id)
