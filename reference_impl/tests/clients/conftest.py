"""One node, and at night three, for all clients, started as a user starts them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chaos.targets import parse_target
from reference_impl.robustness.process import BrokerProcess
from reference_impl.tests.clients.failing_over import NODES

SETTINGS = {
    "num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.heartbeat.interval.ms": "300",
    "offsets.topic.num.partitions": "4",
}


@pytest.fixture(
    scope="session",
    params=[1, pytest.param(NODES, marks=pytest.mark.nightly)],
    ids=["one-node", "three-nodes"],
)
def nodes(request: pytest.FixtureRequest) -> int:
    """Return the number of nodes of the cluster."""
    number: int = request.param
    return number


@pytest.fixture(scope="session")
def bootstrap(nodes: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the nodes; topics are made by the first test that asks for them."""
    directory = tmp_path_factory.mktemp("clients")
    if nodes > 1:
        cluster = parse_target("reference").start(directory, nodes, SETTINGS)
        yield cluster.bootstrap
        cluster.stop()
        return
    options = [part for pair in SETTINGS.items() for part in ("--config", "=".join(pair))]
    with BrokerProcess(directory / "data", *options) as broker:
        yield broker.bootstrap
        assert broker.stop() == 0
