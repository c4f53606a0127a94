"""Fetch ahead of the application: while it works on some records, the next are in flight.

Source: Fetcher.java, AbstractFetch.java, FetchRequest.json. Each broker is asked for the partitions
whose fetched records are all used up. At most one Fetch is in flight to a broker.
"""

from __future__ import annotations

from collections import deque

from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.cluster.network import Network, Node
from reference_impl.client.config import Config
from reference_impl.client.errors import STALE_METADATA, ClientError, Refusal
from reference_impl.client.group.subscription import Subscription
from reference_impl.client.kernel import Kernel
from reference_impl.client.reading.fetch_sessions import FetchSession, SessionRequest, Wanted
from reference_impl.client.reading.fetched import FetchedPartition
from reference_impl.client.reading.positions import Positions
from reference_impl.client.values import ConsumerRecord, TopicPartition, by_topic
from reference_impl.links.link import Failure
from reference_impl.wire import (
    ZERO_UUID,
    ApiKey,
    CorruptRecord,
    ErrorCode,
    Struct,
    request_definition,
)

VERSION_WITH_TOPIC_NAMES = 12
HARMLESS = frozenset({ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.UNKNOWN_SERVER_ERROR})
"""Errors after which the same fetch is repeated (FetchCollector.handleInitializeErrors)."""


