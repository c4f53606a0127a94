"""A broker that refuses a partition names its leader (KIP-951), and a leader names the replica in a
consumer's rack (KIP-392)."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.broker import RACK_AWARE, BrokerConfig
from reference_impl.core.configs.keys import BadConfig
from reference_impl.core.tests.replicated_cluster import PRODUCE, ReplicatedCluster, rows_of
from reference_impl.wire import ApiKey, ErrorCode, Record, RecordBatch, Struct, definition

FETCH = definition("FetchRequest")
IN_RACKS = {"broker.rack": "rack-{node}", "replica.selector.class": RACK_AWARE}
NOBODY: tuple[tuple[int, int], dict[int, str]] = ((-1, -1), {})


@pytest.fixture(scope="module")
def cluster() -> ReplicatedCluster:
    """A cluster whose second leader has failed over, in racks."""
    cluster = ReplicatedCluster(configs=IN_RACKS)
    cluster.create()
    cluster.kill(first := cluster.leader())
    cluster.run(6_000)
    cluster.boot(first)
    cluster.run(6_000)
    cluster.produce(leader := cluster.leader(), "a")
    cluster.run(1_000)
    assert cluster.code(leader) == ErrorCode.NONE
    assert cluster.partition(leader).leader_epoch > 0
    return cluster


def asked(cluster: ReplicatedCluster, node: int, api: ApiKey, version: int, body: Struct) -> Struct:
    cluster.answers[node].clear()
    cluster.send(node, api, version, body)
    return cluster.answers[node].pop()


def leader_told(cluster: ReplicatedCluster) -> tuple[tuple[int, int], dict[int, str]]:
    """Return (leader, epoch), and the leader's address."""
    leader = cluster.leader()
    return (leader, cluster.partition(leader).leader_epoch), {leader: f"node-{leader}"}


def told(row: Struct, answer: Struct) -> tuple[tuple[int, int], dict[int, str]]:
    """Return the leader and the addresses in an answer."""
    leader = row.current_leader.leader_id, row.current_leader.leader_epoch
    return leader, {each.node_id: each.host for each in answer.node_endpoints}


@pytest.mark.parametrize("version", [9, 10, 12, 13])
def test_produce_to_a_follower_names_the_leader(cluster: ReplicatedCluster, version: int) -> None:
    follower = cluster.followers()[0]
    data = RecordBatch([Record(b"b")], base_timestamp=cluster.moment()[0]).encode()
    row = PRODUCE.struct("PartitionProduceData", index=0, records=memoryview(bytearray(data)))
    topic_id = cluster.partition(follower).topic_id
    topic = PRODUCE.struct("TopicProduceData", name="t", topic_id=topic_id, partition_data=[row])
    if version >= 13:
        topic.name = ""
    body = PRODUCE.new(acks=1, timeout_ms=1_000, topic_data=[topic])
    answer = asked(cluster, follower, ApiKey.PRODUCE, version, body)
    (found,) = answer.responses[0].partition_responses
    assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert told(found, answer) == (leader_told(cluster) if version >= 10 else NOBODY)


def fetch(
    cluster: ReplicatedCluster, node: int, version: int, rack: str, epoch: int = -1
) -> Struct:
    """Return the answer to a consumer in a rack that knows this leader epoch."""
    row = FETCH.struct("FetchPartition", current_leader_epoch=epoch, partition_max_bytes=1 << 20)
    topic_id = cluster.partition(node).topic_id
    topic = FETCH.struct("FetchTopic", topic="t", topic_id=topic_id, partitions=[row])
    if version >= 13:
        topic.topic = ""
    body = FETCH.new(max_wait_ms=60_000, max_bytes=1 << 20, rack_id=rack, topics=[topic])
    return asked(cluster, node, ApiKey.FETCH, version, body)


@pytest.mark.parametrize("version", [15, 16, 18])
def test_a_consumer_that_is_behind_hears_who_leads(
    cluster: ReplicatedCluster, version: int
) -> None:
    answer = fetch(cluster, cluster.followers()[0], version, "", epoch=0)
    (row,) = rows_of(answer)
    assert row.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert told(row, answer) == (leader_told(cluster) if version >= 16 else NOBODY)


@pytest.mark.parametrize("version", [10, 11, 12, 18])
def test_a_leader_sends_a_consumer_to_the_follower_in_its_rack(
    cluster: ReplicatedCluster, version: int
) -> None:
    leader, (near, far) = cluster.leader(), cluster.followers()
    is_told = version >= 11

    def answered(node: int, rack: str) -> tuple[int, bool]:
        (row,) = rows_of(fetch(cluster, node, version, rack))
        return row.preferred_read_replica, bool(row.records)

    assert answered(leader, f"rack-{near}") == ((near, False) if is_told else (-1, True))
    assert answered(leader, f"rack-{far}") == ((far, False) if is_told else (-1, True))
    for rack in (f"rack-{leader}", "elsewhere", ""):
        assert answered(leader, rack) == (-1, True)
    if is_told:
        assert answered(near, f"rack-{near}") == (-1, True)
        assert answered(near, f"rack-{far}") == (-1, True), "a follower sends nobody away"


def test_a_follower_outside_the_isr_is_not_recommended() -> None:
    cluster = ReplicatedCluster(configs=IN_RACKS)
    cluster.create()
    leader, late = cluster.leader(), cluster.followers()[0]
    cluster.blocked.add(late)
    cluster.produce(leader, "a", acks=1)
    (row,) = rows_of(fetch(cluster, leader, 12, f"rack-{late}"))
    assert row.preferred_read_replica == late, "it has the offset, and is in sync"
    cluster.run(8_000)
    cluster.answers[leader].clear()
    assert late not in cluster.partition(leader).state.isr
    (row,) = rows_of(fetch(cluster, leader, 12, f"rack-{late}"))
    assert (row.preferred_read_replica, bool(row.records)) == (-1, True)


def test_a_selector_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadConfig, match="it must be one of"):
        BrokerConfig.of({"replica.selector.class": "com.example.Mine"})
