"""Configurations of brokers: as started, changed while they run, and kept secret (KIP-226)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from conformance.case import Unsupported, case, each, expect, expect_that
from conformance.cases.api_versions.test_api_versions import api_versions
from conformance.cases.api_versions.test_features import finalized
from conformance.cases.configs.configs import (
    BROKER,
    Operation,
    Source,
    Type,
    alter,
    change,
    describe,
    setting,
    wait_for,
)
from conformance.target.examination import QUICK_CLEANUP, Examined
from conformance.target.variants import STRICT
from conformance.wire import Wire, batch, eventually
from reference_impl.wire import ErrorCode, Struct

ALL_BROKERS = ""
KEY, TOPIC_KEY = "log.segment.delete.delay.ms", "file.delete.delay.ms"
"""A key that may be changed while a broker runs, and the topic's key of which it is the default."""
OTHER_KEY = "log.flush.interval.ms"
READ_ONLY = "num.partitions"
NOBODY = str(2**31 - 1)


def a_broker(wire: Wire) -> str:
    """Return the id of the broker that is asked, as the name of its resource."""
    brokers = wire.call("Metadata", topics=[]).brokers
    asked = [b for b in brokers if (b.host, b.port) == wire.addresses[0]]
    return str((asked or brokers)[0].node_id)


@case("CONF-05", "DescribeConfigs", spec="class ConfigHelper; KIP-226", priority="P1")
def test_a_broker_describes_itself_alone(wire: Wire, version: int, examined: Examined) -> None:
    """A broker asked by its own id describes its configuration: the keys that it was started with
    have source 4 (static), others 5 (default) or the source of a later change. Another id, or a
    name that is not a number, gets INVALID_REQUEST (42)."""
    broker = a_broker(wire)
    found = describe(wire, broker, None, version, resource_type=BROKER)
    expect(found.error_code, ErrorCode.NONE, "error")
    configs = {c.name: c for c in found.configs}
    expect(len(configs), len(found.configs), "distinct names")
    for key in (READ_ONLY, KEY):
        if key not in configs:
            raise Unsupported(f"the broker has no configuration {key}")
    if examined.cleans_up_quickly:  # started here, with these settings
        sources = {key: configs[key].config_source for key in QUICK_CLEANUP if key in configs}
        expect(sources, dict.fromkeys(QUICK_CLEANUP, Source.STATIC_BROKER), "sources")
    expect(configs[READ_ONLY].read_only, True, f"{READ_ONLY} is read only")
    expect(configs[KEY].read_only, False, f"{KEY} is read only")
    for name in (NOBODY, "broker"):
        other = describe(wire, name, None, version, resource_type=BROKER)
        expect(
            (other.error_code, other.configs),
            (ErrorCode.INVALID_REQUEST, []),
            f"(error, configurations) of {name}",
        )


@case(
    "CONF-06", "DescribeConfigs", spec="KIP-226; class ConfigHelper", priority="P1", config=STRICT
)
def test_a_secret_is_never_told(wire: Wire, version: int) -> None:
    """A password that was set at the broker's start is described as sensitive, and its value and
    those of its synonyms are null."""
    found = describe(
        wire, a_broker(wire), None, version, resource_type=BROKER, include_synonyms=True
    )
    secret = next(c for c in found.configs if c.name == "ssl.key.password")
    expect(secret.config_source, Source.STATIC_BROKER, "source of ssl.key.password")
    for config in each(found.configs, "configurations"):
        if (
            config.name == secret.name
            or config.is_sensitive
            or (version >= 3 and config.config_type == Type.PASSWORD)
        ):
            told = [config.value, *(s.value for s in config.synonyms)]
            expect(
                (config.is_sensitive, set(told)),
                (True, {None}),
                f"(sensitive, values) of {config.name}",
            )


@contextmanager
def altered(wire: Wire, version: int, key: str, values: dict[str, str]) -> Iterator[None]:
    """Set a key of brokers by resource name, and take it back."""
    for name, value in values.items():
        errors = alter(wire, version, {name: [change(key, value)]}, resource_type=BROKER)
        expect(errors, {name: 0}, "errors")
    try:
        yield
    finally:
        for name in values:
            removal = change(key, None, Operation.DELETE)
            alter(wire, version, {name: [removal]}, resource_type=BROKER)


