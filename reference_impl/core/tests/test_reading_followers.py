"""Followers serve consumers up to their high watermark, and the debugging consumer to the end of
their log (KIP-392)."""

from __future__ import annotations

import pytest

from reference_impl.core.partitions.fetch_sessions import CONSUMER, DEBUGGING_CONSUMER
from reference_impl.core.tests.replicated_cluster import ReplicatedCluster, rows_of
from reference_impl.wire import ApiKey, ErrorCode, RecordBatch, definition

FETCH, LIST = definition("FetchRequest"), definition("ListOffsetsRequest")
LATEST = -1


@pytest.fixture(scope="module")
def cluster() -> ReplicatedCluster:
    """A cluster with one committed record. The second follower fetches no more: it got one record
    by the fetch that the leader held back, and lacks the last."""
    cluster = ReplicatedCluster()
    cluster.create()
    cluster.produce(cluster.leader(), "a")
    cluster.run(1_000)
    cluster.silent.add((cluster.followers()[1], cluster.leader()))
    for value in ("b", "c"):
        cluster.produce(cluster.leader(), value, acks=1)
        cluster.run(500)
    return cluster


def fetched(cluster: ReplicatedCluster, reader: int, version: int) -> tuple[int, int, list[str]]:
    """Return what the first follower answers: error code, high watermark, values."""
    follower = cluster.followers()[0]
    row = FETCH.struct("FetchPartition", partition_max_bytes=1 << 20)
    topics = [FETCH.struct("FetchTopic", topic="t", partitions=[row])]
    body = FETCH.new(replica_id=reader, max_wait_ms=0, max_bytes=1 << 20, topics=topics)
    cluster.answers[follower].clear()
    cluster.send(follower, ApiKey.FETCH, version, body)
    ((answer,),) = [rows_of(each) for each in cluster.answers[follower]]
    data, values = bytes(answer.records or b""), []
    while data:
        batch, size = RecordBatch.decode(data)
        values += [(record.value or b"").decode() for record in batch.records]
        data = data[size:]
    return answer.error_code, answer.high_watermark, values


@pytest.mark.parametrize(
    ("reader", "version", "expected"),
    [
        (CONSUMER, 10, (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, [])),
        (CONSUMER, 11, (ErrorCode.NONE, 1, ["a"])),
        (DEBUGGING_CONSUMER, 10, (ErrorCode.NONE, 1, ["a", "b", "c"])),
        (DEBUGGING_CONSUMER, 12, (ErrorCode.NONE, 1, ["a", "b", "c"])),
    ],
)
def test_a_follower_shows_each_reader_its_part_of_the_log(
    cluster: ReplicatedCluster, reader: int, version: int, expected: tuple[int, int, list[str]]
) -> None:
    assert fetched(cluster, reader, version) == expected


def listed(cluster: ReplicatedCluster, node: int, reader: int) -> tuple[int, int]:
    """Return the error code and the latest offset that a node answers."""
    row = LIST.struct("ListOffsetsPartition", timestamp=LATEST)
    topics = [LIST.struct("ListOffsetsTopic", name="t", partitions=[row])]
    cluster.answers[node].clear()
    cluster.send(node, ApiKey.LIST_OFFSETS, 7, LIST.new(replica_id=reader, topics=topics))
    (answer,) = cluster.answers[node]
    found = answer.topics[0].partitions[0]
    return found.error_code, found.offset


def test_each_replica_tells_the_debugging_consumer_the_end_of_its_log(
    cluster: ReplicatedCluster,
) -> None:
    leader, (first, second) = cluster.leader(), cluster.followers()
    assert [listed(cluster, node, DEBUGGING_CONSUMER) for node in (leader, first, second)] == [
        (ErrorCode.NONE, 3),
        (ErrorCode.NONE, 3),
        (ErrorCode.NONE, 2),
    ]
    assert listed(cluster, leader, CONSUMER) == (ErrorCode.NONE, 1)
    assert listed(cluster, first, CONSUMER) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
