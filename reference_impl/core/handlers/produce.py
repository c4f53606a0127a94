"""Produce (API key 0). Spec: ProduceRequest.json; KIP-98 (idempotence), KIP-467 (record errors),
KIP-516 (topic ids since v13), KIP-890 (transactions), KIP-951 (leader in the answer).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from uuid import UUID

from reference_impl.core.broker import Broker
from reference_impl.core.controller.image.topic_names import is_internal
from reference_impl.core.effects import CloseConnection, Effect, GiveWay, Release
from reference_impl.core.events import Request
from reference_impl.core.log import AppendResult
from reference_impl.core.partitions.batch_framing import (
    NOBODY,
    the_only_batch,
    writers_in_transactions,
)
from reference_impl.core.partitions.batch_validation import SurveyedBatch, is_large, survey
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.purgatory import Watch, answered
from reference_impl.core.refused import Refused
from reference_impl.core.replication.leader_hints import LeaderHints
from reference_impl.core.rules import ACKS_ALL
from reference_impl.core.security.authorization.permissions import (
    WRITE_TOPIC,
    WRITE_TRANSACTIONAL_ID,
)
from reference_impl.core.storage import StorageError
from reference_impl.core.transactions.taking_part import Writer, ensure_takes_part
from reference_impl.core.waiting.waits import Later
from reference_impl.wire import BatchHeader, ErrorCode, Struct, definition, read_header

RESPONSE = definition("ProduceResponse")
TopicProduceResponse = RESPONSE.struct_class("TopicProduceResponse")
PartitionProduceResponse = RESPONSE.struct_class("PartitionProduceResponse")
NodeEndpoint = RESPONSE.struct_class("NodeEndpoint")
ACKS = (-1, 0, 1)
LEADERS_SINCE, TOPIC_IDS_SINCE = 10, 13
SAY_NOTHING_OF_THE_LOG = (
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
"""The errors for which the answer contains no log start offset
(ReplicaManager.appendToLocalLog)."""
RETRIED_AS_NOT_ENOUGH_REPLICAS = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
"""The errors of the transaction coordinator that are answered as NOT_ENOUGH_REPLICAS to clients,
which do not expect them from Produce but know how to retry that one
(ReplicaManager.handleProduceAppend)."""
Pauses = tuple[GiveWay, ...]
"""The effects to yield after each partition: one GiveWay, or none."""


def handle_produce(broker: Broker, request: Request) -> Iterator[Effect]:
    """Append the batches of one request to the partitions that this broker leads. Answer when they
    are replicated as `acks` asks, or never (acks=0)."""
    pending = PendingProduce(broker, request)
    pauses = pending.pauses
    refused_as_a_whole = yield from why_nothing_is_appended(broker, request, pauses)
    for topic in request.body.topic_data:
        answers = pending.add_topic(topic)
        if not topic.partition_data:
            yield from pauses
        # A partition that is named twice counts once, its last time (KafkaApis: a map).
        for wanted in {row.index: row for row in topic.partition_data}.values():
            try:
                if refused_as_a_whole is not None:
                    raise refused_as_a_whole
                partition, appended = yield from append_one(broker, request, topic, wanted)
            except Refused as refused:
                answers.append(refusal(wanted.index, refused))
                pending.refused = pending.refused or refused
                pending.tell_leader(answers[-1], topic.name, topic.topic_id)
            else:
                answers.append(acceptance(wanted.index, appended))
                pending.appended.append(
                    Appended(partition, partition.leader_epoch, appended.last_offset, answers[-1])
                )
            yield from pauses
    # RESPOND: never (acks=0), now, or when the ISR of every partition has its last record.
    throttle_ms = broker.throttles.produced.spend(request, request.size_bytes, broker.monotonic_ms)
    pending.throttle(throttle_ms)
    changes = broker.purgatory.changes
    if request.body.acks == 0:
        yield from release(request, pending.refused, throttle_ms)
    elif (body := (yield from pending.answer(expired=False))) is not None:
        yield answered(request, body)
    else:
        yield from broker.purgatory.park(pending, request.body.timeout_ms)
        if broker.purgatory.changes != changes:
            yield from broker.purgatory.ask(request.connection)


def pauses_of(request: Request) -> Pauses:
    """Return the effects to yield after each partition of a request, so that other requests have
    their turn. A request for one partition needs none, since a large batch pauses by itself."""
    topics = request.body.topic_data
    is_of_one = len(topics) == 1 and len(topics[0].partition_data) == 1
    return () if is_of_one else (GiveWay(request),)


def why_nothing_is_appended(
    broker: Broker, request: Request, pauses: Pauses
) -> Generator[Effect, None, Refused | None]:
    """Return the error that refuses every partition: one of them has data that cannot be a batch,
    or the client may not use its transactional id, names none for its transactional batches, or
    sends some of several producers. Return None if there is no such error
    (KafkaApis.handleProduceRequest and ReplicaManager.handleProduceAppend check this before they
    look at any partition)."""
    producers: frozenset[tuple[int, int]] = frozenset()
    try:
        for topic in request.body.topic_data:
            for wanted in topic.partition_data:
                producers |= writers_in_transactions(wanted.records)
                yield from pauses
            if not topic.partition_data:
                yield from pauses
        if not producers:
            return None
        transactional_id = request.body.transactional_id
        if transactional_id is None:
            raise Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        broker.access.require(request, WRITE_TRANSACTIONAL_ID, transactional_id)
        if len(producers - {NOBODY}) > 1:
            raise Refused(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                "Transactional records contained more than one producer ID",
            )
    except Refused as refused:
        return refused
    return None


def append_one(
    broker: Broker, request: Request, topic: Struct, wanted: Struct
) -> Generator[Effect, None, tuple[Partition, AppendResult]]:
    """Append one batch to one partition, and return the partition and the result. Raise Refused if
    the partition is not led here, or the batch may not be appended; the error has the log's start
    offset where Kafka answers it."""
    # VALIDATE the request
    partition, data, header = yield from check_request(broker, request, topic, wanted)
    try:
        if is_large(header, partition.config):
            data = yield from surveyed(broker, request, partition, data)
            # Check again after other requests: the topic may be deleted, or the transaction ended.
            partition, _, _ = yield from check_request(broker, request, topic, wanted)
        return partition, append_to(broker, partition, data)
    except Refused as refused:
        if refused.code not in SAY_NOTHING_OF_THE_LOG:
            refused.log_start_offset = partition.log.log_start_offset
        raise


def surveyed(
    broker: Broker, request: Request, partition: Partition, data: memoryview | bytearray
) -> Generator[Effect, None, SurveyedBatch]:
    """Check every record of a large batch, giving way to other requests meanwhile, and return the
    batch with the result. Raise Refused if a record is malformed."""
    steps = survey(data, partition.config, broker.now_ms)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            batch = SurveyedBatch(data)
            batch.survey = end.value
            return batch
        yield GiveWay(request)


def check_request(
    broker: Broker, request: Request, topic: Struct, wanted: Struct
) -> Generator[Effect, None, tuple[Partition, memoryview | bytearray, BatchHeader]]:
    """Return the partition, the batch and its header. Raise Refused unless this producer may write
    the batch to the partition now."""
    if broker.access.is_controlled:
        check_access(broker, request, topic)
    topic_id = topic.topic_id if request.api_version >= TOPIC_IDS_SINCE else None
    partition = broker.led_partition(topic.name, topic_id, wanted.index)
    data = the_only_batch(wanted.records, request.api_version)
    if request.body.acks not in ACKS:
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS)
    if is_internal(partition.topic):
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, "Cannot append to an internal topic.")
    header = read_header(data)
    if request.body.transactional_id is not None:
        yield from check_transaction(broker, request, partition, header)
    broker.rules.check_enough_replicas(partition, request.body.acks)
    return partition, data, header


def check_access(broker: Broker, request: Request, topic: Struct) -> None:
    """Raise Refused unless the producer may write to this topic. Accept an unknown topic id."""
    image = broker.image.topic_of(topic.name, topic.topic_id)
    name = topic.name or (image.name if image is not None else None)
    if name:  # an unknown id has no name to check; the caller refuses it
        broker.access.require(request, WRITE_TOPIC, name)


def append_to(broker: Broker, partition: Partition, data: memoryview | bytearray) -> AppendResult:
    """Append one batch to a log that may take it, and return the result; a retry gets the result of
    the first time. Raise Refused if the batch is not valid, is out of order, or cannot be
    written."""
    # VALIDATE the batch
    batch = broker.rules.validated_batch(partition, data, broker.now_ms)
    # DEDUPLICATE (KIP-98): a retry gets the first answer, not a second copy.
    first = broker.rules.duplicate_of(partition, batch)
    if first is not None:
        return first
    broker.rules.check_sequence(partition, batch)
    # APPLY
    try:
        return broker.rules.append(partition, batch, broker.now_ms)
    except StorageError as error:
        raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from None


def check_transaction(
    broker: Broker, request: Request, partition: Partition, header: BatchHeader
) -> Iterator[Effect]:
    """Raise Refused unless the partition is part of the batch's transaction, to which a request
    since version 12 adds it (KIP-890), or if this broker ceases to lead it meanwhile. Since that
    version, refuse also a producer that is unknown here and does not begin with sequence 0. Do
    nothing for a batch without a transaction."""
    transactional_id = request.body.transactional_id
    # A batch of no producer belongs to nobody's transaction (Kafka appends it).
    if not (header.is_transactional and header.has_producer_id):
        return
    writer = Writer(
        transactional_id,
        header.producer_id,
        header.producer_epoch,
        api="Produce",
        api_version=request.api_version,
    )
    # [New in v12: KIP-890] Without earlier batches here, the first one begins at 0.
    is_unknown = partition.log.producer_state.entry(header.producer_id) is None
    if writer.adds_implicitly and is_unknown and header.base_sequence != 0:
        raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    leader_epoch = partition.leader_epoch
    try:
        yield from taken_part(broker, partition, writer)
    except Refused as refused:
        # [New in v12: KIP-890] Clients expect ErrorCode.CONCURRENT_TRANSACTIONS.
        surprises = refused.code is ErrorCode.CONCURRENT_TRANSACTIONS and not writer.adds_implicitly
        if surprises or refused.code in RETRIED_AS_NOT_ENOUGH_REPLICAS:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                "Unable to verify the partition has been added to the transaction. Underlying"
                f" error: {refused.code.name}",
            ) from None
        raise
    partition.check_still_leads(leader_epoch)


def taken_part(broker: Broker, partition: Partition, writer: Writer) -> Iterator[Effect]:
    """Add the partition to the transaction, or verify that it was added. If the markers of the
    producer's last transaction are still being written, ask again for a while, unless the client
    has added the partition itself (KAFKA-18575). Raise Refused with the coordinator's error."""
    patience_ms = broker.config.number("add.partitions.to.txn.retry.backoff.max.ms")
    ends_ms = broker.monotonic_ms + patience_ms
    while True:
        try:
            yield from ensure_takes_part(broker, partition, writer)
            return
        except Refused as refused:
            may_wait = writer.adds_implicitly and broker.monotonic_ms < ends_ms
            if not (refused.code is ErrorCode.CONCURRENT_TRANSACTIONS and may_wait):
                raise
        yield Later(broker.config.number("add.partitions.to.txn.retry.backoff.ms"))


