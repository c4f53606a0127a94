"""DeleteRecords (API key 21). Spec: DeleteRecordsRequest.json; KIP-107.

Source: ReplicaManager.java (deleteRecords), DelayedDeleteRecords.java.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.topic_names import is_internal
from reference_impl.core.effects import Effect, GiveWay
from reference_impl.core.events import Request
from reference_impl.core.log.partition_log import OffsetOutOfRange
from reference_impl.core.partitions.purgatory import Watch, answered
from reference_impl.core.refused import Refused, disk_errors_refused
from reference_impl.core.requests.giving_way import merged
from reference_impl.core.security.authorization.permissions import DELETE_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DeleteRecordsResponse")
TO_HIGH_WATERMARK = -1


@dataclass(slots=True)
class Deletion:
    """Records that this leader has deleted, and that its live followers are still to delete."""

    topic: str
    before: int
    """The offset up to which they were deleted."""
    log_start: int
    """The leader's log start after that."""
    row: Struct
    """The row of the answer."""


def handle_delete_records(broker: Broker, request: Request) -> Iterator[Effect]:
    """Move the start of logs up, and answer with the low watermarks once the live replicas have
    done the same, or the request's time is over."""
    pending = PendingDeletions(broker, request)
    topics = yield from merged(request, ((t.name, t.partitions) for t in request.body.topics))
    for name, rows in topics.items():
        yield GiveWay(request)
        answers = pending.add_topic(name)
        # Of a partition that is named twice the last row counts, as in Kafka.
        for wanted in {row.partition_index: row for row in rows}.values():
            yield GiveWay(request)
            row = RESPONSE.struct(
                "DeleteRecordsPartitionResult", partition_index=wanted.partition_index
            )
            answers.append(row)
            try:
                pending.deletions.append(delete_one(broker, request, name, wanted, row))
            except Refused as refused:
                row.low_watermark, row.error_code = -1, refused.code
    try:
        with disk_errors_refused():
            broker.logs.checkpoint()  # or a crash would bring the records back
    except Refused as refused:
        pending.refuse(refused)
    # RESPOND: now, or when every live replica has deleted them.
    changes = broker.purgatory.changes
    if (body := (yield from pending.answer(expired=False))) is not None:
        yield answered(request, body)
        return
    yield from broker.purgatory.park(pending, request.body.timeout_ms)
    if broker.purgatory.changes != changes:
        yield from broker.purgatory.ask(request.connection)


def delete_one(
    broker: Broker, request: Request, topic: str, wanted: Struct, row: Struct
) -> Deletion:
    """Delete one partition's records below the wanted offset (-1: the high watermark) on this
    broker, and return what its followers are still to delete. Raise Refused if that is not
    permitted, the broker does not lead the partition, the topic is internal or is only compacted,
    the offset is not in the log, or the disk fails."""
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
    return Deletion(topic, before, start, row)


class PendingDeletions:
    """A DeleteRecords in progress, and the answer to it."""

    def __init__(self, broker: Broker, request: Request) -> None:
        self.request = request
        self.deletions: list[Deletion] = []
        """The deletions that not every live replica is known to have made."""
        self._broker = broker
        self._body = RESPONSE.new()
        self._is_first = True

    def add_topic(self, name: str) -> list[Struct]:
        """Add a topic to the answer, and return the list of its partitions' rows."""
        topic = RESPONSE.struct("DeleteRecordsTopicResult", name=name)
        self._body.topics.append(topic)
        rows: list[Struct] = topic.partitions
        return rows

    def refuse(self, refused: Refused) -> None:
        """Put this error into the row of every deletion that is still awaited, and await none any
        more."""
        for each in self.deletions:
            each.row.low_watermark, each.row.error_code = -1, refused.code
        self.deletions.clear()

    def watch(self) -> Watch:
        """Return a watch of the partitions whose followers have still to delete records."""
        return Watch.over((each.topic, each.row.partition_index) for each in self.deletions)

    def answer(self, *, expired: bool) -> Generator[Effect, None, Struct | None]:
        """Return the answer once every live replica has deleted the records, else None. If
        `expired`, return it in any case: each pending deletion gets REQUEST_TIMED_OUT and the low
        watermark that the first call found, and the followers will delete its records all the
        same."""
        late = []
        for each in self.deletions:
            try:
                low_watermark = self._low_watermark(each)
            except Refused as refused:
                each.row.low_watermark, each.row.error_code = -1, refused.code
            else:
                is_done = low_watermark >= each.before
                if is_done or self._is_first:
                    each.row.low_watermark = low_watermark
                if not is_done:
                    late.append(each)
            yield GiveWay(self.request)
        self.deletions, self._is_first = late, False
        if not late:
            return self._body
        if not expired:
            return None
        for each in late:
            each.row.error_code = ErrorCode.REQUEST_TIMED_OUT
        return self._body

    def _low_watermark(self, deletion: Deletion) -> int:
        """Return the smallest log start of this leader and its live followers. Raise Refused if
        this broker no longer leads the partition."""
        broker, index = self._broker, deletion.row.partition_index
        partition = broker.led_partition(deletion.topic, None, index)
        brokers = broker.image.brokers
        starts = [
            follower.log_start_offset
            for replica, follower in partition.followers.items()
            if replica in brokers and not brokers[replica].fenced
        ]
        return broker.rules.low_watermark(deletion.log_start, starts)
