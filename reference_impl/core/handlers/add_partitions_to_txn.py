"""AddPartitionsToTxn (API key 24). Spec: KIP-98; KIP-588 (PRODUCER_FENCED, v2), KIP-890 (v4:
several transactions in one request, and verification, both between brokers; v5: an epoch per
transaction)."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.topic_names import is_internal
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import (
    CLUSTER_ACTION,
    WRITE_TOPIC,
    WRITE_TRANSACTIONAL_ID,
)
from reference_impl.core.transactions.transaction import CLASSIC, EPOCH_PER_TRANSACTION
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("AddPartitionsToTxnResponse")
FENCED_SINCE, SEVERAL_SINCE, EPOCH_PER_TRANSACTION_SINCE = 2, 4, 5
Codes = dict[PartitionKey, ErrorCode]
CodesInTurns = Generator[Effect, None, Codes]
"""A generator that returns codes, and gives way to other requests meanwhile."""


def handle_add_partitions_to_txn(broker: Broker, request: Request) -> Iterator[Effect]:
    """Add partitions to transactions or, if a broker asks with verify_only, check that they were
    added."""
    body = request.body
    # [Modified in v4: KIP-890]
    if request.api_version >= SEVERAL_SINCE:
        if not broker.access.may(request, CLUSTER_ACTION):
            code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            yield Respond(request, RESPONSE.new(error_code=code))
            return
        answer = RESPONSE.new()
        for asked in body.transactions:
            yield GiveWay(request)
            codes = yield from one_transaction(broker, request, asked)
            rows = yield from answered(request, asked.topics, codes)
            answer.results_by_transaction.append(
                RESPONSE.struct(
                    "AddPartitionsToTxnResult",
                    transactional_id=asked.transactional_id,
                    topic_results=rows,
                )
            )
        # RESPOND
        yield Respond(request, answer)
        return
    codes = yield from denied_among(broker, request)
    if not codes:
        codes = yield from added(
            broker,
            request,
            body.v3_and_below_transactional_id,
            body.v3_and_below_producer_id,
            body.v3_and_below_producer_epoch,
            body.v3_and_below_topics,
        )
    rows = yield from answered(request, body.v3_and_below_topics, codes)
    yield Respond(request, RESPONSE.new(results_by_topic_v3_and_below=rows))


def one_transaction(broker: Broker, request: Request, asked: Struct) -> CodesInTurns:
    """Verify one transaction's partitions (verify_only), or add them to it; do neither if one of
    them does not exist. Return an error code (or NONE) for each partition."""
    if asked.verify_only:
        codes = yield from unknown_among(broker, request, asked.topics)
        return codes or (yield from verified(broker, request, asked))
    return (
        yield from added(
            broker,
            request,
            asked.transactional_id,
            asked.producer_id,
            asked.producer_epoch,
            asked.topics,
        )
    )


def added(
    broker: Broker,
    request: Request,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    topics: list[Struct],
) -> CodesInTurns:
    """Add all partitions to one transaction, or none. Return an error code (or NONE) for each of
    them."""
    # VALIDATE
    if codes := (yield from unknown_among(broker, request, topics)):
        return codes
    keys = partitions_of(topics)
    version = request.api_version
    # DEDUPLICATE: partitions which take part already change nothing (coordinator).
    # APPLY
    code = ErrorCode.NONE
    try:
        yield from broker.transactions.of(transactional_id).add_partitions(
            transactional_id,
            producer_id,
            producer_epoch,
            frozenset(keys),
            # [New in v5: KIP-890]
            EPOCH_PER_TRANSACTION if version >= EPOCH_PER_TRANSACTION_SINCE else CLASSIC,
        )
    except Refused as refused:
        code = refused.code
        # [Modified in v2: KIP-588]
        if code is ErrorCode.PRODUCER_FENCED and version < FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
    return dict.fromkeys(keys, code)


def denied_among(broker: Broker, request: Request) -> CodesInTurns:
    """Return an error code for each partition if the client may not use its transactional id, or
    may not write to one of the topics or that topic is internal. Return no codes if all is
    permitted. Only requests up to version 3, which clients send themselves, are checked with
    this."""
    body, access = request.body, broker.access
    keys = partitions_of(body.v3_and_below_topics)
    if not access.may(request, WRITE_TRANSACTIONAL_ID, body.v3_and_below_transactional_id):
        return dict.fromkeys(keys, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    denied = {}
    for key in keys:
        yield GiveWay(request)
        if is_internal(key[0]) or not access.may(request, WRITE_TOPIC, key[0]):
            denied[key] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if not denied:
        return {}
    unknown = yield from unknown_in(broker, request, keys)
    return all_or_none(keys, {**unknown, **denied})


def unknown_among(broker: Broker, request: Request, topics: list[Struct]) -> CodesInTurns:
    """Return an error code for each partition if one of them does not exist, or no codes if all
    do."""
    keys = partitions_of(topics)
    unknown = yield from unknown_in(broker, request, keys)
    return all_or_none(keys, unknown)


def unknown_in(broker: Broker, request: Request, keys: list[PartitionKey]) -> CodesInTurns:
    """Return UNKNOWN_TOPIC_OR_PARTITION for each of these partitions that does not exist; those
    that exist are left out."""
    topics = broker.image.topics
    codes = {}
    for name, index in keys:
        yield GiveWay(request)
        if name not in topics or index not in topics[name].partitions:
            codes[name, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return codes


def all_or_none(keys: list[PartitionKey], refused: Codes) -> Codes:
    """Return a code for every partition if any is refused: its own error, or
    OPERATION_NOT_ATTEMPTED for the others. Return no codes if none is refused."""
    if not refused:
        return {}
    return {key: refused.get(key, ErrorCode.OPERATION_NOT_ATTEMPTED) for key in keys}


def verified(broker: Broker, request: Request, asked: Struct) -> CodesInTurns:
    """Verify whether each partition is part of the transaction, without adding any. Return an error
    code (or NONE) for each."""
    codes: Codes = {}
    for key in partitions_of(asked.topics):
        yield GiveWay(request)
        try:
            broker.transactions.of(asked.transactional_id).check_partition(
                asked.transactional_id, asked.producer_id, asked.producer_epoch, key
            )
        except Refused as refused:
            codes[key] = refused.code
        else:
            codes[key] = ErrorCode.NONE
    return codes


def partitions_of(topics: list[Struct]) -> list[PartitionKey]:
    """Return every (topic, partition) in the request, in its order."""
    return [(topic.name, index) for topic in topics for index in topic.partitions]


def answered(
    request: Request, topics: list[Struct], codes: Codes
) -> Generator[Effect, None, list[Struct]]:
    """Return the response's rows for these topics, with the code that `codes` has for each
    partition."""
    rows = []
    for topic in topics:
        yield GiveWay(request)
        row = RESPONSE.struct("AddPartitionsToTxnTopicResult", name=topic.name)
        rows.append(row)
        for index in topic.partitions:
            yield GiveWay(request)
            row.results_by_partition.append(
                RESPONSE.struct(
                    "AddPartitionsToTxnPartitionResult",
                    partition_index=index,
                    partition_error_code=codes[topic.name, index],
                )
            )
    return rows
