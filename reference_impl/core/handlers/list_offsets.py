"""ListOffsets (API key 2). Spec: KIP-79 (by timestamp), KIP-98 (isolation), KIP-207 (the end of a
new leader), KIP-320 (leader epochs), KIP-734 (-3), KIP-405, KIP-1005 and KIP-1023 (tiered storage,
of which there is none)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.partitions.fetch_sessions import CONSUMER, DEBUGGING_CONSUMER
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused, disk_errors_refused
from reference_impl.core.requests.giving_way import counted, merged
from reference_impl.core.rules import Rules
from reference_impl.core.security.authorization.permissions import DESCRIBE_TOPIC
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("ListOffsetsResponse")
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
"""Symbolic timestamp -> the first version of the request that knows it
(KafkaApis.isListOffsetsTimestampUnsupported)."""

OFFSET_NOT_AVAILABLE_SINCE = 5
"""The first version with this error. Older clients get LEADER_NOT_AVAILABLE, which they know how to
retry (KafkaApis.handleListOffsetRequest)."""

Found = tuple[int, int, int]
"""A lookup's result: (timestamp, offset, leader epoch), with -1 for a value that does not exist."""
NOTHING: Found = (-1, -1, -1)


def handle_list_offsets(broker: Broker, request: Request) -> Iterator[Effect]:
    """Translate timestamps, real and symbolic, into offsets. Answer with a row for each partition,
    which has an error if the request names the partition twice."""
    times = yield from counted(
        request,
        (
            (topic.name, partition.partition_index)
            for topic in request.body.topics
            for partition in topic.partitions
        ),
    )
    body = RESPONSE.new()
    topics = yield from merged(request, ((t.name, t.partitions) for t in request.body.topics))
    for name, rows in topics.items():
        yield GiveWay(request)
        answer = RESPONSE.struct("ListOffsetsTopicResponse", name=name)
        body.topics.append(answer)
        # A partition that is named twice gets one row, with an error.
        for wanted in {row.partition_index: row for row in rows}.values():
            yield GiveWay(request)
            row = RESPONSE.struct(
                "ListOffsetsPartitionResponse", partition_index=wanted.partition_index
            )
            answer.partitions.append(row)
            try:
                broker.access.require(request, DESCRIBE_TOPIC, name)
                if times[name, wanted.partition_index] > 1:
                    raise Refused(ErrorCode.INVALID_REQUEST)
                found = yield from find_one(broker, request, name, wanted)
                row.timestamp, row.offset, row.leader_epoch = found
            except Refused as refused:
                row.error_code = code_for(request.api_version, refused.code)
    # RESPOND
    yield Respond(request, body)


def find_one(
    broker: Broker, request: Request, topic: str, wanted: Struct
) -> Generator[Effect, None, Found]:
    """Return the offset for one partition's timestamp, real or symbolic, or NOTHING if there is
    none. Raise Refused if this broker cannot serve the partition, or the request's version does not
    know the symbolic timestamp. Give way while the records of a large batch are read."""
    # VALIDATE
    reader, index = request.body.replica_id, wanted.partition_index
    is_debugging = reader == DEBUGGING_CONSUMER
    find = broker.replicas.held if is_debugging else broker.replicas.led
    partition = find(broker.image, topic, None, index)
    partition.check_leader_epoch(wanted.current_leader_epoch)
    if wanted.timestamp < 0 and (
        wanted.timestamp < EARLIEST_PENDING_UPLOAD
        or request.api_version < SINCE.get(wanted.timestamp, 0)
    ):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    # DEDUPLICATE, APPLY: reading changes nothing.
    rules, isolation = broker.rules, request.body.isolation_level
    symbolic = SYMBOLIC.get(wanted.timestamp)
    if wanted.timestamp == LATEST and reader != CONSUMER:
        return -1, partition.log.log_end_offset, partition.leader_epoch
    with disk_errors_refused():
        if symbolic is not None:
            return symbolic(rules, partition, isolation)
        if wanted.timestamp == MAX_TIMESTAMP:
            search = partition.log.offset_of_max_timestamp()
        else:
            search = rules.offset_at_time(partition, wanted.timestamp)
        while True:
            try:
                next(search)
            except StopIteration as end:
                found = below(end.value, rules.readable_end(partition, isolation))
                if found is NOTHING and reader == CONSUMER:
                    rules.check_end_is_known(partition.high_watermark, partition.epoch_start_offset)
                return found
            yield GiveWay(request)
            if find(broker.image, topic, None, index) is not partition:  # deleted meanwhile
                raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def latest(rules: Rules, partition: Partition, isolation: int) -> Found:
    """Return the end of the log for consumers of this isolation level. Raise Refused while a new
    leader does not know its high watermark."""
    rules.check_end_is_known(partition.high_watermark, partition.epoch_start_offset)
    return -1, rules.latest_offset(partition, isolation), partition.leader_epoch


def code_for(version: int, code: ErrorCode) -> ErrorCode:
    """Return this error code, or the one that takes its place for a client of a version without
    it."""
    is_unknown = code is ErrorCode.OFFSET_NOT_AVAILABLE and version < OFFSET_NOT_AVAILABLE_SINCE
    return ErrorCode.LEADER_NOT_AVAILABLE if is_unknown else code


def earliest(rules: Rules, partition: Partition, isolation: int) -> Found:
    """Return the first readable offset, with the leader epoch in which it was written, -1 if that
    is unknown."""
    start = rules.earliest_offset(partition)
    epoch = partition.log.leader_epochs.epoch_of(start)
    return -1, start, -1 if epoch is None else epoch


def none_tiered(rules: Rules, partition: Partition, isolation: int) -> Found:
    """Return NOTHING: this broker has no tiered storage, so no offset is in it."""
    return NOTHING


def below(found: Found | None, end: int) -> Found:
    """Return the found offset, or NOTHING if there is none (None) or it is not below `end`, the
    first offset that the reader may not see (Partition.fetchOffsetForTimestamp)."""
    return NOTHING if found is None or found[1] >= end else found


SYMBOLIC: dict[int, Callable[[Rules, Partition, int], Found]] = {
    LATEST: latest,
    EARLIEST: earliest,
    EARLIEST_LOCAL: earliest,
    LATEST_TIERED: none_tiered,
    EARLIEST_PENDING_UPLOAD: none_tiered,
}
