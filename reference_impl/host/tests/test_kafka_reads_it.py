"""The broker's files, read by Apache's own DumpLogSegments and by an Apache Kafka that starts over
them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.targets.apache import ApacheKafka
from chaos.targets.clusters.cluster import LocalCluster
from conformance.target.examination import advertised_versions
from conformance.wire import Wire
from reference_impl.robustness.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey, request_definition
from reference_impl.wire.tests.java_oracle import launch

DUMP = Path(__file__).resolve().parents[2] / "core" / "tests" / "java" / "DumpOracle.java"


def live_a_little(broker: BrokerProcess) -> None:
    """Make a topic, a commit and a producer id, and delete the topic."""
    with RawClient(broker) as client:
        client.create_topic("t")
        client.call(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None)
        for _ in range(2):  # the first question makes the topic
            client.call(ApiKey.FIND_COORDINATOR, 4, coordinator_keys=["g"])
        of = request_definition(ApiKey.OFFSET_COMMIT)
        row = of.struct(
            "OffsetCommitRequestPartition", committed_offset=0, committed_metadata="note"
        )
        topic = of.struct("OffsetCommitRequestTopic", name="t", partitions=[row])
        client.call(ApiKey.OFFSET_COMMIT, 9, group_id="g", topics=[topic])
        client.call(ApiKey.DELETE_TOPICS, 5, topic_names=["t"], timeout_ms=1_000)


@pytest.mark.needs("java", "kafka-jars")
def test_metadata_and_offsets_are_kafkas_own_records(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data, "--config", "offsets.topic.num.partitions=1") as broker:
        live_a_little(broker)
        assert broker.stop() == 0
    said = launch(DUMP, "4.3.1", str(data))
    assert "isvalid: false" not in said
    for record in ("TOPIC", "PARTITION", "CONFIG", "PRODUCER_IDS", "REMOVE_TOPIC"):
        assert f'"type":"{record}_RECORD"' in said
    assert '"data":{"group":"g","topic":"t","partition":0}' in said
    assert '"metadata":"note"' in said
    assert "payload: <DELETE>" in said  # the commit ended with its topic


@pytest.mark.nightly
@pytest.mark.needs("java", "kafka-jars")
def test_apache_kafka_starts_over_our_directory(tmp_path: Path) -> None:
    """Apache Kafka loads our snapshot and the log after it, and serves the same topics."""
    data = tmp_path / "data"
    often = "metadata.log.max.record.bytes.between.snapshots=300"
    with BrokerProcess(data, "--config", often) as broker, RawClient(broker) as client:
        client.create_topic("before")
        metadata = data / "__cluster_metadata-0"
        wait_until(lambda: any(metadata.glob("*.checkpoint")))
        client.create_topic("after")
        topics = client.call(ApiKey.METADATA, 12, topics=None).topics
        assert broker.stop() == 0
    cluster = ApacheKafka().start(tmp_path / "apache")
    try:
        assert isinstance(cluster, LocalCluster)
        (node,) = cluster.members()
        node.stop()
        assert node.data is not None
        shutil.rmtree(node.data)
        shutil.copytree(data, node.data)
        node.start()
        cluster.wait_ready()
        wire = Wire(cluster.bootstrap, advertised_versions(cluster.bootstrap))
        found = wire.call("Metadata", 12, topics=None).topics
        wire.close()
    finally:
        cluster.stop()
    assert {t.name: t.topic_id for t in found} == {t.name: t.topic_id for t in topics}
    assert [p.leader_id for t in found for p in t.partitions] == [1, 1]
    assert "Successfully loaded snapshot" in node.log.read_text()


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait until something has happened, at most 20 s."""
    end_s = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < end_s
        time.sleep(0.05)
