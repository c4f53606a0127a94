"""The client of a case: connections to the right brokers, topics for the case, and the common
requests as one call each. `Connection` sends exactly the given bytes."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.brokers import Brokers
from conformance.case import Deviation, expect
from conformance.connection import Connection, ConnectionClosed, api_key, part, request
from conformance.patience import PATIENCE
from conformance.terms import TERMS
from conformance.usual_topics import usual_configs
from reference_impl.wire import ErrorCode, Record, RecordBatch, Struct, batches

__all__ = [
    "Connection",
    "ConnectionClosed",
    "Topic",
    "Wire",
    "api_key",
    "batch",
    "eventually",
    "part",
    "request",
]

_TOPIC_NUMBER = itertools.count(1)
REFUSALS_OF_ONE_REPLICA = (ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.POLICY_VIOLATION)
REPLICAS_DEMANDED_MAX = 3
"""The number of replicas to ask for, if there are as many brokers, where one is refused."""
NONCE = os.urandom(8)
"""The nonce of this process, which is part of all names that its cases create:
touchstone-NONCE-…"""


@dataclass(frozen=True)
class Topic:
    """A topic created for one case."""

    name: str
    id: uuid.UUID
    partitions: int


def eventually(
    attempt: Callable[[], Any],
    accept: Callable[[Any], bool],
    what: str,
    timeout_s: float = 20.0,
    *,
    at_once: bool = False,
) -> Any:
    """Repeat an attempt until `accept` holds for its result, and return that. Raise Deviation, with
    the last result, after timeout_s, or later in a case that restarted the target, or earlier if
    the target did not reach that state before. at_once: whether the state follows from a change by
    itself, without the end of any session; then a wait after a miss may be shorter than usual."""
    least_s = PATIENCE.least_at_once_s() if at_once else None
    timeout_s, pause_s = PATIENCE.awaited_s(what, timeout_s, least_s), 0.01
    began = time.monotonic()
    deadline = began + timeout_s
    while True:
        result = attempt()
        if accept(result):
            PATIENCE.note_reached(what)
            if at_once:
                PATIENCE.note_at_once(time.monotonic() - began)
            return result
        if time.monotonic() > deadline:
            PATIENCE.note_missed(what)
            raise Deviation(what, f"within {timeout_s:g} s", result)
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, 0.25)


class Wire(Brokers):
    """The client of one case, which closes what it has opened."""

    # --- topics -----------------------------------------------------------------------------------

    def new_name(self, prefix: str = "case") -> str:
        """Return a name that no other case uses, with `prefix` in it."""
        return f"{TERMS.prefix}touchstone-{NONCE.hex()}-{prefix}-{next(_TOPIC_NUMBER)}"

    def create_topic(
        self,
        partitions: int = 1,
        config: Mapping[str, str] | None = None,
        name: str | None = None,
        *,
        on_one_broker: bool = False,
        with_defaults: bool = False,
    ) -> Topic:
        """Create a topic with one replica (or as many as the terms or the cluster demand), and wait
        until every broker knows a leader of each partition. Raise Deviation if it cannot be
        created. on_one_broker: let the broker at `home` lead all partitions, so that one request
        may name several. with_defaults: use the broker's own defaults instead of the settings that
        cases take for granted."""
        name = name or self.new_name()
        usual = {} if with_defaults else usual_configs(self)
        entries = [
            part("CreateTopics", "CreatableTopicConfig", name=key, value=value)
            for key, value in (usual | dict(config or {})).items()
        ]
        factor = TERMS.replication_factor or 1
        placed = self._placed_together(partitions, factor) if on_one_broker else []
        creatable = part(
            "CreateTopics",
            "CreatableTopic",
            name=name,
            configs=entries,
            assignments=placed,
            num_partitions=-1 if placed else partitions,
            replication_factor=-1 if placed else factor,
        )
        result = self._created(creatable)
        if result.error_code in REFUSALS_OF_ONE_REPLICA:
            # A cluster may demand more replicas than one: then it says itself how many.
            if placed:
                creatable.assignments = self._placed_together(partitions, REPLICAS_DEMANDED_MAX)
            else:
                creatable.replication_factor = -1
            result = self._created(creatable)
        if result.error_code == ErrorCode.INVALID_REPLICATION_FACTOR:
            # A broker that cannot send its heartbeats, as on a busy machine, is fenced for a while.
            result = eventually(
                lambda: self._created(creatable),
                lambda found: found.error_code != ErrorCode.INVALID_REPLICATION_FACTOR,
                "enough brokers are not fenced",
            )
        reason = f" ({result.error_message})" if result.error_message else ""
        expect(result.error_code, ErrorCode.NONE, f"CreateTopics {name}{reason}")
        return self.wait_for_topic(name, partitions)

    def _created(self, topic: Struct) -> Struct:
        """Send CreateTopics for one topic; return its result."""
        answer = self.call("CreateTopics", topics=[topic], timeout_ms=20_000)
        result: Struct = answer.topics[0]
        return result

    def _placed_together(self, partitions: int, replicas: int = 1) -> list[Struct]:
        """Return an assignment of all partitions to the same brokers, of which `home` leads, or []
        if there is only one broker."""
        brokers = sorted(self.brokers())
        return [
            part(
                "CreateTopics",
                "CreatableReplicaAssignment",
                partition_index=partition,
                broker_ids=brokers[:replicas],
            )
            for partition in range(partitions if len(brokers) > 1 else 0)
        ]

    def wait_for_topic(self, name: str, partitions: int) -> Topic:
        """Wait until the Metadata of every broker shows a leader for each partition, and each
        leader serves it; return the topic. Raise Deviation if that takes too long.

        A broker may show a new topic in Metadata a moment before its log can be read (seen on
        Apache Kafka 4.3.1); without the wait a case would take that for the target's answer.
        """
        for connection in self.everywhere():
            described = eventually(
                lambda asked=connection: self.topic_metadata(name, connection=asked),  # type: ignore[misc]
                lambda t: (
                    t.error_code == 0
                    and len(t.partitions) == partitions
                    and all(p.error_code == 0 for p in t.partitions)
                ),
                f"topic {name} becomes visible with leaders",
                at_once=True,
            )
        topic = Topic(name, described.topic_id, partitions)
        for partition in range(partitions):
            eventually(
                lambda partition=partition: self.fetch(topic, 0, partition=partition).error_code,  # type: ignore[misc]
                lambda error: error == ErrorCode.NONE,
                f"partition {partition} of the new topic {name} can be read",
                at_once=True,
            )
        return topic

    def delete_topic(self, topic: Topic) -> None:
        """Delete a topic and wait until Metadata of no broker knows it. Raise Deviation if the
        target refuses, or if that takes too long."""
        state = part("DeleteTopics", "DeleteTopicState", name=topic.name)
        answer = self.call(
            "DeleteTopics", topics=[state], topic_names=[topic.name], timeout_ms=20_000
        )
        if answer.responses[0].error_code != ErrorCode.NONE:
            raise Deviation(f"DeleteTopics {topic.name}", "NONE(0)", answer.responses[0])
        for connection in self.everywhere():
            eventually(
                lambda asked=connection: self.topic_metadata(topic.name, connection=asked),  # type: ignore[misc]
                lambda found: found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"topic {topic.name} is gone from Metadata",
                at_once=True,
            )

    def topic_metadata(
        self, name: str, version: int | None = None, *, connection: Connection | None = None
    ) -> Struct:
        """Return the Metadata entry of one topic, its partitions in order, by default from the
        bootstrap broker, without creating the topic. Raise Deviation unless the response has
        exactly one topic."""
        answer = (connection or self.bootstrap).call(
            "Metadata",
            self.version("Metadata") if version is None else version,
            topics=[part("Metadata", "MetadataRequestTopic", name=name)],
            allow_auto_topic_creation=False,
        )
        if len(answer.topics) != 1:
            raise Deviation("topics in the Metadata answer", 1, len(answer.topics))
        topic: Struct = answer.topics[0]
        topic.partitions.sort(key=lambda partition: partition.partition_index)
        return topic

    def leader(self, topic: Topic, partition: int = 0) -> Connection:
        """Return the connection to a partition's leader, or to the bootstrap broker if there is no
        leader, or only one broker."""
        return self._cached(self.leader_address(topic, partition))

    def leader_address(self, topic: Topic, partition: int = 0) -> tuple[str, int]:
        """Return the address of the broker that `leader` connects to, without creating the
        topic."""
        answer = self.call(
            "Metadata",
            topics=[part("Metadata", "MetadataRequestTopic", name=topic.name)],
            allow_auto_topic_creation=False,
        )
        brokers = {b.node_id: (b.host, b.port) for b in answer.brokers}
        if len(brokers) > 1:
            for found in answer.topics[0].partitions:
                if found.partition_index == partition and found.leader_id in brokers:
                    return brokers[found.leader_id]
        return self.addresses[0]

    def connect_to_leader(self, topic: Topic, partition: int = 0) -> Connection:
        """Open an additional connection to the broker that `leader` chooses."""
        return self.connect(address=self.leader_address(topic, partition))

    # --- produce and fetch ------------------------------------------------------------------------

    def produce(
        self,
        topic: Topic,
        records: bytes | None,
        version: int | None = None,
        *,
        partition: int = 0,
        acks: int = -1,
        transactional_id: str | None = None,
    ) -> Struct:
        """Produce bytes (usually a batch) to one partition, by default in the newest version;
        return the partition's row of the response."""
        version = self.version("Produce") if version is None else version
        body = self.produce_request(
            topic, records, partition=partition, acks=acks, transactional_id=transactional_id
        )
        answer = self.leader(topic, partition).call("Produce", version, body)
        return answer.responses[0].partition_responses[0]  # type: ignore[no-any-return]

    def produce_request(
        self,
        topic: Topic,
        records: bytes | None,
        *,
        partition: int = 0,
        acks: int = -1,
        transactional_id: str | None = None,
    ) -> Struct:
        data = part("Produce", "PartitionProduceData", index=partition, records=records)
        entry = part(
            "Produce", "TopicProduceData", name=topic.name, topic_id=topic.id, partition_data=[data]
        )
        return request(
            "Produce",
            acks=acks,
            timeout_ms=20_000,
            topic_data=[entry],
            transactional_id=transactional_id,
        )

    def fetch(
        self,
        topic: Topic,
        offset: int,
        version: int | None = None,
        *,
        partition: int = 0,
        **options: Any,
    ) -> Struct:
        """Fetch one partition (version: by default the newest); return its row of the response.
        options: see fetch_request. Raise Deviation if the response as a whole has an error or does
        not have exactly one topic."""
        version = self.version("Fetch") if version is None else version
        body = self.fetch_request(topic, offset, partition=partition, **options)
        answer = self.leader(topic, partition).call("Fetch", version, body)
        if answer.error_code != 0 or len(answer.responses) != 1:
            raise Deviation("Fetch answer", "one topic, NONE(0)", answer)
        return answer.responses[0].partitions[0]  # type: ignore[no-any-return]

    def fetch_request(
        self,
        topic: Topic,
        offset: int,
        *,
        partition: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 50 << 20,
        partition_max_bytes: int = 50 << 20,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        current_leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
    ) -> Struct:
        wanted = part(
            "Fetch",
            "FetchPartition",
            partition=partition,
            fetch_offset=offset,
            partition_max_bytes=partition_max_bytes,
            current_leader_epoch=current_leader_epoch,
            last_fetched_epoch=last_fetched_epoch,
        )
        entry = part(
            "Fetch", "FetchTopic", topic=topic.name, topic_id=topic.id, partitions=[wanted]
        )
        return request(
            "Fetch",
            replica_id=-1,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation_level,
            session_id=session_id,
            session_epoch=session_epoch,
            topics=[entry],
        )

    def batches(self, topic: Topic, offset: int = 0, *, partition: int = 0) -> list[RecordBatch]:
        """Read every batch from an offset to the high watermark. Raise Deviation if a fetch has an
        error."""
        found: list[RecordBatch] = []
        while True:
            answer = self.fetch(topic, offset, partition=partition)
            if answer.error_code != 0:
                raise Deviation("Fetch error", "NONE(0)", answer.error_code)
            records = bytes(answer.records or b"")
            if not records:
                return found
            at = 0
            while at < len(records):
                batch, at = RecordBatch.decode(records, at)
                found.append(batch)
            offset = found[-1].base_offset + int(found[-1].last_offset_delta or 0) + 1

    def bytes_from(
        self, topic: Topic, offset: int, version: int | None = None, **options: Any
    ) -> bytes:
        """Return the bytes of all batches from an offset to the end, fetched in as many requests as
        that takes. One answer may hold fewer of them than its limits allow: Apache Kafka ends it
        with the segment."""
        found = b""
        while records := bytes(self.fetch(topic, offset, version, **options).records or b""):
            found += records
            last = list(batches(records))[-1][0]
            offset = last.last_offset + 1
        return found

    def values(self, topic: Topic, *, partition: int = 0) -> list[bytes | None]:
        """Return the value (None: null) of every data record of a partition, aborted ones too, in
        offset order."""
        return [
            record.value
            for batch in self.batches(topic, partition=partition)
            if not batch.is_control
            for record in batch.records
        ]

    def end_offset(self, topic: Topic, partition: int = 0) -> int:
        """Return the partition's high watermark."""
        return int(self.fetch(topic, 0, partition=partition).high_watermark)


def batch(*values: bytes | None, **fields: Any) -> RecordBatch:
    """Return a record batch of these values, stamped with the present time, with the given header
    fields."""
    now_ms = int(time.time() * 1000)
    defaults = {"base_timestamp": now_ms, "max_timestamp": now_ms}
    records = [Record(value=value, offset_delta=n) for n, value in enumerate(values)]
    return RecordBatch(records=records, **(defaults | fields))
