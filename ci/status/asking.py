"""Ask a cluster for its status: who leads the quorum, who is in sync, how far each replica is.

Sources: DescribeQuorumRequest.json (KIP-595, KIP-836), DescribeTopicPartitionsRequest.json
(KIP-966), ListOffsetsRequest.json, FetchRequest.json. The last two are sent as the debugging
consumer (replica id -2): it may ask any replica, which returns its own log end and high watermark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from chaos.clients.wire.wire_link import LATEST, WireCluster
from chaos.means.connection import WireError
from chaos.means.real_world import REAL_WORLD, run
from chaos.world import Address
from reference_impl.wire import ERRORS, ApiKey, Struct, request_definition

QUORUM_TOPIC = "__cluster_metadata"
DEBUGGING = -2
"""The replica id of the debugging consumer, which may read any replica (FetchRequest.java)."""
Partition = tuple[str, int]


@dataclass(frozen=True)
class Replica:
    """The log end and high watermark of one replica, each None if its broker does not report it."""

    node: int
    log_end: int | None = None
    high_watermark: int | None = None


@dataclass(frozen=True)
class PartitionStatus:
    """One partition of the cluster, with its leader, ISR, ELR and replicas."""

    topic: str
    index: int
    leader: int
    """The broker id of the leader, or -1 if the partition has no leader."""
    leader_epoch: int
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    """The eligible leader replicas (KIP-966): they have every committed record, but are not in
    sync."""
    replicas: tuple[Replica, ...]

    def lag(self, replica: Replica) -> int | None:
        """Return the number of records by which the replica is behind its leader, or None if that
        is unknown."""
        ends = {each.node: each.log_end for each in self.replicas}
        end = ends.get(self.leader)
        return None if end is None or replica.log_end is None else end - replica.log_end


@dataclass(frozen=True)
class QuorumStatus:
    """The quorum of the metadata log."""

    leader: int
    leader_epoch: int
    high_watermark: int
    voters: Mapping[int, int]
    """Node -> the end of its log, or -1 if the leader does not know it."""
    observers: Mapping[int, int]


@dataclass(frozen=True)
class Status:
    """The state of a cluster at one moment, as its brokers report it."""

    cluster_id: str
    brokers: Mapping[int, Address]
    """Broker id -> its address for clients, for each living broker."""
    quorum: QuorumStatus | None
    """The quorum, or None if no controller is known or the cluster has no KRaft quorum."""
    partitions: tuple[PartitionStatus, ...]
    unanswered: Mapping[int, str] = field(default_factory=dict)
    """Broker -> the reason why it does not report its replicas."""
    longest_steps: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Data directory of a reference node -> its longest steps (`reference_impl/host/steps.py`)."""


def status_of(bootstrap: str, timeout_s: float = 5.0) -> Status:
    """Ask the cluster for its status and return it, without `longest_steps`. Raise WireError if
    none of its brokers answers; a single broker that does not is noted in `unanswered`. timeout_s:
    the time allowed for each request."""
    cluster = WireCluster(REAL_WORLD, bootstrap, timeout_s)
    try:
        told = run(cluster.ask_any(ApiKey.METADATA, topics=None, allow_auto_topic_creation=False))
        brokers = {each.node_id: (each.host, each.port) for each in told.brokers}
        quorum = None
        with suppress(WireError):
            quorum = _quorum(cluster)
        rows = list(_partitions(cluster, told))
        ends, unanswered = _ends(cluster, brokers, rows)
    finally:
        cluster.close()
    partitions = tuple(
        PartitionStatus(
            topic,
            row.partition_index,
            row.leader_id,
            row.leader_epoch,
            tuple(row.isr_nodes),
            tuple(getattr(row, "eligible_leader_replicas", None) or ()),
            tuple(
                Replica(node, *ends.get((topic, row.partition_index, node), (None, None)))
                for node in row.replica_nodes
            ),
        )
        for topic, row in rows
    )
    return Status(told.cluster_id or "", brokers, quorum, partitions, unanswered)


def _quorum(cluster: WireCluster) -> QuorumStatus | None:
    struct = request_definition(ApiKey.DESCRIBE_QUORUM).struct
    asked = struct(
        "TopicData",
        topic_name=QUORUM_TOPIC,
        partitions=[struct("PartitionData", partition_index=0)],
    )
    answer = run(cluster.ask_any(ApiKey.DESCRIBE_QUORUM, topics=[asked]))
    for row in (row for topic in answer.topics for row in topic.partitions):
        if not row.error_code:
            voters, observers = (
                {each.replica_id: each.log_end_offset for each in replicas}
                for replicas in (row.current_voters, row.observers)
            )
            return QuorumStatus(
                row.leader_id, row.leader_epoch, row.high_watermark, voters, observers
            )
    return None