@case(
    "CONF-16",
    "IncrementalAlterConfigs",
    spec="KIP-226, order of precedence",
    priority="P1",
    config=STRICT,
)
def test_a_broker_goes_before_all_brokers_before_the_default(wire: Wire, version: int) -> None:
    """A value for all brokers (resource name "") is in force with source 3 until a value of this
    broker, source 2, is set. Topics without an override have it too. Without both values the
    default is in force again."""
    broker, topic = a_broker(wire), wire.create_topic().name
    before = setting(wire, broker, KEY, BROKER), setting(wire, topic, TOPIC_KEY)

    def shown() -> tuple[tuple[str | None, int], tuple[str | None, int]]:
        return setting(wire, broker, KEY, BROKER), setting(wire, topic, TOPIC_KEY)

    with altered(wire, version, KEY, {ALL_BROKERS: "70001"}):
        expected = ("70001", Source.DYNAMIC_DEFAULT_BROKER)
        eventually(shown, lambda found: found == (expected, expected), "(broker, topic), for all")
        with altered(wire, version, KEY, {broker: "70002"}):
            expected = ("70002", Source.DYNAMIC_BROKER)
            eventually(shown, lambda found: found == (expected, expected), "(broker, topic), own")
            synonyms = describe(wire, broker, [KEY], resource_type=BROKER, include_synonyms=True)
            expect(
                [(s.value, s.source) for s in synonyms.configs[0].synonyms][:2],
                [("70002", Source.DYNAMIC_BROKER), ("70001", Source.DYNAMIC_DEFAULT_BROKER)],
                "synonyms, the strongest first",
            )
        only_default = describe(wire, ALL_BROKERS, None, resource_type=BROKER).configs
        expect(
            [(c.value, c.config_source) for c in only_default if c.name == KEY],
            [("70001", Source.DYNAMIC_DEFAULT_BROKER)],
            "described for all brokers",
        )
    eventually(shown, lambda found: found == before, "(broker, topic) afterwards")


@case(
    "CONF-16",
    "IncrementalAlterConfigs",
    spec="KIP-226; class DynamicLogConfig",
    priority="P1",
    config=STRICT,
)
def test_a_default_of_all_brokers_takes_effect(wire: Wire, version: int) -> None:
    """A value for all brokers is in force for topics that exist and have none of their own: with a
    smaller message.max.bytes a batch that was accepted before gets MESSAGE_TOO_LARGE (10), except
    in a topic that sets max.message.bytes, and is accepted again afterwards."""
    topic, own = wire.create_topic(), wire.create_topic(config={"max.message.bytes": "500000"})
    large = batch(b"v" * 200_000).encode()

    def errors() -> list[int]:
        return [int(wire.produce(each, large).error_code) for each in (topic, own)]

    expect(errors(), [0, 0], "errors before")
    with altered(wire, version, "message.max.bytes", {ALL_BROKERS: "100000"}):
        found = eventually(errors, any, "the batch is refused")
        expect(found, [ErrorCode.MESSAGE_TOO_LARGE, 0], "errors")
    eventually(errors, lambda found: not any(found), "the batch is accepted again")


@case(
    "CONF-16",
    "IncrementalAlterConfigs",
    spec="ConfigRecord.json; KIP-226",
    priority="P1",
    requires={"restart"},
)
def test_configurations_outlive_the_broker(wire: Wire, version: int, examined: Examined) -> None:
    """After kill -9 and restart the values that were set for a topic, for this broker and for all
    brokers are in force, with their sources."""
    broker, topic = a_broker(wire), wire.create_topic(config={"retention.ms": "70003"}).name

    def shown() -> list[tuple[str | None, int]]:
        return [
            setting(wire, topic, "retention.ms"),
            setting(wire, topic, TOPIC_KEY),
            setting(wire, broker, KEY, BROKER),
            setting(wire, broker, OTHER_KEY, BROKER),
        ]

    of_broker, of_all = Source.DYNAMIC_BROKER, Source.DYNAMIC_DEFAULT_BROKER
    expected = [("70003", Source.DYNAMIC_TOPIC), ("70002", of_broker), ("70002", of_broker)]
    expected.append(("70001", of_all))
    with (
        altered(wire, version, KEY, {broker: "70002"}),
        altered(wire, version, OTHER_KEY, {ALL_BROKERS: "70001"}),
    ):
        eventually(shown, lambda found: found == expected, "values and sources before")
        wire.forget_connections()
        examined.kill_and_restart()
        eventually(shown, lambda found: found == expected, "values and sources afterwards")


