"""One broker for all tests over TCP: the reference, and Apache Kafka where it can run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.targets import parse_target

SETTINGS = {
    "num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
}
APACHE = pytest.param(
    "apache:4.3.1", marks=[pytest.mark.needs("java", "kafka-jars"), pytest.mark.nightly]
)
TARGETS = ["reference", APACHE]


@pytest.fixture(scope="package", params=TARGETS)
def bootstrap(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Start one broker for all tests of this folder; each test has topics and groups of its own."""
    directory: Path = tmp_path_factory.mktemp("tcp")
    cluster = parse_target(request.param).start(directory, 1, SETTINGS)
    try:
        yield cluster.bootstrap
    finally:
        cluster.stop()
