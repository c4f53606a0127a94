"""Configurations: which value is in force, what may be changed, and what survives."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from reference_impl.core.configs.broker import BROKER_CONFIGS, KNOWN_CONFIGS, BrokerConfig
from reference_impl.core.configs.client_metrics import CLIENT_METRICS_CONFIGS
from reference_impl.core.configs.documentation import DOCUMENTATION
from reference_impl.core.configs.dynamic import THROTTLES
from reference_impl.core.configs.entries import ConfigSource
from reference_impl.core.configs.group import GROUP_CONFIGS
from reference_impl.core.configs.idle import IDLE_THROTTLES, WITHOUT_EFFECT
from reference_impl.core.configs.keys import BadConfig, ConfigType
from reference_impl.core.configs.topic import TOPIC_CONFIGS
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.tests.counting import counted
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
KEY, TOPIC_KEY = "message.max.bytes", "max.message.bytes"
OF_BROKER, OF_ALL, STATIC, DEFAULT = (
    ConfigSource.BROKER,
    ConfigSource.ALL_BROKERS,
    ConfigSource.STATIC_BROKER,
    ConfigSource.DEFAULT,
)


def alter(
    world: World, resource_type: int, name: str, *rows: tuple[str, str | None, int], **fields: Any
) -> ErrorCode:
    """Send IncrementalAlterConfigs for one resource by rows of (key, value, operation)."""
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    resource = of.struct(
        "AlterConfigsResource",
        resource_type=resource_type,
        resource_name=name,
        configs=[
            of.struct("AlterableConfig", name=key, value=value, config_operation=operation)
            for key, value, operation in rows
        ],
    )
    answer = world.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], **fields)
    return ErrorCode(answer.responses[0].error_code)


def describe(world: World, resource_type: int, name: str, key: str) -> Struct | None:
    """Return one key as DescribeConfigs shows it, with its synonyms."""
    of = request_definition(ApiKey.DESCRIBE_CONFIGS)
    resource = of.struct(
        "DescribeConfigsResource",
        resource_type=resource_type,
        resource_name=name,
        configuration_keys=[key],
    )
    answer = world.call(ApiKey.DESCRIBE_CONFIGS, 4, resources=[resource], include_synonyms=True)
    rows = answer.results[0].configs
    return rows[0] if rows else None


def shown(world: World, resource_type: int, name: str, key: str) -> tuple[Any, list[Any]]:
    """Return (value, [(name, value, source) of each synonym])."""
    row = describe(world, resource_type, name, key)
    assert row is not None
    return row.value, [(s.name, s.value, s.source) for s in row.synonyms]


def test_the_stronger_layer_is_in_force_and_the_weaker_told() -> None:
    world = World({KEY: "5000"})
    world.create_topic("t")
    assert alter(world, BROKER, "", (KEY, "4000", SET)) is ErrorCode.NONE
    assert alter(world, BROKER, "1", (KEY, "3000", SET)) is ErrorCode.NONE
    layers = [
        (KEY, "3000", OF_BROKER),
        (KEY, "4000", OF_ALL),
        (KEY, "5000", STATIC),
        (KEY, "1048588", DEFAULT),
    ]
    for _ in range(2):
        assert shown(world, BROKER, "1", KEY) == ("3000", layers)
        assert shown(world, TOPIC, "t", TOPIC_KEY) == ("3000", layers)
        assert shown(world, BROKER, "", KEY) == ("4000", [(KEY, "4000", OF_ALL)])
        assert world.produce("t", "x" * 3500).error_code == ErrorCode.MESSAGE_TOO_LARGE
        world.kill()
    assert alter(world, BROKER, "1", (KEY, None, DELETE)) is ErrorCode.NONE
    assert shown(world, TOPIC, "t", TOPIC_KEY) == ("4000", layers[1:])
    assert world.produce("t", "x" * 3500).error_code == 0
    assert alter(world, BROKER, "", (KEY, None, DELETE)) is ErrorCode.NONE
    assert shown(world, BROKER, "1", KEY) == ("5000", layers[2:])
    assert describe(world, BROKER, "", KEY) is None


def test_a_topics_own_value_goes_before_the_brokers() -> None:
    world = World()
    world.create_topic("t", max_message_bytes="2000")
    alter(world, BROKER, "1", (KEY, "100", SET))
    assert shown(world, TOPIC, "t", TOPIC_KEY)[0] == "2000"
    assert world.produce("t", "x" * 500).error_code == 0


def test_of_one_setting_in_several_units_the_finest_goes_before() -> None:
    world = World({"log.retention.hours": "1"})
    world.create_topic("t")
    assert shown(world, TOPIC, "t", "retention.ms") == ("3600000", [])
    alter(world, BROKER, "1", ("log.retention.ms", "5000", SET))
    value, synonyms = shown(world, TOPIC, "t", "retention.ms")
    assert (value, synonyms[0]) == ("5000", ("log.retention.ms", "5000", OF_BROKER))
    assert ("log.retention.hours", "1", STATIC) in synonyms


@pytest.mark.parametrize(
    ("name", "row", "code"),
    [
        ("1", ("num.partitions", "3", SET), ErrorCode.INVALID_REQUEST),
        ("", ("node.id", "3", SET), ErrorCode.INVALID_REQUEST),
        ("1", (KEY, "many", SET), ErrorCode.INVALID_REQUEST),
        ("1", (KEY, None, SET), ErrorCode.INVALID_REQUEST),
        ("1", (KEY, "1", 9), ErrorCode.INVALID_REQUEST),
        ("1", ("listener.name.out.ssl.keystore.location", "1", SET), ErrorCode.INVALID_REQUEST),
        ("1", ("num.io.threads", "17", SET), ErrorCode.INVALID_REQUEST),
        ("1", ("num.io.threads", "3", SET), ErrorCode.INVALID_REQUEST),
        ("1", ("max.connections.per.ip", "-1", SET), ErrorCode.INVALID_REQUEST),
        ("1", ("max.connections.per.ip.overrides", "host:many", SET), ErrorCode.INVALID_REQUEST),
        ("1", ("leader.replication.throttled.rate", "-1", SET), ErrorCode.INVALID_REQUEST),
        ("1", (KEY, "1", APPEND), ErrorCode.INVALID_CONFIG),
        ("2", (KEY, "1", SET), ErrorCode.INVALID_REQUEST),
        ("one", (KEY, "1", SET), ErrorCode.INVALID_REQUEST),
        ("9" * 5000, (KEY, "1", SET), ErrorCode.INVALID_REQUEST),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_a_running_broker_cannot_change_is_refused(
    name: str, row: tuple[str, str | None, int], code: ErrorCode
) -> None:
    world = World()
    before = world.node.broker.quorum.end_offset
    assert alter(world, BROKER, name, row, ("log.retention.ms", "1", SET)) is code
    assert world.node.broker.quorum.end_offset == before


def test_a_key_of_a_plugin_is_kept_and_not_told() -> None:
    world = World()
    for name in ("1", ""):
        assert alter(world, BROKER, name, ("plugin.secret", "hidden", SET)) is ErrorCode.NONE
        assert shown(world, BROKER, name, "plugin.secret")[0] is None
    world.kill()
    assert shown(world, BROKER, "1", "plugin.secret")[0] is None
    assert alter(world, BROKER, "1", ("plugin.secret", None, DELETE)) is ErrorCode.NONE


def test_a_pool_of_threads_may_double_each_time() -> None:
    world = World()
    for number in ("16", "32", "16"):
        assert alter(world, BROKER, "1", ("num.io.threads", number, SET)) is ErrorCode.NONE


def test_a_list_of_the_broker_is_appended_to() -> None:
    world = World()
    for operation, value in ((APPEND, "delete,compact"), (SUBTRACT, "delete")):
        item = ("log.cleanup.policy", "compact", operation)
        assert alter(world, BROKER, "1", item) is ErrorCode.NONE
        assert shown(world, BROKER, "1", "log.cleanup.policy")[0] == value


MIN_LAG, MAX_LAG = "min.compaction.lag.ms", "max.compaction.lag.ms"


def test_a_topic_that_contradicts_a_default_of_the_broker_is_refused() -> None:
    """Kafka checks the overrides over the defaults in force (LogConfig.validate)."""
    world = World()
    world.create_topic("t")
    assert alter(world, BROKER, "1", (f"log.cleaner.{MIN_LAG}", "1000", SET)) is ErrorCode.NONE
    assert alter(world, TOPIC, "t", (MAX_LAG, "1", SET)) is ErrorCode.INVALID_CONFIG
    of = request_definition(ApiKey.CREATE_TOPICS)
    config = of.struct("CreatableTopicConfig", name=MAX_LAG, value="1")
    topic = of.struct(
        "CreatableTopic", name="u", num_partitions=1, replication_factor=1, configs=[config]
    )
    answer = world.call(ApiKey.CREATE_TOPICS, 7, topics=[topic])
    assert answer.topics[0].error_code == ErrorCode.INVALID_CONFIG


def test_a_default_that_contradicts_a_topic_does_not_stop_the_broker() -> None:
    """Kafka accepts the later default, and the broker serves the topic, now and after a restart."""
    world = World()
    world.create_topic("t", max_compaction_lag_ms="1")
    assert alter(world, BROKER, "1", (f"log.cleaner.{MIN_LAG}", "1000", SET)) is ErrorCode.NONE
    for _ in range(2):
        assert world.produce("t", "x").error_code == ErrorCode.NONE
        world.kill()
    assert alter(world, TOPIC, "t", (MAX_LAG, "1000", SET)) is ErrorCode.NONE


def test_defaults_that_contradict_each_other_refuse_new_topics_in_a_sentence() -> None:
    world = World({f"log.cleaner.{MIN_LAG}": "100", f"log.cleaner.{MAX_LAG}": "10"})
    of = request_definition(ApiKey.CREATE_TOPICS)
    topic = of.struct("CreatableTopic", name="t", num_partitions=1, replication_factor=1)
    row = world.call(ApiKey.CREATE_TOPICS, 7, topics=[topic]).topics[0]
    assert row.error_code == ErrorCode.INVALID_CONFIG
    assert row.error_message.startswith(f"conflict topic config setting {MIN_LAG} (100)")


def test_every_value_that_a_broker_may_have_is_a_default_that_a_log_can_take() -> None:
    """The bounds of a broker's key are not always those of the topic's key that it gives a default
    to; whatever a broker accepts, opening a log under it must not fail."""
    for key in TOPIC_CONFIGS.values():
        known = KNOWN_CONFIGS.get(key.synonym or "")
        if known is None:
            continue
        candidates = (known.default, known.at_least, known.at_most, *(known.one_of or ()))
        for value in candidates:
            if value is not None:
                text = str(int(value) if known.type is ConfigType.INT else value)
                given = BrokerConfig({known.name: text})
                LogConfig.from_configs(given.topic_defaults)


@pytest.mark.parametrize(
    "given",
    [
        {"broker.rack": "r" * 32_768},
        {"broker.rack": "é" * 16_384},
        {"super.users": "User:" + "a" * 40_000},
        {"advertised.listeners": f"PLAINTEXT://{'a' * 40_000}:1"},
        {f"listener.name.{'a' * 40_000}.ssl.key.password": "secret"},
    ],
    ids=lambda given: next(iter(given))[:30],
)
def test_a_setting_that_no_request_could_hold_is_refused_at_the_start(
    given: dict[str, str],
) -> None:
    with pytest.raises(BadConfig, match="32767") as refused:
        BrokerConfig.of(given)
    assert len(str(refused.value)) < 200


def test_a_rack_may_fill_a_string_and_a_secret_may_be_longer() -> None:
    assert World({"broker.rack": "r" * 32_767}).node.broker.image.brokers
    BrokerConfig.of({"ssl.key.password": "s" * 40_000})


def test_a_list_that_no_answer_could_hold_is_refused() -> None:
    world = World()
    world.create_topic("t")
    key = "leader.replication.throttled.replicas"
    first, second = (",".join(f"{n}:1" for n in range(k, k + 2_500)) for k in (10_000, 20_000))
    assert alter(world, TOPIC, "t", (key, first, SET)) is ErrorCode.NONE
    assert alter(world, TOPIC, "t", (key, second, APPEND)) is ErrorCode.INVALID_CONFIG
    assert shown(world, TOPIC, "t", key)[0] == first


@pytest.mark.parametrize(
    ("resource_type", "key", "value", "code"),
    [
        (2, "retention.ms", "1", ErrorCode.UNKNOWN_SERVER_ERROR),
        (2, "retention.ms", None, ErrorCode.INVALID_REQUEST),
        (2, "no.such.key", "1", ErrorCode.UNKNOWN_SERVER_ERROR),
        (4, "log.retention.ms", "1", ErrorCode.INVALID_REQUEST),
        (16, "interval.ms", "1000", ErrorCode.UNKNOWN_SERVER_ERROR),
        (32, "consumer.session.timeout.ms", "50000", ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_operation_that_does_not_exist_spoils_what_the_controller_gets(
    resource_type: int, key: str, value: str | None, code: ErrorCode
) -> None:
    world = World()
    world.create_topic("other", 1)
    world.create_topic("strange", 1)
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    rows = [
        of.struct(
            "AlterConfigsResource",
            resource_type=kind,
            resource_name=name,
            configs=[of.struct("AlterableConfig", name=k, value=v, config_operation=operation)],
        )
        for kind, name, k, v, operation in (
            (2, "other", "retention.ms", "777777", 0),
            (resource_type, "1" if resource_type == 4 else "strange", key, value, 9),
            (2, "missing", "retention.ms", "1", 0),
        )
    ]
    answer = world.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=rows)
    spoilt = code == ErrorCode.UNKNOWN_SERVER_ERROR
    expected = [code] * 3 if spoilt else [0, code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert [row.error_code for row in answer.responses] == expected
    after = {} if spoilt else {"retention.ms": "777777"}
    assert world.node.broker.image.topics["other"].configs == after


def test_validation_alone_changes_nothing() -> None:
    world = World()
    before = world.node.broker.quorum.end_offset
    assert alter(world, BROKER, "1", (KEY, "100", SET), validate_only=True) is ErrorCode.NONE
    assert world.node.broker.quorum.end_offset == before


def test_a_replacement_takes_away_what_it_does_not_name() -> None:
    world = World()
    world.create_topic("t", max_message_bytes="2000", retention_ms="1000")
    of = request_definition(ApiKey.ALTER_CONFIGS)
    row = of.struct("AlterableConfig", name="retention.ms", value="5000")
    resource = of.struct("AlterConfigsResource", resource_type=TOPIC, resource_name="t")
    resource.configs = [row]
    answer = world.call(ApiKey.ALTER_CONFIGS, 2, resources=[resource])
    assert answer.responses[0].error_code == 0
    world.kill()
    assert world.node.broker.image.topics["t"].configs == {"retention.ms": "5000"}
    answer = world.call(ApiKey.ALTER_CONFIGS, 2, resources=[resource, resource])
    assert [r.error_code for r in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2


def test_a_password_is_never_told() -> None:
    world = World({"ssl.key.password": "secret"})
    row = describe(world, BROKER, "1", "ssl.key.password")
    assert row is not None
    assert (row.is_sensitive, row.value, row.config_source) == (True, None, STATIC)
    assert [s.value for s in row.synonyms] == [None]


def test_every_key_says_what_it_is_for() -> None:
    keys = {*BROKER_CONFIGS, *GROUP_CONFIGS, *TOPIC_CONFIGS, *CLIENT_METRICS_CONFIGS}
    keys |= THROTTLES.keys() - IDLE_THROTTLES.keys()
    silent = sorted(keys - DOCUMENTATION.keys())
    assert silent == [], "say in configs/documentation.py what these are for"
    assert sorted(DOCUMENTATION.keys() - keys) == []
    assert [name for name, text in DOCUMENTATION.items() if not text.endswith(".")] == []


def test_min_insync_replicas_is_the_clusters_from_its_first_record_on() -> None:
    """Seen on Apache Kafka 4.3.1, where eligible leader replicas are in force (KIP-966)."""
    world = World({"min.insync.replicas": "2"})
    name = "min.insync.replicas"
    found = describe(world, BROKER, "1", name)
    assert found is not None
    assert [(s.value, s.source) for s in found.synonyms] == [
        ("2", OF_ALL),
        ("2", STATIC),
        ("1", DEFAULT),
    ]
    assert alter(world, BROKER, "", (name, None, DELETE)) is ErrorCode.INVALID_CONFIG
    assert alter(world, BROKER, "1", (name, "3", SET)) is ErrorCode.INVALID_CONFIG
    assert alter(world, BROKER, "", (name, "3", SET)) is ErrorCode.NONE
    history = world.node.broker.quorum.end_offset
    world.restart()
    found = describe(world, BROKER, "1", name)
    assert found is not None
    assert (found.value, found.config_source) == ("3", OF_ALL)
    registered_and_unfenced = 2
    who_leads = 1
    assert world.node.broker.quorum.end_offset == history + who_leads + registered_and_unfenced


def test_a_key_without_effect_is_told_and_altered_and_refused_at_the_start() -> None:
    world = World()
    found = describe(world, BROKER, "1", "remote.log.reader.threads")
    assert found is not None
    assert (found.value, found.config_source, found.read_only) == ("10", DEFAULT, False)
    assert alter(world, BROKER, "1", ("remote.log.reader.threads", "5", SET)) is ErrorCode.NONE
    assert (
        alter(world, BROKER, "1", ("remote.log.reader.threads", "many", SET))
        is ErrorCode.INVALID_REQUEST
    )
    found = describe(world, BROKER, "1", "remote.log.reader.threads")
    assert found is not None
    assert (found.value, found.config_source) == ("5", OF_BROKER)
    with pytest.raises(BadConfig, match="no effect here"):
        BrokerConfig.of({"remote.log.reader.threads": "5"})


def test_security_without_effect_cannot_be_set_while_the_broker_runs() -> None:
    world = World()
    refused = alter(world, BROKER, "1", ("ssl.truststore.location", "/x", SET))
    assert refused is ErrorCode.INVALID_REQUEST


def test_every_key_of_apache_kafka_is_known() -> None:
    assert len(KNOWN_CONFIGS) >= 341
    assert {"remote.log.storage.system.enable", "max.connections.per.ip"} <= KNOWN_CONFIGS.keys()
    assert not WITHOUT_EFFECT.keys() & BROKER_CONFIGS.keys()


@pytest.mark.parametrize(("resource_type", "name"), [(BROKER, "1"), (TOPIC, "t")])
def test_one_key_is_described_without_the_others(resource_type: int, name: str) -> None:
    """One request may name twenty thousand keys, each on its own."""
    world = World()
    world.create_topic("t")
    costs = [
        counted(partial(describe, world, resource_type, name, key))[1]
        for key in ("unknown", "compression.type")
    ]
    assert max(costs) < 400