@case(
    "CONF-16",
    "IncrementalAlterConfigs",
    spec="class LogConfig, validate; class ControllerConfigurationValidator",
    priority="P1",
    config=STRICT,
)
def test_a_topic_may_not_contradict_a_default_of_the_brokers(wire: Wire, version: int) -> None:
    """The overrides of a topic are checked together with the brokers' defaults: a
    max.compaction.lag.ms below the default of min.compaction.lag.ms must get INVALID_CONFIG (40). A
    default that contradicts an existing topic is accepted, and the topic must still be served."""
    most, least = "max.compaction.lag.ms", "min.compaction.lag.ms"
    earlier, later = wire.create_topic(), wire.create_topic()
    # A default that was just removed is in force for a moment yet (seen on Apache Kafka 4.3.1).
    eventually(
        lambda: alter(wire, version, {earlier.name: [change(most, "1000")]}),
        lambda errors: errors == {earlier.name: ErrorCode.NONE},
        f"errors of {most}=1000 beside the brokers' own defaults",
    )
    with altered(wire, version, f"log.cleaner.{least}", {ALL_BROKERS: "70000"}):
        for topic in (earlier, later):
            wait_for(wire, topic.name, least, "70000")
        errors = alter(wire, version, {later.name: [change(most, "1000")]})
        expect(errors, {later.name: ErrorCode.INVALID_CONFIG}, "errors")
        errors = alter(wire, version, {later.name: [change(most, "70000")]})
        expect(errors, {later.name: ErrorCode.NONE}, "errors of a sufficient value")
        answer = wire.produce(earlier, batch(b"a").encode())
        expect(answer.error_code, ErrorCode.NONE, "error of Produce")


@case(
    "CONF-16",
    "IncrementalAlterConfigs",
    spec="class DynamicBrokerConfig, validateConfigs",
    priority="P1",
    config=STRICT,
)
def test_what_needs_a_restart_is_not_altered(wire: Wire, version: int) -> None:
    """A read-only key, an invalid value, a key of a single broker that is set for all, and the id
    of another broker get INVALID_REQUEST (42), and nothing is altered."""
    broker = a_broker(wire)
    before = described(wire, broker)
    for name, key, value in (
        (broker, READ_ONLY, "7"),
        (ALL_BROKERS, READ_ONLY, "7"),
        (broker, KEY, "soon"),
        (ALL_BROKERS, "listeners", "PLAINTEXT://127.0.0.1:1"),
        (NOBODY, KEY, "70003"),
    ):
        errors = alter(wire, version, {name: [change(key, value)]}, resource_type=BROKER)
        expect(errors, {name: ErrorCode.INVALID_REQUEST}, f"errors of {key}={value}")
    with altered(wire, version, KEY, {broker: "70004"}):
        # A change made after them is there: by then theirs would be, too.
        eventually(lambda: setting(wire, broker, KEY, BROKER)[0], lambda v: v == "70004", KEY)
    eventually(lambda: described(wire, broker), lambda found: found == before, "configuration")


def described(wire: Wire, broker: str) -> list[tuple[str, str | None, int]]:
    found: Struct = describe(wire, broker, None, resource_type=BROKER)
    expect_that(len(found.configs) > 0, "configurations", "some", found)
    return sorted((c.name, c.value, c.config_source) for c in found.configs)


@case(
    "CONF-25",
    "IncrementalAlterConfigs",
    spec="KIP-226; class ConfigAdminManager, preprocess",
    priority="P1",
)
def test_each_broker_changes_its_own_configuration(wire: Wire, version: int) -> None:
    """Each broker changes its own configuration, wherever the active controller is, and refuses to
    change another broker's: INVALID_REQUEST (42)."""
    brokers = [str(broker) for broker in sorted(wire.brokers())]
    with altered(wire, version, KEY, dict.fromkeys(brokers, "70003")):
        for broker in brokers:
            eventually(
                partial(setting, wire, broker, KEY, BROKER),
                lambda found: found == ("70003", Source.DYNAMIC_BROKER),
                f"(value, source) of {KEY} at broker {broker}",
            )
            others = {other: [change(KEY, "1")] for other in brokers if other != broker}
            if others:
                asked = wire.broker(int(broker))
                errors = alter(wire, version, others, resource_type=BROKER, connection=asked)
                expect(
                    errors,
                    dict.fromkeys(others, ErrorCode.INVALID_REQUEST),
                    f"errors of broker {broker} for others",
                )


