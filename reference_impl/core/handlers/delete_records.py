"""DeleteRecords (API key 21). Spec: DeleteRecordsRequest.json; KIP-107."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.topic_names import is_internal
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.log.partition_log import OffsetOutOfRange
from reference_impl.core.refused import Refused, disk_errors_refused
from reference_impl.core.requests.giving_way import merged
from reference_impl.core.security.authorization.permissions import DELETE_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DeleteRecordsResponse")
TO_HIGH_WATERMARK = -1


def handle_delete_records(broker: Broker, request: Request) -> Iterator[Effect]:
    """Move the start of logs up."""
    body = RESPONSE.new()
    topics = yield from merged(request, ((t.name, t.partitions) for t in request.body.topics))
    for name, rows in topics.items():
        yield GiveWay(request)
        answer = RESPONSE.struct("DeleteRecordsTopicResult", name=name)
        body.topics.append(answer)
        # Of a partition that is named twice the last row counts, as in Kafka.
        for wanted in {row.partition_index: row for row in rows}.values():
            yield GiveWay(request)
            row = RESPONSE.struct(
                "DeleteRecordsPartitionResult", partition_index=wanted.partition_index
            )
            answer.partitions.append(row)
            try:
                row.low_watermark = delete_one(broker, request, name, wanted)
            except Refused as refused:
                row.low_watermark, row.error_code = -1, refused.code
    try:
        with disk_errors_refused():
            broker.logs.checkpoint()  # or a crash would bring the records back
    except Refused as refused:
        for row in [row for answer in body.topics for row in answer.partitions]:
            if row.error_code == ErrorCode.NONE:
                row.low_watermark, row.error_code = -1, refused.code
    # RESPOND
    yield Respond(request, body)


def delete_one(broker: Broker, request: Request, topic: str, wanted: Struct) -> int:
    """Delete one partition's records and return its new log start offset, or raise Refused."""
    # VALIDATE
    broker.access.require(request, DELETE_TOPIC, topic)
    partition = broker.led_partition(topic, None, wanted.partition_index)
    if is_internal(topic):
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION)
    if "delete" not in partition.config.cleanup_policy:
        raise Refused(ErrorCode.POLICY_VIOLATION)
    before = wanted.offset
    if before == TO_HIGH_WATERMARK:
        before = partition.high_watermark
    # DEDUPLICATE: what lies below the log start is gone already.
    # APPLY
    try:
        with disk_errors_refused():
            start = broker.rules.delete_records(partition, before)
    except OffsetOutOfRange:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE) from None
    broker.purgatory.note_change(partition.topic, partition.index)
    return start
