"""A broker that is no replica any more gives the partition up, and deletes its files."""

from __future__ import annotations

from uuid import UUID

from reference_impl.core.tests.replicated_cluster import (
    TOPIC,
    ReplicatedCluster,
    bytes_of,
    values_of,
)
from reference_impl.wire import ApiKey, ErrorCode, definition

REASSIGN, DELETE = (
    definition("AlterPartitionReassignmentsRequest"),
    definition("DeleteTopicsRequest"),
)


def move_to(cluster: ReplicatedCluster, replicas: list[int]) -> None:
    """Reassign the partition, and wait until that is done."""
    row = REASSIGN.struct("ReassignablePartition", partition_index=0, replicas=replicas)
    topic = REASSIGN.struct("ReassignableTopic", name=TOPIC, partitions=[row])
    body = REASSIGN.new(topics=[topic], timeout_ms=5_000)
    cluster.send(1, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, body)
    cluster.run(5_000)
    (answer,) = cluster.answers[1]
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
    cluster.answers[1].clear()


def files(cluster: ReplicatedCluster, node: int) -> list[str]:
    """Return the directories of the topic on a node's disk."""
    return [name for name in cluster.disks[node].list("data") if name.startswith(f"{TOPIC}-")]


def test_a_broker_that_is_no_replica_any_more_deletes_its_files() -> None:
    cluster = ReplicatedCluster()
    cluster.create(file_delete_delay_ms="1000")
    cluster.produce(leader := cluster.leader(), "a")
    cluster.run(1_000)
    assert cluster.code(leader) == ErrorCode.NONE
    gone = leader
    kept = cluster.followers()
    move_to(cluster, kept)
    assert cluster.leader() in kept
    assert cluster.nodes[gone].broker.replicas.get(TOPIC, 0) is None
    assert all(name.endswith("-delete") for name in files(cluster, gone))
    cluster.run(130_000)
    assert files(cluster, gone) == []
    cluster.produce(gone, "b")
    assert cluster.code(gone) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    move_to(cluster, [gone, *kept])
    assert values_of(cluster.partition(gone)) == ["a"]
    assert len({bytes_of(cluster.partition(node)) for node in cluster.nodes}) == 1


def test_every_replica_of_a_deleted_topic_gives_its_directory_up_at_once() -> None:
    cluster = ReplicatedCluster()
    cluster.create()
    state = DELETE.struct("DeleteTopicState", name=TOPIC, topic_id=UUID(int=0))
    cluster.send(1, ApiKey.DELETE_TOPICS, 6, DELETE.new(topics=[state], timeout_ms=5_000))
    cluster.run(1_000)
    assert cluster.answers[1].pop().responses[0].error_code == ErrorCode.NONE
    for node in cluster.nodes:
        assert all(name.endswith("-delete") for name in files(cluster, node))
