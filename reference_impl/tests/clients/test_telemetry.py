"""Real clients push their metrics where an administrator has subscribed to them (KIP-714)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest

from chaos.targets import parse_target
from chaos.values.protocols import Cluster
from conformance.cases.quotas.telemetry import subscribed
from conformance.target.examination import advertised_versions
from conformance.wire import Wire
from reference_impl.tests.clients.java_tools import Call, run_tools

TOOLS = "org.apache.kafka.tools."
PUSHES = "pushes its metrics, every 100 ms"
PATIENCE_S = 180


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    running = parse_target("reference").start(tmp_path / "broker", 1)
    yield running
    running.stop()


def said_by(folder: Path) -> str:
    """Return the broker's log."""
    return "".join(path.read_text() for path in folder.rglob("node.log"))


def test_confluent_kafka(cluster: Cluster, tmp_path: Path) -> None:
    wire = Wire(cluster.bootstrap, advertised_versions(cluster.bootstrap))
    with subscribed(wire, "client_software_name=.*confluent-kafka.*", "*"):
        produce_until_pushed(cluster, tmp_path)
    wire.close()


def produce_until_pushed(cluster: Cluster, folder: Path) -> None:
    """Produce by librdkafka until the broker has got metrics."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    deadline = time.monotonic() + PATIENCE_S
    while PUSHES not in said_by(folder) and time.monotonic() < deadline:
        producer.produce("t", b"value")
        producer.poll(0.1)
    assert producer.flush(PATIENCE_S) == 0
    assert PUSHES in said_by(folder)


@pytest.mark.nightly
@pytest.mark.needs("jdk", "kafka-jars")
def test_java(cluster: Cluster, tmp_path: Path) -> None:
    server = ("--bootstrap-server", cluster.bootstrap)
    tool = f"{TOOLS}ClientMetricsCommand"
    name = ("--name", "of-producers")
    said = run_tools(
        [
            Call(
                "subscribe",
                tool,
                (
                    *server,
                    "--alter",
                    *name,
                    "--metrics",
                    "org.apache.kafka.producer.",
                    "--interval",
                    "100",
                    "--match",
                    "client_id=producer-.*",
                ),
            ),
            Call("list", tool, (*server, "--list")),
            Call("describe", tool, (*server, "--describe", *name)),
            Call(
                "send",
                f"{TOOLS}VerifiableProducer",
                (*server, "--topic", "t", "--max-messages", "200", "--throughput", "100"),
            ),
            Call("unsubscribe", tool, (*server, "--delete", *name)),
        ],
        tmp_path,
    )
    assert "of-producers" in said["list"].lines(), said["list"].text
    assert "interval.ms=100" in said["describe"].text
    assert "WARN" not in said["send"].text, said["send"].text
    cluster.stop()
    assert PUSHES in said_by(tmp_path)
