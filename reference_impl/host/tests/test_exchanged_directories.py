"""A directory goes from Apache Kafka to this broker, or back: the next owner serves the same
cluster.

Both are single voters, which the configuration names (kraft.version 0) or the log (1).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chaos.targets.apache import ApacheKafka, format_nodes
from chaos.targets.clusters.cluster import LocalCluster
from chaos.targets.clusters.node import LocalNode
from conformance.target.examination import advertised_versions
from conformance.wire import Wire
from reference_impl.host.settings import properties
from reference_impl.robustness.process import PATIENCE_S
from reference_impl.wire import request_definition

pytestmark = [pytest.mark.nightly, pytest.mark.needs("java", "kafka-jars")]

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
VOTERS, BOOTSTRAP = "controller.quorum.voters", "controller.quorum.bootstrap.servers"
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "300"}


@contextmanager
def apache(directory: Path, kraft_version: int) -> Iterator[tuple[LocalCluster, LocalNode]]:
    """Start one node of Apache Kafka, at one of the two levels of kraft.version."""
    cluster = ApacheKafka().start(directory, config=SNAPSHOTS)
    try:
        assert isinstance(cluster, LocalCluster)
        (node,) = cluster.members()
        if kraft_version:
            node.stop()
            become_dynamic(node)
            node.start()
            cluster.wait_ready()
        yield cluster, node
    finally:
        cluster.stop()


def become_dynamic(node: LocalNode) -> None:
    """Format a node again, so that its log names the voters."""
    file = node.directory / "server.properties"
    settings = properties.read(file)
    (voter,) = settings.pop(VOTERS).split(",")
    file.write_text(as_text(settings | {BOOTSTRAP: voter.partition("@")[2]}))
    assert node.data is not None
    shutil.rmtree(node.data)
    options = "--standalone", "--feature", "group.version=0", "--add-scram", SCRAM
    format_nodes([node], ApacheKafka().java(), CLUSTER_ID, *options)


SCRAM = "SCRAM-SHA-256=[name=alice,iterations=8192,password=secret]"


def as_text(settings: dict[str, str]) -> str:
    """Return settings in the format of server.properties."""
    return "".join(f"{key}={value}\n" for key, value in settings.items())


@contextmanager
def ours(node: LocalNode, data: Path, *options: str) -> Iterator[str]:
    """Run this broker with the settings of a node of Apache Kafka, and yield its address."""
    file = data.parent / "ours.properties"
    given = properties.read(node.directory / "server.properties")
    settings = {key: value for key, value in given.items() if not key.startswith("share.")}
    file.write_text(as_text(settings | SNAPSHOTS | {"log.dirs": str(data)}))
    command = [sys.executable, "-m", "reference_impl.host", "--config-file", str(file), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            line = child.stdout.readline()
            assert line.startswith("ready "), line
            yield line.split()[1]
            child.terminate()
            assert child.wait(PATIENCE_S) == 0
        finally:
            child.kill()


def live(bootstrap: str, until: Callable[[], bool] = lambda: True) -> dict[str, Any]:
    """Create topics and settings, wait for a condition between, and return the view of clients."""
    wire = Wire(bootstrap, advertised_versions(bootstrap))
    first = wire.create_topic(partitions=2, config={"segment.ms": "60000"})
    wait_until(until)
    wire.create_topic()
    of = request_definition(44)
    row = of.struct("AlterableConfig", name="log.retention.ms", config_operation=0, value="777000")
    resource = of.struct("AlterConfigsResource", resource_type=4, resource_name="", configs=[row])
    answer = wire.call("IncrementalAlterConfigs", 1, resources=[resource])
    assert [each.error_code for each in answer.responses] == [0]
    assert first.name
    wire.close()
    return view(bootstrap)


def view(bootstrap: str) -> dict[str, Any]:
    """Return what clients see of the cluster: its topics, settings, features and users."""
    wire = Wire(bootstrap, advertised_versions(bootstrap))
    topics = wire.call("Metadata", 12, topics=None).topics
    of = request_definition(32)
    asked = [of.struct("DescribeConfigsResource", resource_type=4, resource_name="")]
    asked += [
        of.struct("DescribeConfigsResource", resource_type=2, resource_name=topic.name)
        for topic in topics
    ]
    configs = wire.call("DescribeConfigs", 4, resources=asked).results
    versions = wire.call("ApiVersions", 4, client_software_name="test", client_software_version="1")
    users = wire.call("DescribeUserScramCredentials", 0, users=None).results
    wire.close()
    return {
        "topics": sorted(
            (
                t.name,
                t.topic_id,
                sorted((p.partition_index, tuple(p.isr_nodes)) for p in t.partitions),
            )
            for t in topics
        ),
        "configs": {
            (each.resource_type, each.resource_name): sorted(
                (row.name, row.value)
                for row in each.configs
                if row.config_source in OF_TOPIC_OR_CLUSTER
            )
            for each in configs
        },
        "features": sorted(
            (row.name, row.max_version_level)
            for row in versions.finalized_features
            if row.name not in NOT_SERVED
        ),
        "users": sorted((each.user, len(each.credential_infos)) for each in users),
    }


OF_TOPIC_OR_CLUSTER = (1, 3)
"""ConfigSource: set for a topic, or for all brokers."""
NOT_SERVED = {"share.version", "streams.version"}
"""The features of Apache Kafka's clusters that this broker does not name."""


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    end_s = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < end_s
        time.sleep(0.05)


@pytest.mark.parametrize("kraft_version", [0, 1])
def test_our_broker_goes_on_with_apaches_directory(tmp_path: Path, kraft_version: int) -> None:
    with apache(tmp_path / "apache", kraft_version) as (cluster, node):
        before = live(cluster.bootstrap)
        node.stop()
        assert node.data is not None
        shutil.copytree(node.data, tmp_path / "copy")
        with ours(node, tmp_path / "copy") as bootstrap:
            assert view(bootstrap) == before
    assert len(before["users"]) == kraft_version


@pytest.mark.parametrize("kraft_version", [0, 1])
def test_apache_goes_on_with_our_directory(tmp_path: Path, kraft_version: int) -> None:
    """Apache Kafka loads our snapshot and the log after it."""
    with apache(tmp_path / "apache", kraft_version) as (cluster, node):
        node.stop()
        assert node.data is not None
        data, metadata = tmp_path / "data", tmp_path / "data" / "__cluster_metadata-0"
        formatted = ["--standalone"] if kraft_version else []
        with ours(node, data, "--cluster-id", CLUSTER_ID, *formatted) as bootstrap:
            before = live(
                bootstrap, lambda: len(list(metadata.glob("*.checkpoint"))) > kraft_version
            )
        shutil.rmtree(node.data)
        shutil.copytree(data, node.data)
        node.start()
        cluster.wait_ready()
        assert view(cluster.bootstrap) == before
        assert "Successfully loaded snapshot" in node.log.read_text()


def test_a_cluster_begins_here_with_what_apaches_tool_has_formatted(tmp_path: Path) -> None:
    """A directory in which no broker has started yet: its first levels and users count."""
    with apache(tmp_path / "apache", 0) as (_, node):
        node.stop()
        become_dynamic(node)
        assert node.data is not None
        with ours(node, node.data) as bootstrap:
            found = view(bootstrap)
    assert found["users"] == [("alice", 1)]
    assert "group.version" not in dict(found["features"])
    assert dict(found["features"])["transaction.version"] == 2
