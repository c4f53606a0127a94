"""AddOffsetsToTxn (API key 25). Spec: KIP-98; KIP-588 (PRODUCER_FENCED, v2)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.groups import group_log
from reference_impl.core.refused import Refused
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.security.authorization.permissions import (
    READ_GROUP,
    WRITE_TRANSACTIONAL_ID,
)
from reference_impl.core.transactions.transaction import CLASSIC
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("AddOffsetsToTxnResponse")
FENCED_SINCE = 2


def handle_add_offsets_to_txn(broker: Broker, request: Request) -> Iterator[Effect]:
    """Add the partition of `__consumer_offsets` that stores this group to the transaction, and
    answer with an error code. Request the creation of that topic if it does not exist."""
    body = request.body
    code = ErrorCode.NONE
    try:
        # VALIDATE
        broker.access.require(request, WRITE_TRANSACTIONAL_ID, body.transactional_id)
        broker.access.require(request, READ_GROUP, body.group_id)
        ensure_groups_topic(broker)
        index = broker.groups.topic.index_of(body.group_id)
        # DEDUPLICATE: a group that takes part already changes nothing (coordinator).
        # APPLY
        yield from broker.transactions.of(body.transactional_id).add_partitions(
            body.transactional_id,
            body.producer_id,
            body.producer_epoch,
            frozenset([(group_log.TOPIC, index)]),
            CLASSIC,
        )
    except Refused as refused:
        code = refused.code
        # [Modified in v2: KIP-588]
        if code is ErrorCode.PRODUCER_FENCED and request.api_version < FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
    # RESPOND
    yield Respond(request, RESPONSE.new(error_code=code))
