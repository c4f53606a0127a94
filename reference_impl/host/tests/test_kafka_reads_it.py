"""What the broker keeps of topics, groups and offsets, read by Apache's own DumpLogSegments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reference_impl.host.tests.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey, request_definition

JARS = Path(__file__).resolve().parents[3] / ".cache" / "kafka" / "4.3.1"
PATIENCE_S = 120


def dump(log: Path, decoder: str) -> str:
    """DumpLogSegments of the first segment."""
    tool = ["java", "-Xmx128m", "-cp", f"{JARS}/*", "org.apache.kafka.tools.DumpLogSegments"]
    done = subprocess.run(
        [*tool, decoder, "--files", str(log / f"{0:020}.log")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "isvalid: false" not in done.stdout
    return done.stdout


def live_a_little(broker: BrokerProcess) -> None:
    """A topic, a commit, a producer id, and the end of the topic."""
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
        client.call(ApiKey.DELETE_TOPICS, 5, topic_names=["t"])


@pytest.mark.needs("java", "kafka-jars")
def test_metadata_and_offsets_are_kafkas_own_records(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with BrokerProcess(data, "--config", "offsets.topic.num.partitions=1") as broker:
        live_a_little(broker)
        assert broker.stop() == 0
    metadata = dump(data / "__cluster_metadata-0", "--cluster-metadata-decoder")
    for record in ("TOPIC", "PARTITION", "CONFIG", "PRODUCER_IDS", "REMOVE_TOPIC"):
        assert f'"type":"{record}_RECORD"' in metadata
    offsets = dump(data / "__consumer_offsets-0", "--offsets-decoder")
    assert '"data":{"group":"g","topic":"t","partition":0}' in offsets
    assert '"metadata":"note"' in offsets
    assert "payload: <DELETE>" in offsets  # the commit ended with its topic
