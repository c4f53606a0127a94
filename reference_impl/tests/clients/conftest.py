"""One broker for all clients, started as a user starts it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reference_impl.robustness.process import BrokerProcess


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a broker; topics are made by the first test that asks for them."""
    data = tmp_path_factory.mktemp("clients") / "data"
    settings = {
        "num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.min.heartbeat.interval.ms": "300",
        "group.consumer.heartbeat.interval.ms": "300",
        "offsets.topic.num.partitions": "4",
    }
    options = [part for pair in settings.items() for part in ("--config", "=".join(pair))]
    with BrokerProcess(data, *options) as broker:
        yield broker.bootstrap
        assert broker.stop() == 0
