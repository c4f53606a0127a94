"""Throttles of replication: replicas that are not in sync are copied no faster than the rate of the
leader or of the follower allows (KIP-73)."""

from __future__ import annotations

import pytest

from reference_impl.core.configs.dynamic import ALL_BROKERS
from reference_impl.core.controller.image.metadata_image import BROKER_RESOURCE
from reference_impl.core.controller.records import config_record
from reference_impl.core.tests.replicated_cluster import (
    TOPIC,
    ReplicatedCluster,
    bytes_of,
    values_of,
)
from reference_impl.core.tests.test_voter_changes import leader_of
from reference_impl.wire import ErrorCode

SLOW = {"replica.fetch.max.bytes": "2000"}
RECORDS, RECORD_BYTES, RATE = 20, 1_000, 2_000
LEAST_MS = RECORDS * RECORD_BYTES // RATE * 1_000
"""The milliseconds that the records take at that rate."""


def caught_up_ms(cluster: ReplicatedCluster, node: int) -> int:
    """Start a node, and return for how long it lacks records."""
    cluster.boot(node)
    began_ms = cluster.now_ms
    for _ in range(3_000):
        cluster.run(10)
        replica = cluster.nodes[node].broker.replicas.get(TOPIC, 0)
        if replica is not None and len(values_of(replica)) == RECORDS:
            return cluster.now_ms - began_ms
    raise AssertionError("it never catches up")


def set_rate(cluster: ReplicatedCluster, side: str, rate: int | None) -> None:
    value = None if rate is None else str(rate)
    record = config_record(
        BROKER_RESOURCE, ALL_BROKERS, f"{side}.replication.throttled.rate", value
    )
    cluster.nodes[leader_of(cluster)].broker.controller.write([record])
    cluster.run(500)


def behind(side: str, replicas: str) -> tuple[ReplicatedCluster, int]:
    """Return a cluster with a dead node that lacks the records. replicas: the throttled ones of
    this side, where {own} stands for the leader or the dead node."""
    cluster = ReplicatedCluster(configs=SLOW)
    cluster.create()
    dead = cluster.followers()[-1]
    own = dead if side == "follower" else cluster.leader()
    text = replicas.format(own=own)
    topic = cluster.nodes[1].broker.image.topics[TOPIC]
    record = config_record(2, TOPIC, f"{side}.replication.throttled.replicas", text)
    cluster.nodes[leader_of(cluster)].broker.controller.write([record])
    assert topic.partitions[0].leader != dead
    cluster.run(500)
    cluster.kill(dead)
    cluster.run(6_000)
    for _ in range(RECORDS):
        cluster.produce(cluster.leader(), "x" * RECORD_BYTES, acks=1)
        cluster.run(20)
        assert cluster.code(cluster.leader()) == ErrorCode.NONE
    cluster.run(12_000)  # what the follower in sync got counts, too, for so long
    return cluster, dead


@pytest.mark.parametrize("replicas", ["*", "0:{own}", "1:{own},0:{own}"])
@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_out_of_sync_is_copied_at_the_rate(side: str, replicas: str) -> None:
    cluster, dead = behind(side, replicas)
    set_rate(cluster, side, RATE)
    assert LEAST_MS * 0.7 < caught_up_ms(cluster, dead) < LEAST_MS * 2
    cluster.run(4_000)
    assert dead in cluster.partition(cluster.leader()).state.isr
    assert len({bytes_of(cluster.partition(node)) for node in cluster.nodes}) == 1


@pytest.mark.parametrize("side", ["leader", "follower"])
@pytest.mark.parametrize(("replicas", "rate"), [("*", None), ("0:9", RATE), ("1:{own}", RATE)])
def test_others_are_copied_at_once(side: str, replicas: str, rate: int | None) -> None:
    cluster, dead = behind(side, replicas)
    set_rate(cluster, side, rate)
    assert caught_up_ms(cluster, dead) < LEAST_MS * 0.4


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_in_sync_is_never_throttled(side: str) -> None:
    cluster = ReplicatedCluster()
    cluster.create(**{f"{side}_replication_throttled_replicas": "*"})
    set_rate(cluster, side, 1)
    for _ in range(10):
        cluster.produce(cluster.leader(), "x" * RECORD_BYTES)
        cluster.run(400)
        assert cluster.code(cluster.leader()) == ErrorCode.NONE
    assert len(cluster.partition(cluster.leader()).state.isr) == 3


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_the_throttle_can_be_lifted_meanwhile(side: str) -> None:
    cluster, dead = behind(side, "*")
    set_rate(cluster, side, 100)
    cluster.boot(dead)
    cluster.run(5_000)
    assert len(values_of(cluster.partition(dead))) < RECORDS
    set_rate(cluster, side, None)
    cluster.run(5_000)
    assert len(values_of(cluster.partition(dead))) == RECORDS
