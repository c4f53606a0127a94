"""A new leader tells no consumer the end of its log before it knows all that was committed."""

from __future__ import annotations

import pytest

from reference_impl.bugs.cluster.list_stale_ends import ListStaleEnds
from reference_impl.core.partitions.fetch_sessions import CONSUMER, DEBUGGING_CONSUMER
from reference_impl.core.rules import Rules
from reference_impl.core.tests.replicated_cluster import ReplicatedCluster
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

LIST = definition("ListOffsetsRequest")
LATEST, EARLIEST, LATER = -1, -2, 1 << 50
NEW, OLD = ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.LEADER_NOT_AVAILABLE


def hide_one(row: Struct) -> None:
    """Let no follower hear of the first committed record. The metadata log is longer."""
    if row.high_watermark == 1:
        row.high_watermark = 0


def after_a_failover(rules: type[Rules] = Rules) -> ReplicatedCluster:
    """Return a cluster whose leader has died after it acknowledged a record. Its followers have the
    record, but did not hear that it is committed; the other one has not fetched from the new leader
    yet."""
    cluster = ReplicatedCluster(rules=rules, configs={"replica.lag.time.max.ms": "30000"})
    cluster.alter = hide_one
    cluster.create()
    cluster.produce(leader := cluster.leader(), "a")
    cluster.run(1_000)
    assert cluster.code(leader) == ErrorCode.NONE
    cluster.blocked |= set(cluster.nodes)
    cluster.kill(leader)
    cluster.run(6_000)
    assert cluster.partition(cluster.leader()).high_watermark == 0
    return cluster


def listed(
    cluster: ReplicatedCluster, version: int, timestamp: int, reader: int = CONSUMER
) -> tuple[int, int]:
    """Return the leader's answer: error code and offset."""
    row = LIST.struct("ListOffsetsPartition", timestamp=timestamp)
    topics = [LIST.struct("ListOffsetsTopic", name="t", partitions=[row])]
    leader = cluster.leader()
    cluster.answers[leader].clear()
    cluster.send(leader, ApiKey.LIST_OFFSETS, version, LIST.new(replica_id=reader, topics=topics))
    answer = cluster.answers[leader].pop().topics[0].partitions[0]
    return answer.error_code, answer.offset


@pytest.mark.parametrize("timestamp", [LATEST, LATER])
@pytest.mark.parametrize(("version", "code"), [(1, OLD), (4, OLD), (5, NEW), (7, NEW)])
def test_the_end_is_not_known_at_first(version: int, code: ErrorCode, timestamp: int) -> None:
    cluster = after_a_failover()
    assert listed(cluster, version, timestamp) == (code, -1)
    assert listed(cluster, version, EARLIEST) == (ErrorCode.NONE, 0)
    assert listed(cluster, version, LATEST, DEBUGGING_CONSUMER) == (ErrorCode.NONE, 1)
    cluster.blocked.clear()
    cluster.alter = lambda row: None
    cluster.run(3_000)
    end = 1 if timestamp == LATEST else -1
    assert listed(cluster, version, timestamp) == (ErrorCode.NONE, end)


def test_a_broker_without_the_rule_tells_an_older_end() -> None:
    assert listed(after_a_failover(ListStaleEnds), 7, LATEST) == (ErrorCode.NONE, 0)