@dataclass(slots=True)
class Appended:
    """A batch in the log, the leadership in which it was written, and its row in the answer."""

    partition: Partition
    leader_epoch: int
    last_offset: int
    row: Struct


class PendingProduce:
    """The response in preparation, and the records that the ISR must have before it is sent."""

    def __init__(self, broker: Broker, request: Request) -> None:
        self.request = request
        self.appended: list[Appended] = []
        self.refused: Refused | None = None
        self._rules, self._image = broker.rules, broker.image
        self._body = RESPONSE.new()
        self._hints = LeaderHints(broker, request, NodeEndpoint)
        self.pauses = pauses_of(request)

    def add_topic(self, topic: Struct) -> list[Struct]:
        """Begin the answer for a topic; return the list to which its partitions are added."""
        answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        self._body.responses.append(answer)
        partitions: list[Struct] = answer.partition_responses
        return partitions

    def throttle(self, throttle_ms: int) -> None:
        """Set the time, in milliseconds, that a client over its quota must wait."""
        self._body.throttle_time_ms = throttle_ms

    def tell_leader(self, row: Struct, topic: str, topic_id: UUID) -> None:
        """Name the leader in the row of a partition that is refused because another broker leads
        it, if the request's version has room for it."""
        # [New in v10: KIP-951]
        is_told = self.request.api_version >= LEADERS_SINCE
        if is_told and row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self._hints.tell(row, self._image.topic_of(topic, topic_id), row.index)
            self._body.node_endpoints = self._hints.endpoints

    def watch(self) -> Watch:
        """Return a watch of the partitions whose high watermark may complete the request."""
        return Watch.over((each.partition.topic, each.partition.index) for each in self.appended)

    def answer(self, *, expired: bool) -> Generator[Effect, None, Struct | None]:
        """Return the response once every record is replicated as `acks` asks, else None. If
        `expired`, answer REQUEST_TIMED_OUT, which leaves the outcome open: the records are in the
        log and may still be committed (DelayedProduce.java)."""
        late = []
        for each in self.appended:
            try:
                if not self._is_replicated(each):
                    late.append(each)
            except Refused as refused:
                each.row.error_code = refused.code
                self.tell_leader(each.row, each.partition.topic, each.partition.topic_id)
            yield from self.pauses
        self.appended = late
        if not late:
            return self._body
        if not expired:
            return None
        for each in late:
            each.row.error_code = ErrorCode.REQUEST_TIMED_OUT
        return self._body

    def _is_replicated(self, appended: Appended) -> bool:
        """Return whether an appended batch may be acknowledged. Raise Refused if this broker no
        longer leads the partition in the same epoch, or if too few replicas are in sync."""
        partition, acks = appended.partition, self.request.body.acks
        if acks != ACKS_ALL:
            return self._rules.may_acknowledge(partition, acks, appended.last_offset)
        partition.check_still_leads(appended.leader_epoch)
        if not self._rules.may_acknowledge(partition, acks, appended.last_offset):
            return False
        self._rules.check_replicas_remain(partition)
        return True


