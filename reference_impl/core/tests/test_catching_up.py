"""A node that starts acts upon the metadata only when it has caught up with them."""

from __future__ import annotations

import pytest

from reference_impl.core.controller.features import METADATA, UnsupportedLevel
from reference_impl.core.rules import Rules
from reference_impl.core.tests.cluster import Cluster
from reference_impl.wire import ApiKey, ErrorCode, definition, request_definition


def cluster_with_topic(rules: type[Rules] = Rules) -> tuple[Cluster, int]:
    """Return three nodes, each of which holds partitions of a topic, and the active controller."""
    cluster = Cluster(seed=1, voters=3, rules=rules)
    cluster.run(3_000)
    (leader,) = (n for n, node in cluster.nodes.items() if node.broker.quorum.is_leader)
    of = request_definition(ApiKey.CREATE_TOPICS)
    topic = of.struct("CreatableTopic", name="t", num_partitions=3, replication_factor=1)
    cluster.send(leader, ApiKey.CREATE_TOPICS, 7, of.new(topics=[topic], timeout_ms=5_000))
    cluster.run(1_000)
    (answer,) = cluster.answers[leader]
    assert answer.topics[0].error_code == ErrorCode.NONE
    for node, each in cluster.nodes.items():
        for key in each.broker.replicas.unopened():
            each.broker.replicas.open(key)
        assert held(cluster, node)
    return cluster, leader


def held(cluster: Cluster, node: int) -> set[str]:
    """Return the directories of the topic's partitions on a node's disk."""
    return {name for name in cluster.disks[node].list("data") if name.startswith("t-")}


class ActAtOnce(Rules):
    def has_caught_up(self, end_offset: int, high_watermark: int) -> bool:
        return True


@pytest.mark.parametrize("rules", [Rules, ActAtOnce])
def test_a_partition_is_no_stray_while_the_node_does_not_know_its_topic_yet(
    rules: type[Rules],
) -> None:
    """The whole quorum restarts, and its new leader does not know yet what is committed."""
    cluster, _ = cluster_with_topic(rules)
    before = {node: held(cluster, node) for node in cluster.disks}
    for node in cluster.disks:
        cluster.kill(node)
    for node in cluster.disks:
        cluster.boot(node)
        assert held(cluster, node) == before[node]
        assert cluster.nodes[node].broker.applied_end_offset == 0
    cluster.run(5_000)
    assert ({node: held(cluster, node) for node in cluster.disks} == before) is (rules is Rules)
    for each in cluster.nodes.values():
        assert each.broker.applied_end_offset == each.broker.quorum.high_watermark


def test_a_partition_whose_topic_was_deleted_meanwhile_is_set_aside() -> None:
    cluster, leader = cluster_with_topic()
    behind = leader % 3 + 1
    before = held(cluster, behind)
    cluster.kill(behind)
    of = request_definition(ApiKey.DELETE_TOPICS)
    row = of.struct("DeleteTopicState", name="t")
    cluster.send(leader, ApiKey.DELETE_TOPICS, 6, of.new(topics=[row], timeout_ms=5_000))
    cluster.run(1_000)
    cluster.boot(behind)
    assert held(cluster, behind) == before
    cluster.run(3_000)
    assert {name.partition(".")[0] for name in held(cluster, behind)} == before
    assert all(name.endswith("-stray") for name in held(cluster, behind))


def test_a_partition_that_other_nodes_hold_is_set_aside() -> None:
    cluster, leader = cluster_with_topic()
    behind, other = leader % 3 + 1, leader
    (name,) = held(cluster, behind)
    controller = cluster.nodes[leader].broker.controller
    cluster.kill(behind)
    change = definition("PartitionChangeRecord").new(
        topic_id=controller.image.topics["t"].topic_id,
        partition_id=int(name.rpartition("-")[2]),
        replicas=[other],
        isr=[other],
        leader=other,
    )
    controller.write([change])
    cluster.run(1_000)
    cluster.boot(behind)
    cluster.run(3_000)
    (aside,) = held(cluster, behind)
    assert aside.startswith(f"{name}.")
    assert aside.endswith("-stray")


def test_a_level_that_this_version_does_not_know_stops_a_node_that_has_caught_up() -> None:
    cluster, leader = cluster_with_topic()
    behind = leader % 3 + 1
    before = held(cluster, behind)
    cluster.kill(behind)
    level = definition("FeatureLevelRecord").new(name=METADATA, feature_level=31)
    cluster.nodes[leader].broker.controller.write([level])
    cluster.run(1_000)
    cluster.boot(behind)
    with pytest.raises(UnsupportedLevel, match=r"at metadata\.version 31"):
        cluster.run(3_000)
    assert held(cluster, behind) == before
