"""DescribeTransactions (API key 65). Spec: KIP-664."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.requests.repetitions import Repetitions
from reference_impl.core.security.authorization.permissions import (
    DESCRIBE_TOPIC,
    DESCRIBE_TRANSACTIONAL_ID,
)
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DescribeTransactionsResponse")


def handle_describe_transactions(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the full transaction state of each requested transactional id. Answer for one id
    at most REPETITIONS_MAX times."""
    # VALIDATE happens for each id on its own. DEDUPLICATE, APPLY: reading changes nothing.
    # RESPOND
    asked = Repetitions()
    ids = [name for name in request.body.transactional_ids if asked.allow(name)]
    rows = yield from for_each(request, ids, partial(described, broker, request))
    yield Respond(request, RESPONSE.new(transaction_states=rows))


def described(broker: Broker, request: Request, transactional_id: str) -> Struct:
    """Return the row of one transactional id, with those of its partitions whose topics the client
    may describe, or with the reason why it cannot be described."""
    row = RESPONSE.struct("TransactionState", transactional_id=transactional_id)
    try:
        broker.access.require(request, DESCRIBE_TRANSACTIONAL_ID, transactional_id)
        if not transactional_id:
            raise Refused(ErrorCode.INVALID_REQUEST)
        transaction = broker.transactions.of(transactional_id).find(transactional_id)
        if transaction is None:
            raise Refused(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    except Refused as refused:
        row.error_code = refused.code
        return row
    row.transaction_state = transaction.state.value
    row.transaction_timeout_ms = transaction.timeout_ms
    row.transaction_start_time_ms = transaction.start_ms
    row.producer_id = transaction.producer_id
    row.producer_epoch = transaction.producer_epoch
    row.topics = [
        RESPONSE.struct("TopicData", topic=topic, partitions=[index for _, index in keys])
        for topic, keys in groupby(sorted(transaction.partitions), key=lambda key: key[0])
        if broker.access.may(request, DESCRIBE_TOPIC, topic)
    ]
    return row
