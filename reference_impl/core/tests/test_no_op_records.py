"""The active controller writes a record that changes nothing from time to time (KIP-835)."""

from __future__ import annotations

import pytest

from reference_impl.core.tests.cluster import Cluster
from reference_impl.core.tests.world import World
from reference_impl.wire import Struct

INTERVAL = "metadata.max.idle.interval.ms"


@pytest.mark.parametrize(("interval_ms", "written"), [("0", 0), ("500", 4), ("1000", 2)])
def test_an_idle_controller_writes_a_record_at_each_interval(
    interval_ms: str, written: int
) -> None:
    world = World({INTERVAL: interval_ms})
    quorum = world.node.broker.quorum
    before = quorum.high_watermark
    world.wait(2_100)
    assert quorum.high_watermark == before + written
    assert world.node.broker.image.end_offset == before + written


def test_only_the_active_controller_writes_them_and_every_node_applies_them() -> None:
    cluster = Cluster(voters=3, configs={INTERVAL: "500"})
    cluster.run(5_000)
    ends = {node: each.broker.image.end_offset for node, each in cluster.nodes.items()}
    cluster.run(5_000)
    grown = {
        node: each.broker.image.end_offset - ends[node] for node, each in cluster.nodes.items()
    }
    assert all(9 <= number <= 11 for number in grown.values()), grown
    kinds = {type(record).__name__ for record in newest(cluster)}
    assert kinds == {"NoOpRecord"}


def newest(cluster: Cluster) -> list[Struct]:
    """Return the records that node 1 has committed last."""
    return list(cluster.nodes[1].broker.quorum.log.last_committed.records)
