"""The broker's records of a consumer group (KIP-848), read by Apache's own DumpLogSegments."""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.host.tests.test_kafka_reads_it import DUMP
from reference_impl.robustness.process import BrokerProcess, RawClient
from reference_impl.wire import ApiKey
from reference_impl.wire.tests.java_oracle import launch

KINDS = {
    "3": '"epoch":2,"metadataHash":',
    "5": '"subscribedTopicRegex":"t.*"',
    "6": '"assignmentEpoch":2',
    "7": '"topicPartitions":[{"topicId":',
    "8": '"memberEpoch":2,"previousMemberEpoch":1,"state":0,"assignedPartitions":[{"topicId":',
    "16": '"topics":["t"]',
}
"""Record type -> what one of its records says."""


@pytest.mark.needs("java", "kafka-jars")
def test_a_consumer_group_is_kept_in_kafkas_own_records(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", "--config", "offsets.topic.num.partitions=1") as broker:
        with RawClient(broker) as client:
            client.create_topic("t")
            for _ in range(2):  # the first question makes the topic
                client.call(ApiKey.FIND_COORDINATOR, 4, coordinator_keys=["g"])
            member = {"group_id": "g", "member_id": "m", "topic_partitions": []}
            joined = client.call(
                ApiKey.CONSUMER_GROUP_HEARTBEAT,
                1,
                **member,
                member_epoch=0,
                rebalance_timeout_ms=1000,
                subscribed_topic_regex="t.*",
            )
            told = client.call(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **member, member_epoch=1)
            assert (joined.member_epoch, told.member_epoch) == (1, 2)
            client.call(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **member, member_epoch=-1)
        assert broker.stop() == 0
    said = launch(DUMP, "4.3.1", str(tmp_path / "data")).splitlines()
    for kind, words in KINDS.items():
        records = [line for line in said if f'key: {{"type":"{kind}"' in line]
        assert any(words in line for line in records), (kind, records)
    for kind in ("5", "7", "8", "16"):  # the member left, and its pattern with it
        newest = [line for line in said if f'key: {{"type":"{kind}"' in line][-1]
        assert newest.endswith("payload: <DELETE>"), newest