def acceptance(index: int, appended: AppendResult) -> Struct:
    """Return the row for a batch that was appended at these offsets."""
    return PartitionProduceResponse(
        index=index,
        base_offset=appended.base_offset,
        log_append_time_ms=appended.log_append_time_ms,
        log_start_offset=appended.log_start_offset,
    )


def refusal(index: int, refused: Refused) -> Struct:
    """Return the row for a batch that was not appended, with the reason."""
    errors = [
        RESPONSE.struct(
            "BatchIndexAndErrorMessage",
            batch_index=error.batch_index,
            batch_index_error_message=error.message,
        )
        for error in refused.record_errors
    ]
    return PartitionProduceResponse(
        index=index,
        error_code=refused.code,
        base_offset=-1,
        log_start_offset=refused.log_start_offset,
        record_errors=errors,
        error_message=refused.message,
    )


def release(request: Request, refused: Refused | None, throttle_ms: int) -> Iterator[Effect]:
    """End a request with acks=0, which has no answer. If it was refused, close the connection,
    since only that can show an error.

    Source: KafkaApis.java, sendResponseCallback of Produce.
    """
    if refused is None:
        yield Release(request, throttle_ms)
    else:
        yield CloseConnection(request.connection, f"Produce with acks=0 failed: {refused}")
