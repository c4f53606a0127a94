"""Cases ask the target for its settings instead of assuming Apache Kafka's defaults."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import cast

import pytest

from conformance.case import Unsupported
from conformance.target.clock import local_ms, now_ms
from conformance.target.examination import advertised_versions
from conformance.target.settings import (
    broker_setting,
    limit,
    require_auto_creation,
    require_fetch_session,
    require_session_timeout,
    require_transaction_timeout,
    require_verification,
)
from conformance.tests.fake import FakeKafka, piece, response
from conformance.wire import Wire
from reference_impl.wire import ErrorCode, Struct

TOPIC_ID = uuid.uuid4()


class Told(FakeKafka):
    """One broker that tells these settings, and takes only topics of two replicas or its own."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings, self.created = settings, list[Struct]()
        super().__init__(
            {
                "Metadata": self.metadata,
                "DescribeConfigs": self.configs,
                "CreateTopics": self.create,
                "Fetch": self.fetch,
            }
        )

    def metadata(self, _version: int, asked: Struct) -> Struct:
        host, port = self.address
        broker = piece("Metadata", "MetadataResponseBroker", node_id=1, host=host, port=port)
        led = piece(
            "Metadata", "MetadataResponsePartition", leader_id=1, replica_nodes=[1], isr_nodes=[1]
        )
        topics = [
            piece(
                "Metadata",
                "MetadataResponseTopic",
                name=t.name,
                topic_id=TOPIC_ID,
                partitions=[led],
            )
            for t in asked.topics
        ]
        return response("Metadata", brokers=[broker], topics=topics)

    def configs(self, _version: int, asked: Struct) -> Struct:
        (wanted,) = asked.resources
        told = {key: self.settings.get(key) for key in wanted.configuration_keys}
        rows = [
            piece(
                "DescribeConfigs",
                "DescribeConfigsResourceResult",
                name=key,
                value=value,
                config_source=4,
            )
            for key, value in told.items()
            if value is not None
        ]
        found = piece(
            "DescribeConfigs",
            "DescribeConfigsResult",
            resource_type=4,
            resource_name=wanted.resource_name,
            configs=rows,
        )
        return response("DescribeConfigs", results=[found])

    def create(self, _version: int, asked: Struct) -> Struct:
        self.created += asked.topics
        (topic,) = asked.topics
        code = ErrorCode.POLICY_VIOLATION if topic.replication_factor == 1 else 0
        return response(
            "CreateTopics",
            topics=[
                piece(
                    "CreateTopics",
                    "CreatableTopicResult",
                    name=topic.name,
                    error_code=code,
                    num_partitions=topic.num_partitions,
                    replication_factor=2,
                )
            ],
        )

    def fetch(self, _version: int, _asked: Struct) -> Struct:
        partition = piece("Fetch", "PartitionData")
        entry = piece("Fetch", "FetchableTopicResponse", topic_id=TOPIC_ID, partitions=[partition])
        return response("Fetch", responses=[entry])


@pytest.fixture
def told() -> Iterator[Told]:
    made = Told(
        {
            "auto.create.topics.enable": "false",
            "compression.type": "lz4",
            "log.cleanup.policy": "delete",
            "offset.metadata.max.bytes": "7",
        }
    )
    yield made
    made.stop()


@pytest.fixture
def wire(told: Told) -> Iterator[Wire]:
    made = Wire(told.bootstrap, advertised_versions(told.bootstrap))
    yield made
    made.close()


def test_a_setting_is_asked_of_the_broker(wire: Wire) -> None:
    assert broker_setting(wire, "compression.type") == "lz4"
    assert broker_setting(wire, "no.such.key") is None
    assert limit(wire, "offset.metadata.max.bytes", 4096) == 7
    assert limit(wire, "no.such.key", 4096) == 4096


