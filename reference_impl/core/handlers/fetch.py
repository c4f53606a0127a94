"""Fetch (API key 1). Spec: FetchRequest.json; KIP-74 (size limits), KIP-98 (read_committed),
KIP-227 (sessions), KIP-320 (leader epochs), KIP-516 (topic ids since v13), KIP-595 (divergence),
KIP-903 (broker epochs of followers).

A follower reads to the end of the log, and its fetch offset acknowledges everything below it. A
consumer may be sent to a follower in its rack (KIP-392), or to a new leader (KIP-951).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.partitions.fetch_sessions import (
    CONSUMER,
    NO_SESSION,
    TOPIC_IDS_SINCE,
    FetchContext,
    Row,
    Wanted,
    WantedKey,
    replica_of,
)
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.purgatory import Watch, answered
from reference_impl.core.partitions.reading import (
    RESPONSE,
    UNDEFINED_EPOCH,
    ZSTD_SINCE,
    aborted_in,
    check_reader,
    divergence,
    read,
)
from reference_impl.core.refused import Refused
from reference_impl.core.replication.isr import consider_joining, consider_outsider
from reference_impl.core.replication.leader_hints import LeaderHints
from reference_impl.core.replication.read_replica import preferred_replica
from reference_impl.core.rules import READ_COMMITTED
from reference_impl.core.security.authorization.permissions import CLUSTER_ACTION, READ_TOPIC
from reference_impl.wire import ErrorCode, Struct

PartitionData = RESPONSE.struct_class("PartitionData")
NodeEndpoint = RESPONSE.struct_class("NodeEndpoint")
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
FROM_FOLLOWERS_SINCE, LEADERS_SINCE = 11, 16
TELL_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def handle_fetch(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the records that the reader may see, and note how far a follower is. Wait up to
    max_wait_ms until there are min_bytes."""
    # VALIDATE
    try:
        context = broker.fetch_sessions.context(
            request, broker.monotonic_ms, lambda: int.from_bytes(broker.random_bytes(4), "big") >> 1
        )
    except Refused as refused:
        yield Respond(request, RESPONSE.new(error_code=refused.code))
        return
    # DEDUPLICATE: reading changes nothing.
    # APPLY: nothing, but for the progress of a follower.
    if replica_of(request.body) >= 0:
        consider_outsider(broker, replica_of(request.body))
    # RESPOND: now, or when there is enough to read, or when the client's patience ends.
    fetch = PendingFetch(broker, request, context)
    changes = broker.purgatory.changes
    body = yield from fetch.answer(expired=request.body.max_wait_ms <= 0 or not context.wanted)
    if body is not None:
        yield answered(request, body)
        return
    yield from broker.purgatory.park(fetch, request.body.max_wait_ms)
    if broker.purgatory.changes != changes:
        # Others had their turn: partitions may have changed after they were read, but before the
        # purgatory watched them.
        yield from broker.purgatory.ask(request.connection)


@dataclass(slots=True)
class Reading:
    """The result of one attempt to read: a row for each partition, and whether it must be answered
    without waiting."""

    bytes_left: int
    rows: list[Row] = field(default_factory=list)
    bytes_read: int = 0
    must_answer: bool = False


