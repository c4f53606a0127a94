"""WriteTxnMarkers (API key 27). Spec: KIP-98; KIP-664 (an administrator ends a hanging
transaction), KIP-890 (transaction version, v2)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused, disk_errors_refused
from reference_impl.core.requests.giving_way import merged
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER, CLUSTER_ACTION
from reference_impl.core.transactions.transaction import Marker
from reference_impl.core.waiting.waits import Replicated
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("WriteTxnMarkersResponse")


def handle_write_txn_markers(broker: Broker, request: Request) -> Iterator[Effect]:
    """Write commit or abort markers into partitions, as the transaction coordinator that sent the
    request has decided. Answer with an error code for each partition, once every marker is on all
    replicas that count or has failed."""
    may_write = broker.access.may(request, ALTER_CLUSTER) or broker.access.may(
        request, CLUSTER_ACTION
    )
    answer = RESPONSE.new()
    appended: list[tuple[Replicated, Struct]] = []
    for asked in request.body.markers:
        yield GiveWay(request)
        marker = Marker(
            asked.producer_id,
            asked.producer_epoch,
            committed=asked.transaction_result,
            coordinator_epoch=asked.coordinator_epoch,
            # [New in v2: KIP-890]
            transaction_version=asked.transaction_version,
        )
        result = RESPONSE.struct("WritableTxnMarkerResult", producer_id=asked.producer_id)
        answer.markers.append(result)
        topics = yield from merged(request, ((t.name, t.partition_indexes) for t in asked.topics))
        for name, indexes in topics.items():
            yield GiveWay(request)
            rows = []
            for index in indexes:
                code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
                if may_write:
                    code = written(broker, name, index, marker)
                row = RESPONSE.struct(
                    "WritableTxnMarkerPartitionResult", partition_index=index, error_code=code
                )
                rows.append(row)
                if code is ErrorCode.NONE:
                    appended.append((replication_of(broker, name, index), row))
                yield GiveWay(request)
            result.topics.append(topic_result(name, rows))
    # RESPOND once every marker is on every replica: a complete transaction must not lose one.
    for wait, row in appended:
        try:
            yield wait
        except Refused as refused:
            row.error_code = refused.code
        yield GiveWay(request)
    yield Respond(request, answer)


def written(broker: Broker, topic: str, index: int, marker: Marker) -> ErrorCode:
    """Write one marker to a partition that this broker leads. Return the error code, or NONE."""
    # VALIDATE
    try:
        partition = broker.led_partition(topic, None, index)
        # DEDUPLICATE: a marker without a transaction ends nothing.
        # APPLY
        with disk_errors_refused():
            broker.markers.write(partition, marker)
    except Refused as refused:
        return refused.code
    return ErrorCode.NONE


def replication_of(broker: Broker, topic: str, index: int) -> Replicated:
    """Return a Wait until everything written to the partition so far is replicated. Raise
    Refused if this broker does not lead the partition. So does the Wait if the broker ceases to, or
    after request.timeout.ms."""
    end_offset = broker.led_partition(topic, None, index).log.log_end_offset
    return Replicated(topic, index, end_offset, broker.config.number("request.timeout.ms"))


def topic_result(name: str, rows: list[Struct]) -> Struct:
    """Return the result of one topic, with the rows of its partitions."""
    return RESPONSE.struct("WritableTxnMarkerTopicResult", name=name, partitions=rows)
