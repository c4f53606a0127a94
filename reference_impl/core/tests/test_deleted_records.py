"""DeleteRecords on several replicas: what was deleted does not come back with another leader."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from reference_impl.core.rules import Rules
from reference_impl.core.tests.replicated_cluster import values_of
from reference_impl.core.tests.test_followers import (
    cluster_with_topic,
    delete_before,
    deleted,
    fail_over,
    log_starts,
    produce,
)
from reference_impl.wire import ErrorCode, definition


class DeletesAlone(Rules):
    """A leader that answers before its followers have deleted."""

    def low_watermark(self, leader_start: int, follower_starts: Collection[int]) -> int:
        return leader_start


@pytest.mark.parametrize("rules", [Rules, DeletesAlone])
def test_records_whose_deletion_was_acknowledged_do_not_come_back(rules: type[Rules]) -> None:
    cluster = cluster_with_topic(rules)
    produce(cluster, "a")
    produce(cluster, "b")
    leader = cluster.leader()
    cluster.blocked.update(cluster.followers())
    delete_before(cluster, 1)
    hasty = deleted(cluster, leader)
    assert hasty == (None if rules is Rules else (ErrorCode.NONE, 1))
    if hasty is None:
        cluster.run(1_000)
        assert deleted(cluster, leader) is None
        cluster.blocked.clear()
        cluster.run(1_500)
        assert deleted(cluster, leader) == (ErrorCode.NONE, 1)
    heir = fail_over(cluster)
    assert values_of(cluster.partition(heir)) == (["b"] if rules is Rules else ["a", "b"])


def test_a_deletion_waits_for_live_replicas_alone_and_no_longer_than_its_timeout() -> None:
    cluster = cluster_with_topic()
    produce(cluster, "a")
    produce(cluster, "b")
    leader, late = cluster.leader(), cluster.followers()[0]
    cluster.blocked.add(late)
    delete_before(cluster, 1, timeout_ms=800)
    cluster.run(1_000)
    assert deleted(cluster, leader) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    cluster.kill(late)
    cluster.run(6_000)
    delete_before(cluster, 2)
    cluster.run(1_000)
    assert deleted(cluster, leader) == (ErrorCode.NONE, 2)
    assert log_starts(cluster) == {2}


def test_a_deletion_of_a_leader_that_is_replaced_meanwhile_is_refused() -> None:
    cluster = cluster_with_topic()
    produce(cluster, "a")
    leader = cluster.leader()
    cluster.blocked.update(cluster.followers())
    delete_before(cluster, 1, timeout_ms=10_000)
    change = definition("PartitionChangeRecord").new(
        topic_id=cluster.partition(leader).topic_id, partition_id=0, leader=cluster.followers()[0]
    )
    (active,) = [node for node in cluster.nodes.values() if node.broker.quorum.is_leader]
    active.broker.controller.write([change])
    cluster.run(2_000)
    assert deleted(cluster, leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