class PendingFetch:
    """A fetch that may wait for data. Each attempt (`answer`) reads all its partitions again, or in
    a session those that may have more."""

    def __init__(self, broker: Broker, request: Request, context: FetchContext) -> None:
        self.request = request
        self._broker = broker
        self._context = context
        most = broker.config.number("fetch.max.bytes")  # KIP-541
        at_once = broker.throttles.fetched.most_at_once(request)
        if at_once is not None:
            most = min(most, int(at_once))  # a larger answer would exceed the quota for ever
        self._max_bytes = min(request.body.max_bytes, most)
        self._min_bytes = min(request.body.min_bytes, self._max_bytes)
        self._denied: set[WantedKey] | None = None
        self._replica_id = replica_of(request.body)
        # [New in v11: KIP-392] A consumer may read from a follower.
        may_follow = request.api_version >= FROM_FOLLOWERS_SINCE
        self._asks_the_leader = self._replica_id >= 0 or (
            self._replica_id == CONSUMER and not may_follow
        )
        self._is_first = True
        """Whether no attempt has read yet. Only the first attempt shows how far the follower's log
        reaches."""

    def watch(self) -> Watch:
        """Return a watch of the partitions whose change may complete the request: those of the
        session, or else of the request."""
        if self._context.session is not None:
            return self._context.session.watch
        keys = []
        for wanted in self._context.wanted:
            topic = self._broker.image.topic_of(wanted.topic, wanted.topic_id)
            if topic is not None:
                keys.append((topic.name, wanted.params.partition))
        return Watch.over(keys)

    def answer(self, *, expired: bool) -> Generator[Effect, None, Struct | None]:
        """Read, and return the response if enough bytes or an error are there or the wait is over
        (`expired`), else None. If the client's quota is used up, the response has no records and
        says how long the client must wait. Give way to other requests in between."""
        if self._denied is None:
            asked = self._context.wanted
            self._denied = yield from denied_among(self._broker, self.request, asked)
        reading = yield from self._read(self._denied)
        if not (expired or reading.must_answer or reading.bytes_read >= self._min_bytes):
            return None
        throttle_ms = self._spend(reading.bytes_read)
        if throttle_ms > 0:
            session = self._context.session
            return RESPONSE.new(
                session_id=session.session_id if session else NO_SESSION,
                throttle_time_ms=throttle_ms,
            )
        session_id, rows = self._context.to_send(reading.rows)
        if self._replica_id >= 0:
            self._count_throttled(rows)
        body = RESPONSE.new(session_id=session_id)
        topic: Struct | None = None
        yield GiveWay(self.request)
        hints = LeaderHints(self._broker, self.request, NodeEndpoint)
        for wanted, row in rows:
            # [New in v16: KIP-951]
            if row.error_code in TELL_LEADER and self.request.api_version >= LEADERS_SINCE:
                named = self._broker.image.topic_of(wanted.topic, wanted.topic_id)
                hints.tell(row, named, wanted.params.partition)
            if topic is None or (topic.topic, topic.topic_id) != (wanted.topic, wanted.topic_id):
                topic = RESPONSE.struct(
                    "FetchableTopicResponse", topic=wanted.topic, topic_id=wanted.topic_id
                )
                body.responses.append(topic)
            topic.partitions.append(row)
        body.node_endpoints = hints.endpoints
        return body

    def _spend(self, amount: int) -> int:
        """Charge these bytes of records to the client's quota and return 0. If the quota is used
        up, charge nothing, and return the milliseconds that the client must wait. Followers, and
        bytes that are not records, are not charged."""
        if self._replica_id >= 0:
            return 0
        throttle, now_ms = self._broker.throttles.fetched, self._broker.monotonic_ms
        throttle_ms = throttle.spend(self.request, amount, now_ms)
        if throttle_ms > 0:
            throttle.take_back(self.request, amount, now_ms)
        return throttle_ms

    def _read(self, denied: set[WantedKey]) -> Generator[Effect, None, Reading]:
        reading = Reading(self._max_bytes)
        pause = GiveWay(self.request)
        for wanted in self._context.to_read(self._broker.purgatory, denied):
            try:
                if wanted.key in denied:
                    raise Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                row = self._read_one(wanted, reading)
            except Refused as refused:
                row = refusal(wanted.params.partition, refused.code)
                if refused.code in (UNKNOWN, ErrorCode.UNKNOWN_TOPIC_ID):
                    row.aborted_transactions = []  # null only for a partition that exists
                reading.must_answer = True
            reading.rows.append((wanted, row))
            yield pause
        self._is_first = False
        return reading

    def _read_one(self, wanted: Wanted, reading: Reading) -> Struct:
        """Return the row of one partition, count its records in `reading`, and note how far a
        follower is. Raise Refused if this broker cannot serve the partition to the reader."""
        params, isolation = wanted.params, self.request.body.isolation_level
        by_id = self.request.api_version >= TOPIC_IDS_SINCE
        topic_id = wanted.topic_id if by_id else None
        replicas, image = self._broker.replicas, self._broker.image
        find = replicas.led if self._asks_the_leader else replicas.held
        partition = find(image, wanted.topic, topic_id, params.partition)
        # A Fetch takes every negative epoch for none (FetchRequest.optionalEpoch).
        partition.check_leader_epoch(max(UNDEFINED_EPOCH, params.current_leader_epoch))
        check_reader(self.request, partition, params)
        rules = self._broker.rules
        offset = rules.fetch_offset(partition, params, self.request.connection)
        row = PartitionData(
            partition_index=params.partition,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.log.last_stable_offset,
            log_start_offset=partition.log.log_start_offset,
            aborted_transactions=[] if isolation == READ_COMMITTED else None,
            records=b"",
        )
        self._context.was_read(self._broker.purgatory, wanted, (partition.topic, partition.index))
        preferred = self._preferred(partition, offset)
        if preferred is not None:
            row.preferred_read_replica, row.aborted_transactions = preferred, None
            reading.must_answer = True
            return row
        diverging = divergence(partition, params)
        if diverging is not None:
            row.diverging_epoch = diverging
            reading.must_answer = True
            return row
        is_follower = self._replica_id >= 0
        if is_follower and self._is_throttled(partition):
            self._note_follower(partition, offset, params.log_start_offset)
            return row
        end = (
            rules.readable_end(partition, isolation)
            if self._replica_id == CONSUMER
            else partition.log.log_end_offset
        )
        row.records = read(
            rules,
            partition,
            offset,
            min(params.partition_max_bytes, reading.bytes_left),
            end,
            # KIP-74: the first batch of all comes whole, however small the limits, so that a
            # consumer gets past it.
            at_least_one=reading.bytes_read == 0,
            from_file=self._broker.sends_from_files,
        )
        if is_follower:
            self._note_follower(partition, offset, params.log_start_offset)
        if isolation == READ_COMMITTED and row.records:
            row.aborted_transactions = aborted_in(rules, partition, offset, row.records)
        # Before v10 the answer also depends on compression.type, and no session notes its changes.
        if offset >= end and self.request.api_version >= ZSTD_SINCE:
            self._context.is_at_end(wanted, row)
        reading.bytes_read += len(row.records)
        reading.bytes_left = max(0, reading.bytes_left - len(row.records))
        return row

    def _preferred(self, partition: Partition, offset: int) -> int | None:
        """Return the follower from which the consumer should read instead (KIP-392), or None if it
        should read here."""
        is_told = self.request.api_version >= FROM_FOLLOWERS_SINCE and self._replica_id < 0
        rack = self.request.body.rack_id if is_told else ""
        return preferred_replica(self._broker, partition, rack, offset)

    def _is_throttled(self, partition: Partition) -> bool:
        """Return whether an out-of-sync follower gets no records of this partition now: it is
        throttled, and its quota is used up (KIP-73; ReplicaManager.shouldLeaderThrottle)."""
        quota = self._broker.leader_quota
        return (
            self._replica_id not in partition.state.isr
            and quota.concerns(partition.topic, partition.index)
            and quota.is_used_up(self._broker.monotonic_ms)
        )

    def _count_throttled(self, rows: list[Row]) -> None:
        """Charge the leader's quota for the records of throttled replicas that a follower gets."""
        quota, image = self._broker.leader_quota, self._broker.image
        for wanted, row in rows:
            topic = image.topic_of(wanted.topic, wanted.topic_id) if row.records else None
            if topic is not None and quota.concerns(topic.name, row.partition_index):
                quota.record(len(row.records), self._broker.monotonic_ms)

    def _note_follower(self, partition: Partition, offset: int, log_start: int) -> None:
        """In the first attempt, note that a follower has everything up to the offset, and let it
        join the ISR if it may. Raise Refused if the follower has registered again since."""
        if not self._is_first:
            return
        broker, replica_state = self._broker, self.request.body.replica_state
        registered = broker.image.brokers.get(self._replica_id)
        broker.rules.check_replica_epoch(registered, replica_state.replica_epoch)
        partition.follower_reached(self._replica_id, offset, replica_state.replica_epoch, log_start)
        consider_joining(broker, partition, self._replica_id)


def denied_among(
    broker: Broker, request: Request, wanted: list[Wanted]
) -> Generator[Effect, None, set[WantedKey]]:
    """Return the partitions that the client may not read. The caller asks once per fetch, not at
    each attempt."""
    if not broker.access.is_controlled:
        return set()
    if replica_of(request.body) >= 0:
        may_follow = broker.access.may(request, CLUSTER_ACTION)
        return set() if may_follow else {each.key for each in wanted}
    denied = set()
    for each in wanted:
        topic = broker.image.topic_of(each.topic, each.topic_id)
        name = each.topic or (topic.name if topic is not None else None)
        if name and not broker.access.may(request, READ_TOPIC, name):
            denied.add(each.key)
        yield GiveWay(request)
    return denied


def refusal(index: int, code: ErrorCode) -> Struct:
    """Return the row of a partition that cannot be read, with every offset unknown (-1)."""
    return PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )
