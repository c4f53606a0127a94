"""The broker's files, read by Apache's own DumpLogSegments. In test_exchanged_directories.py an
Apache Kafka starts over them."""

from __future__ import annotations

from pathlib import Path

import pytest

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
