"""Configuration: Kafka's names and defaults, and one sentence for what cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.client.config import consumer_config, producer_config
from reference_impl.client.errors import ConfigError

SERVER = {"bootstrap.servers": "one:9092"}


def test_servers_are_a_list_or_a_text() -> None:
    for value in ("one:1, [::1]:2", ["one:1", "[::1]:2"]):
        config = producer_config({"bootstrap.servers": value})
        assert config["bootstrap.servers"] == [("one", 1), ("::1", 2)]


def test_idempotence_gives_way_unless_it_is_asked_for() -> None:
    assert producer_config(SERVER)["enable.idempotence"] is True
    assert producer_config({**SERVER, "acks": "1"})["enable.idempotence"] is False
    with pytest.raises(ConfigError, match="an idempotent producer needs acks=all"):
        producer_config({**SERVER, "acks": 1, "enable.idempotence": "true"})
    with pytest.raises(ConfigError, match="at most 5"):
        many = {"max.in.flight.requests.per.connection": 6, "transactional.id": "x"}
        producer_config({**SERVER, **many})


def test_delivery_timeout_follows_what_it_must_contain() -> None:
    config = producer_config({**SERVER, "request.timeout.ms": 200_000})
    assert config["delivery.timeout.ms"] == 200_005
    with pytest.raises(ConfigError, match="KIP-91"):
        producer_config({**SERVER, "delivery.timeout.ms": 1_000})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "bootstrap.servers is missing"),
        ({"bootstrap.servers": "one"}, "must be host:port"),
        ({**SERVER, "linger": 5}, "no configuration 'linger'; did you mean linger.ms?"),
        ({**SERVER, "linger.ms": -1}, "must be a whole number of at least 0"),
        ({**SERVER, "linger.ms": "soon"}, "linger.ms='soon': must be a whole number"),
        ({**SERVER, "acks": 2}, "acks=2: must be all, -1, 0 or 1"),
        ({**SERVER, "compression.type": "zip"}, "must be one of none, gzip, snappy, lz4, zstd"),
        ({**SERVER, "enable.idempotence": "maybe"}, "must be true or false"),
        ({**SERVER, "transactional.id": ""}, "must be a text that is not empty"),
        ({**SERVER, "partitioner.class": "Mine"}, "must be a list of RoundRobinPartitioner"),
    ],
)
def test_what_a_producer_cannot_use_is_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        producer_config(settings)
    assert sentence in str(refused.value)


def test_a_consumer_commits_by_itself_if_it_has_a_group() -> None:
    assert consumer_config(SERVER)["enable.auto.commit"] is False
    assert consumer_config({**SERVER, "group.id": "g"})["enable.auto.commit"] is True


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"enable.auto.commit": True}, "needs a group.id"),
        ({"group.instance.id": "one"}, "needs a group.id"),
        ({"session.timeout.ms": 3_000}, "heartbeat.interval.ms must be below"),
        ({"auto.offset.reset": "first"}, "must be one of earliest, latest, none"),
        ({"partition.assignment.strategy": "Fair"}, "must be a list of RangeAssignor"),
        ({"group.protocol": "new"}, "must be one of classic, consumer"),
        ({"group.remote.assignor": "uniform"}, "needs group.protocol=consumer"),
        (
            {"group.protocol": "consumer", "session.timeout.ms": 9_000},
            "session.timeout.ms needs group.protocol=classic",
        ),
    ],
)
def test_what_a_consumer_cannot_use_is_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        consumer_config({**SERVER, **settings})
    assert sentence in str(refused.value)


def test_assignors_may_be_named_as_java_classes() -> None:
    names = "org.apache.kafka.clients.consumer.StickyAssignor,RangeAssignor"
    config = consumer_config({**SERVER, "partition.assignment.strategy": names})
    assert config["partition.assignment.strategy"] == ["StickyAssignor", "RangeAssignor"]