def test_limits_that_exclude_a_case_make_it_unsupported(told: Told, wire: Wire) -> None:
    told.settings |= {
        "group.min.session.timeout.ms": "1",
        "group.max.session.timeout.ms": "20000",
        "transaction.max.timeout.ms": "20000",
    }
    require_session_timeout(wire, 20_000)
    require_transaction_timeout(wire, 20_000)
    with pytest.raises(Unsupported, match="are 1 and 20000 here; the case needs a session time-ou"):
        require_session_timeout(wire, 30_000)
    with pytest.raises(Unsupported, match=r"max\.timeout\.ms is 20000 here; the case needs 60000"):
        require_transaction_timeout(wire, 60_000)


def test_a_missing_fetch_session_is_excused_where_the_cache_may_be_full(
    told: Told, wire: Wire
) -> None:
    require_fetch_session(wire, 0)
    wire.is_shared = True
    with pytest.raises(Unsupported, match="slots is 1000, and others use it, too"):
        require_fetch_session(wire, 0)
    wire.is_shared = False
    told.settings["max.incremental.fetch.session.cache.slots"] = "2"
    require_fetch_session(wire, 1)
    with pytest.raises(Unsupported, match=r"the broker gave no fetch session; .*slots is 2"):
        require_fetch_session(wire, 0)


def test_a_broker_that_verifies_no_transaction_is_excused(told: Told, wire: Wire) -> None:
    require_verification(wire)
    told.settings["transaction.partition.verification.enable"] = "false"
    with pytest.raises(Unsupported, match="is false here; the case needs true"):
        require_verification(wire)


def test_topics_accept_the_time_of_any_clock(told: Told, wire: Wire) -> None:
    told.settings["log.message.timestamp.after.max.ms"] = "3600000"
    told.settings["log.message.timestamp.before.max.ms"] = "3600000"
    wire.create_topic()
    configs = {c.name: c.value for c in told.created[-1].configs}
    assert configs == {
        "compression.type": "producer",
        "message.timestamp.after.max.ms": str(2**63 - 1),
        "message.timestamp.before.max.ms": str(2**63 - 1),
    }


@pytest.mark.parametrize("ahead_ms", [0, 7_200_000, -7_200_000])
def test_the_clock_of_a_foreign_target_is_read_once(
    told: Told, wire: Wire, monkeypatch: pytest.MonkeyPatch, ahead_ms: int
) -> None:
    def produce(_version: int, asked: Struct) -> Struct:
        (topic,) = asked.topic_data
        row = piece("Produce", "PartitionProduceResponse", log_append_time_ms=told_ms[0])
        told_ms[0] = 0
        entry = piece(
            "Produce", "TopicProduceResponse", topic_id=topic.topic_id, partition_responses=[row]
        )
        return response("Produce", responses=[entry])

    told_ms = [local_ms() + ahead_ms]
    told.answers[0] = produce
    monkeypatch.setitem(cast("dict[str, tuple[int, int]]", wire.advertised), "Produce", (13, 13))
    wire.is_shared = True
    for _ in range(2):
        assert abs(now_ms(wire) - local_ms() - ahead_ms) < 5000


def test_auto_creation_is_asked_of_the_broker(told: Told, wire: Wire) -> None:
    with pytest.raises(Unsupported, match="is false here"):
        require_auto_creation(wire)
    del told.settings["auto.create.topics.enable"]
    with pytest.raises(Unsupported, match="is not revealed by the broker"):
        require_auto_creation(wire)
    told.settings["auto.create.topics.enable"] = "true"
    require_auto_creation(wire)


def test_topics_are_ordinary_where_the_brokers_defaults_are_not(told: Told, wire: Wire) -> None:
    """And have as many replicas as the cluster likes, where it refuses one."""
    topic = wire.create_topic(config={"retention.ms": "1"})
    assert topic.id == TOPIC_ID
    assert [t.replication_factor for t in told.created] == [1, -1]
    configs = {c.name: c.value for c in told.created[-1].configs}
    assert configs == {"compression.type": "producer", "retention.ms": "1"}