def _partitions(cluster: WireCluster, metadata: Struct) -> Iterable[tuple[str, Struct]]:
    """Yield topic and row of each partition, from DescribeTopicPartitions, which knows the eligible
    leader replicas, or else from Metadata."""
    topics = [topic for topic in metadata.topics if topic.name is not None]
    if not run(cluster.serves(ApiKey.DESCRIBE_TOPIC_PARTITIONS)):
        for topic in sorted(topics, key=lambda each: str(each.name)):
            yield from ((topic.name, row) for row in topic.partitions)
        return
    struct = request_definition(ApiKey.DESCRIBE_TOPIC_PARTITIONS).struct
    names = sorted(topic.name for topic in topics)
    cursor = None
    while names:
        asked = [struct("TopicRequest", name=name) for name in names]
        answer = run(cluster.ask_any(ApiKey.DESCRIBE_TOPIC_PARTITIONS, topics=asked, cursor=cursor))
        for topic in answer.topics:
            yield from ((topic.name, row) for row in topic.partitions)
        following = answer.next_cursor
        if following is None:
            return
        names = [name for name in names if name >= following.topic_name]
        cursor = struct(
            "Cursor", topic_name=following.topic_name, partition_index=following.partition_index
        )


Ends = dict[tuple[str, int, int], tuple[int | None, int | None]]


def _ends(
    cluster: WireCluster, brokers: Mapping[int, Address], rows: Iterable[tuple[str, Struct]]
) -> tuple[Ends, dict[int, str]]:
    """Return (topic, partition, node) -> log end and high watermark of that replica, and for each
    broker that does not report them the reason."""
    held: dict[int, list[Partition]] = defaultdict(list)
    for topic, row in rows:
        for node in row.replica_nodes:
            held[node].append((topic, row.partition_index))
    found: Ends = {}
    unanswered = {}
    for node, partitions in sorted(held.items()):
        if node not in brokers:
            unanswered[node] = "it is not among the living brokers"
            continue
        try:
            log_ends, why = _log_ends(cluster, brokers[node], partitions)
            watermarks = _high_watermarks(cluster, brokers[node], log_ends)
        except WireError as error:
            unanswered[node] = str(error)
            continue
        if why:
            unanswered[node] = why
        for (topic, index), end in log_ends.items():
            found[topic, index, node] = end, watermarks.get((topic, index))
    return found, unanswered


def _log_ends(
    cluster: WireCluster, address: Address, partitions: Iterable[Partition]
) -> tuple[dict[Partition, int], str]:
    """Return the log end of each replica that the broker reports, and, as a sentence, the error of
    the last one that it does not report, or ""."""
    struct = request_definition(ApiKey.LIST_OFFSETS).struct
    topics = [
        struct(
            "ListOffsetsTopic",
            name=topic,
            partitions=[
                struct("ListOffsetsPartition", partition_index=index, timestamp=LATEST)
                for index in indexes
            ],
        )
        for topic, indexes in _by_topic(partitions)
    ]
    answer = run(cluster.ask(address, ApiKey.LIST_OFFSETS, replica_id=DEBUGGING, topics=topics))
    found, why = {}, ""
    for topic in answer.topics:
        for row in topic.partitions:
            if row.error_code:
                name = ERRORS[row.error_code].name
                why = f"ListOffsets {topic.name}-{row.partition_index}: {name}"
            else:
                found[topic.name, row.partition_index] = row.offset
    return found, why


def _high_watermarks(
    cluster: WireCluster, address: Address, log_ends: Mapping[Partition, int]
) -> dict[Partition, int]:
    """Return the high watermark of each replica that the broker reports; one with an error is left
    out. Raise WireError if the broker does not answer."""
    struct = request_definition(ApiKey.FETCH).struct
    topics = [
        struct(
            "FetchTopic",
            topic=topic,
            partitions=[
                struct(
                    "FetchPartition",
                    partition=index,
                    fetch_offset=log_ends[topic, index],
                    partition_max_bytes=1,
                )
                for index in indexes
            ],
        )
        for topic, indexes in _by_topic(log_ends)
    ]
    fields = {"replica_id": DEBUGGING, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1}
    answer = run(cluster.ask(address, ApiKey.FETCH, topics=topics, **fields))
    return {
        (topic.topic, row.partition_index): row.high_watermark
        for topic in answer.responses
        for row in topic.partitions
        if not row.error_code
    }


def _by_topic(partitions: Iterable[Partition]) -> list[tuple[str, list[int]]]:
    found: dict[str, list[int]] = defaultdict(list)
    for topic, index in partitions:
        found[topic].append(index)
    return sorted(found.items())