@case(
    "CONF-22",
    "IncrementalAlterConfigs",
    spec="KIP-966; class ConfigurationControlManager",
    priority="P1",
)
def test_min_insync_replicas_belongs_to_the_whole_cluster(wire: Wire, version: int) -> None:
    """With eligible leader replicas min.insync.replicas is set for all brokers from the beginning
    (source 3), and can neither be removed there nor be set for one: INVALID_CONFIG (40)."""
    level = finalized(api_versions(wire.bootstrap, wire.version("ApiVersions", 3)))
    if level.get("eligible.leader.replicas.version", (0, 0))[1] < 1:
        raise Unsupported("eligible leader replicas are not in force")
    broker, key = a_broker(wire), "min.insync.replicas"
    value, source = setting(wire, broker, key, BROKER)
    expect(source, Source.DYNAMIC_DEFAULT_BROKER, f"source of {key}")
    for name, wrong in (
        (ALL_BROKERS, change(key, None, Operation.DELETE)),
        (broker, change(key, "2")),
    ):
        errors = alter(wire, version, {name: [wrong]}, resource_type=BROKER)
        expect(errors, {name: ErrorCode.INVALID_CONFIG}, "errors")
    expect(setting(wire, broker, key, BROKER), (value, source), "(value, source) afterwards")
    topic = wire.create_topic(with_defaults=True).name
    expect(setting(wire, topic, key), (value, source), "(value, source) of a topic that sets none")


@case(
    "CONF-23",
    "DescribeConfigs",
    versions=(3, 4),
    spec="KIP-569; docs, Broker Configs",
    priority="P2",
)
def test_every_key_of_a_broker_has_type_and_documentation(wire: Wire, version: int) -> None:
    """With include_documentation each configuration of a broker has a sentence and a type, unless
    Kafka does not know the key."""
    found = describe(
        wire, a_broker(wire), None, version, resource_type=BROKER, include_documentation=True
    )
    expect(found.error_code, ErrorCode.NONE, "error")
    silent = [
        c.name
        for c in each(found.configs, "configurations")
        if c.config_type != Type.UNKNOWN and not c.documentation
    ]
    expect(silent, [], "keys without documentation")
    typed = [c.name for c in found.configs if c.config_type != Type.UNKNOWN]
    expect_that(len(typed) > 0, "keys with a type", "some", typed)


@case("CONF-06", "IncrementalAlterConfigs", spec="KIP-226; class ConfigHelper", priority="P1")
def test_what_is_set_for_a_plugin_is_never_told(wire: Wire, version: int) -> None:
    """A broker's key that the broker does not know is refused with INVALID_REQUEST (42), or it is
    described as sensitive, without its value."""
    # Kafka keeps such keys for plugins, and cannot know which of them are secrets.
    broker, key = a_broker(wire), wire.new_name("plugin.secret")
    errors = alter(wire, version, {broker: [change(key, "hidden?")]}, resource_type=BROKER)
    expect(errors[broker], {ErrorCode.NONE, ErrorCode.INVALID_REQUEST}, "error")
    if errors[broker] == ErrorCode.NONE:

        def told() -> list[tuple[bool, str | None]]:
            found = describe(wire, broker, [key], resource_type=BROKER)
            return [(c.is_sensitive, c.value) for c in found.configs]

        described = "(sensitive, value) as described"
        eventually(told, lambda found: found == [(True, None)], described, at_once=True)
        removal = change(key, None, Operation.DELETE)
        expect(alter(wire, version, {broker: [removal]}, resource_type=BROKER), {broker: 0})


@case("CONF-24", "IncrementalAlterConfigs", spec="KIP-73; class QuotaConfig", priority="P2")
def test_replication_is_throttled_by_a_broker_configuration(wire: Wire, version: int) -> None:
    """The rates that tools set while they move replicas are accepted, and in force until they are
    taken back; a negative one gets INVALID_REQUEST (42)."""
    broker, key = a_broker(wire), "leader.replication.throttled.rate"
    errors = alter(wire, version, {broker: [change(key, "-1")]}, resource_type=BROKER)
    expect(errors, {broker: ErrorCode.INVALID_REQUEST}, "errors of a negative rate")
    with altered(wire, version, key, {broker: "1000000"}):
        row = (key, "1000000", int(Source.DYNAMIC_BROKER))
        eventually(lambda: described(wire, broker), lambda found: row in found, f"{key} is set")
    eventually(lambda: described(wire, broker), lambda found: row not in found, f"{key} is gone")
