"""DescribeQuorum of a cluster: the leader tells how far the others are, and nobody else does.

The values are what Apache Kafka 4.3.1 answers on three nodes whose voters are configured.
"""

from __future__ import annotations

from reference_impl.core.controller.records import config_record
from reference_impl.core.events import ConnectionOpened
from reference_impl.core.quorum.leadership import OBSERVER_SESSION_MS
from reference_impl.core.quorum.metadata_log import TOPIC
from reference_impl.core.tests.cluster import CLIENT, START_MS, Cluster
from reference_impl.wire import ZERO_UUID, ApiKey, ErrorCode, Struct, request_definition

OBSERVER = 4


def quorum_of(voters: int) -> tuple[Cluster, int]:
    """Return a quorum with one observer, and its leader."""
    cluster = Cluster(seed=1, voters=voters, observers=OBSERVER - voters)
    cluster.run(3_000)
    (leader,) = (n for n, node in cluster.nodes.items() if node.broker.quorum.is_leader)
    return cluster, leader


def described(cluster: Cluster, node: int) -> Struct:
    """Return the answer of a node."""
    of = request_definition(ApiKey.DESCRIBE_QUORUM)
    topic = of.struct("TopicData", topic_name=TOPIC, partitions=[of.struct("PartitionData")])
    cluster.answers[node].clear()
    cluster.send(node, ApiKey.DESCRIBE_QUORUM, 2, of.new(topics=[topic]))
    cluster.run(100)
    (answer,) = cluster.answers[node]
    assert answer.error_code == ErrorCode.NONE
    return answer


def replicas(rows: list[Struct]) -> dict[int, Struct]:
    return {row.replica_id: row for row in rows}


def test_the_leader_tells_where_everybody_is() -> None:
    cluster, leader = quorum_of(3)
    answer = described(cluster, leader)
    (row,) = answer.topics[0].partitions
    quorum = cluster.nodes[leader].broker.quorum
    assert (row.leader_id, row.leader_epoch) == (leader, quorum.epoch)
    assert row.high_watermark == quorum.end_offset
    voters, observers = replicas(row.current_voters), replicas(row.observers)
    assert (list(voters), list(observers)) == ([1, 2, 3], [OBSERVER])
    assert {row.replica_directory_id for row in voters.values()} == {ZERO_UUID}
    directory = cluster.nodes[OBSERVER].broker.data_directory.directory_id
    assert observers[OBSERVER].replica_directory_id == directory
    for replica in (voters | observers).values():
        assert replica.log_end_offset == quorum.end_offset
        late_ms = START_MS + cluster.now_ms - replica.last_fetch_timestamp
        assert 0 <= late_ms <= 700  # a fetch that finds nothing waits half a second
        assert replica.last_caught_up_timestamp == replica.last_fetch_timestamp
    where = [(n.node_id, [(at.name, at.host, at.port) for at in n.listeners]) for n in answer.nodes]
    assert where == [(n, [("CONTROLLER", f"node-{n}", 9093)]) for n in (1, 2, 3)]


def test_a_voter_that_is_cut_off_lags_and_is_caught_up_no_more() -> None:
    cluster, leader = quorum_of(3)
    behind = leader % 3 + 1
    cluster.silent |= {(behind, other) for other in cluster.nodes}
    cluster.run(1_000)
    began_ms = START_MS + cluster.now_ms
    cluster.nodes[leader].broker.controller.write([config_record(4, "", "k", "v")])
    cluster.run(3_000)
    (row,) = described(cluster, leader).topics[0].partitions
    replica = replicas(row.current_voters)[behind]
    assert replica.log_end_offset < row.high_watermark
    assert replica.last_caught_up_timestamp <= replica.last_fetch_timestamp < began_ms


def test_an_observer_that_is_gone_is_forgotten_after_five_minutes() -> None:
    cluster, leader = quorum_of(3)
    cluster.kill(OBSERVER)
    cluster.run(OBSERVER_SESSION_MS - 10_000)
    (row,) = described(cluster, leader).topics[0].partitions
    assert list(replicas(row.observers)) == [OBSERVER]
    cluster.run(20_000)
    (row,) = described(cluster, leader).topics[0].partitions
    assert row.observers == []


def test_a_broker_lets_the_leader_answer() -> None:
    cluster, leader = quorum_of(3)
    (row,) = described(cluster, leader % 3 + 1).topics[0].partitions
    assert row.leader_id == leader


def test_a_controller_that_does_not_lead_knows_nothing() -> None:
    cluster, leader = quorum_of(3)
    node = leader % 3 + 1
    cluster.step(node, ConnectionOpened(*cluster.moment(), CLIENT, "CONTROLLER", 0))
    answer = described(cluster, node)
    (row,) = answer.topics[0].partitions
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (row.current_voters, row.observers, answer.nodes) == ([], [], [])
