"""Controllers come and go: what one has decided in vain is forgotten, and nobody is told of it."""

from __future__ import annotations

import pytest

from reference_impl.core.rules import Rules
from reference_impl.core.tests.cluster import Cluster
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

CREATE = definition("CreateTopicsRequest")


def create(cluster: Cluster, node: int, topic: str) -> None:
    """Ask a node for a topic."""
    row = CREATE.struct("CreatableTopic", name=topic, num_partitions=1, replication_factor=1)
    cluster.send(node, ApiKey.CREATE_TOPICS, 7, CREATE.new(topics=[row]))


def cluster_of_three(rules: type[Rules] = Rules) -> tuple[Cluster, int]:
    """Return three nodes whose brokers are registered, and the active controller."""
    cluster = Cluster(seed=1, voters=3, rules=rules)
    cluster.run(5_000)
    return cluster, active(cluster)


def active(cluster: Cluster) -> int:
    """Return the one node whose controller is active."""
    (found,) = (
        n for n, node in cluster.nodes.items() if node.broker.quorum.active_epoch is not None
    )
    return found


def isolate(cluster: Cluster, node: int) -> None:
    """Let nothing reach the node, and nothing leave it."""
    for other in cluster.nodes.keys() - {node}:
        cluster.silent |= {(node, other), (other, node)}


def codes(cluster: Cluster, node: int) -> list[int]:
    """Return the error codes of the topics that a node has answered for."""
    return [row.error_code for body in cluster.answers[node] for row in rows_of(body)]


def rows_of(body: Struct) -> list[Struct]:
    topics: list[Struct] = body.topics
    return topics


class KeepDecisions(Rules):
    def forgets_decisions(self, end_offset: int, high_watermark: int) -> bool:
        return False


class TellOfLostDecisions(Rules):
    def check_still_decides(self, decided_in: int, active_epoch: int | None) -> None:
        """Take whatever is at the offset for the decision."""


@pytest.mark.parametrize("rules", [Rules, KeepDecisions, TellOfLostDecisions])
def test_what_a_controller_decided_alone_is_forgotten_and_told_to_nobody(
    rules: type[Rules],
) -> None:
    cluster, old = cluster_of_three(rules)
    isolate(cluster, old)
    create(cluster, old, "lost")
    assert "lost" in cluster.nodes[old].broker.controller.image.topics
    cluster.run(900)
    assert codes(cluster, old) == []
    cluster.run(6_000)
    told_alone = codes(cluster, old)
    new = next(n for n, node in cluster.nodes.items() if n != old and node.broker.quorum.is_leader)
    for index in range(3):
        create(cluster, new, f"kept-{index}")
        cluster.run(100)
    cluster.silent.clear()
    cluster.run(30_000)
    assert codes(cluster, new) == [ErrorCode.NONE] * 3
    topics = {n: set(node.broker.controller.image.topics) for n, node in cluster.nodes.items()}
    forgets = all(known == {"kept-0", "kept-1", "kept-2"} for known in topics.values())
    tells_truth = told_alone == codes(cluster, old) == [ErrorCode.NOT_CONTROLLER]
    assert (forgets, tells_truth) == (rules is not KeepDecisions, rules is not TellOfLostDecisions)
    assert not any("lost" in node.broker.image.topics for node in cluster.nodes.values())