class Fetcher:
    """Fetches records from the leaders of the held partitions, and keeps them until a poll takes
    them."""

    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        metadata: Metadata,
        config: Config,
        subscription: Subscription,
        positions: Positions,
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._metadata = metadata
        self._config = config
        self._subscription = subscription
        self._positions = positions
        self._is_read_committed = config["isolation.level"] == "read_committed"
        self._sessions: dict[int, FetchSession] = {}
        self._asking: set[int] = set()
        self._buffered: deque[FetchedPartition] = deque()
        self.error: ClientError | None = None
        """The error that the next poll must raise."""

    # --- handing out --------------------------------------------------------------------------

    def take(self, max_records: int) -> list[ConsumerRecord]:
        """Return at most this many records of partitions that may be read, and move the positions
        past them. Drop fetched records of partitions that were given up or moved by a seek. Store a
        corrupt batch in `error`."""
        taken: list[ConsumerRecord] = []
        kept: deque[FetchedPartition] = deque()
        while self._buffered and len(taken) < max_records:
            fetched = self._buffered.popleft()
            state = self._subscription.partitions.get(fetched.partition)
            if state is None:
                continue  # it was given up
            if not self._kernel.rules.is_still_wanted(state.position, fetched.next_offset):
                continue
            if not state.may_be_read:
                kept.append(fetched)
                continue
            try:
                taken += fetched.take(max_records - len(taken))
            except CorruptRecord as error:
                self.error = ClientError(
                    "CORRUPT_MESSAGE",
                    f"{fetched.partition} from offset {fetched.next_offset} on: {error}",
                )
                break
            finally:
                state.position = fetched.next_offset
                if fetched.leader_epoch >= 0:
                    if state.leader_epoch < 0:  # the leader's log has that epoch
                        state.valid_epoch = fetched.asked_epoch
                    state.leader_epoch = fetched.leader_epoch
            if not fetched.is_drained:
                kept.appendleft(fetched)
        self._buffered.extendleft(reversed(kept))
        return taken

    # --- asking -------------------------------------------------------------------------------

    def run(self) -> None:
        """Send a Fetch to every broker that leads a partition which may be read, has a valid
        position, and has no fetched records here, unless one to this broker is in flight."""
        here = {fetched.partition for fetched in self._buffered}
        wanted: dict[int, dict[TopicPartition, Wanted]] = {}
        nodes: dict[int, Node] = {}
        for partition, state in self._subscription.partitions.items():
            if state.position is None or not state.may_be_read or partition in here:
                continue
            if state.is_looked_up or self._positions.must_wait(partition, state):
                continue
            leader = self._metadata.leader(partition)
            if leader is None:
                self._metadata.refresh()
                continue
            node, epoch = leader
            if not state.is_valid_under(epoch):
                continue  # truncation.py asks this leader first
            topic = self._metadata.topic(partition.topic)
            topic_id = topic.topic_id if topic is not None else ZERO_UUID
            max_bytes = self._config["max.partition.fetch.bytes"]
            nodes[node.id] = node
            wanted.setdefault(node.id, {})[partition] = Wanted(
                topic_id, state.position, epoch, max_bytes
            )
        for node_id, partitions in wanted.items():
            if node_id not in self._asking:
                self._ask(nodes[node_id], partitions)

    def _ask(self, node: Node, wanted: dict[TopicPartition, Wanted]) -> None:
        session = self._sessions.setdefault(node.id, FetchSession())
        names_only = any(what.topic_id == ZERO_UUID for what in wanted.values())
        if any((what.topic_id == ZERO_UUID) != names_only for what in session.partitions.values()):
            session.reset()  # a session speaks of topics by name or by id, not both (KIP-516)
        request = session.next_request(wanted)
        self._asking.add(node.id)
        self._network.ask(
            node,
            ApiKey.FETCH,
            self._body(request),
            lambda answer: self._answered(node, session, wanted, answer),
            lambda failure: self._failed(node, session, failure),
            version_max=VERSION_WITH_TOPIC_NAMES if names_only else 1 << 15,
        )

    def _body(self, request: SessionRequest) -> Struct:
        of = request_definition(ApiKey.FETCH)

        def partition(key: TopicPartition) -> Struct:
            what = request.to_send[key]
            return of.struct(
                "FetchPartition",
                partition=key.partition,
                current_leader_epoch=what.leader_epoch,
                fetch_offset=what.offset,
                partition_max_bytes=what.max_bytes,
            )

        return of.new(
            max_wait_ms=self._config["fetch.max.wait.ms"],
            min_bytes=self._config["fetch.min.bytes"],
            max_bytes=self._config["fetch.max.bytes"],
            isolation_level=int(self._is_read_committed),
            session_id=request.session_id,
            session_epoch=request.epoch,
            topics=[
                of.struct(
                    "FetchTopic",
                    topic=topic,
                    topic_id=request.to_send[TopicPartition(topic, indexes[0])].topic_id,
                    partitions=[partition(TopicPartition(topic, index)) for index in indexes],
                )
                for topic, indexes in by_topic(request.to_send).items()
            ],
            forgotten_topics_data=[
                of.struct(
                    "ForgottenTopic",
                    topic=topic,
                    topic_id=request.to_forget[TopicPartition(topic, indexes[0])],
                    partitions=indexes,
                )
                for topic, indexes in by_topic(request.to_forget).items()
            ],
        )

    # --- answers ------------------------------------------------------------------------------

    def _failed(self, node: Node, session: FetchSession, failure: Failure) -> None:
        self._asking.discard(node.id)
        session.reset()
        self._metadata.refresh()
        if failure.is_unsupported:
            self.error = ClientError("UNSUPPORTED_VERSION", failure.reason)

    def _answered(
        self, node: Node, session: FetchSession, asked: dict[TopicPartition, Wanted], answer: Struct
    ) -> None:
        self._asking.discard(node.id)
        if answer.error_code:
            # No error leaves the session usable (FetchSessionHandler.handleResponse).
            session.reset()
            if answer.error_code in STALE_METADATA:
                self._metadata.refresh()
                for partition in asked:
                    self._pause(partition)
            return
        session.answered(answer.session_id)
        names = {what.topic_id: each.topic for each, what in asked.items()}
        for topic in answer.responses:
            name = topic.topic or names.get(topic.topic_id)
            for row in topic.partitions:
                partition = TopicPartition(name or "", row.partition_index)
                if partition in asked:
                    self._partition_answered(partition, asked[partition], row)

    def _partition_answered(self, partition: TopicPartition, asked: Wanted, row: Struct) -> None:
        state = self._subscription.partitions.get(partition)
        if state is None or state.position != asked.offset:
            return  # revoked, or moved by a seek, while this was under way
        code = row.error_code
        if code == ErrorCode.NONE:
            state.high_watermark = row.high_watermark
            if row.records:
                self._buffered.append(
                    FetchedPartition(
                        partition,
                        asked.offset,
                        row,
                        is_read_committed=self._is_read_committed,
                        asked_epoch=asked.leader_epoch,
                        rules=self._kernel.rules,
                    )
                )
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._positions.out_of_range(partition, asked.offset)
        elif code in STALE_METADATA or code in HARMLESS:
            self._metadata.refresh()
            self._pause(partition)
        else:
            self.error = Refusal(code, f"reading {partition} at offset {asked.offset}")
            self._pause(partition)

    def _pause(self, partition: TopicPartition) -> None:
        """Fetch nothing from a partition for about `retry.backoff.ms`."""
        state = self._subscription.partitions.get(partition)
        if state is not None:
            delay_ms = self._kernel.jittered(self._config["retry.backoff.ms"])
            state.not_before_ms = self._kernel.monotonic_ms + delay_ms
