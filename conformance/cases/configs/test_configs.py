"""DescribeConfigs, IncrementalAlterConfigs: what a topic is set to (KIP-133, KIP-226, KIP-339)."""

from __future__ import annotations

import pytest

from conformance.case import case, each, expect, expect_that
from conformance.cases.configs.configs import (
    Operation,
    Source,
    Type,
    alter,
    change,
    describe,
    setting,
    wait_for,
)
from conformance.target.settings import broker_setting
from conformance.wire import Wire, batch, eventually, part
from reference_impl.wire import ErrorCode

DESCRIBE = "KIP-133; DescribeConfigsResponse.json"
ALTER = "KIP-339"
DAY_MS = "86400000"


@case(
    "CONF-09",
    "IncrementalAlterConfigs",
    spec=ALTER + "; class ConfigurationControlManager",
    priority="P1",
)
def test_a_value_that_no_answer_could_describe_is_refused(wire: Wire, version: int) -> None:
    """A string of the protocol has up to 32,767 bytes. An APPEND after which a value would be
    longer must get INVALID_CONFIG (40), and the value stays as it was."""
    topic, key = wire.create_topic(), "leader.replication.throttled.replicas"
    first, second = (
        ",".join(f"{number}:1" for number in range(start, start + 2_500))
        for start in (10_000, 20_000)
    )
    errors = alter(wire, version, {topic.name: [change(key, first)]})
    expect(errors, {topic.name: ErrorCode.NONE}, "errors")
    errors = alter(wire, version, {topic.name: [change(key, second, Operation.APPEND)]})
    expect(errors, {topic.name: ErrorCode.INVALID_CONFIG}, "errors of APPEND")
    wait_for(wire, topic.name, key, first)


@case("CONF-01", "DescribeConfigs", spec=DESCRIBE + "; KIP-226")
def test_all_configurations_of_a_topic_are_described(wire: Wire, version: int) -> None:
    """With configuration_keys null every topic configuration is described: those set at creation
    with source 1 (dynamic topic), the others with a default and another source."""
    topic = wire.create_topic(config={"retention.ms": DAY_MS}, with_defaults=True)
    found = describe(wire, topic.name, None, version)
    expect(found.error_code, ErrorCode.NONE, "error")
    configs = {c.name: c for c in found.configs}
    expect(len(configs), len(found.configs), "distinct names")
    for key in ("cleanup.policy", "retention.bytes", "segment.bytes", "max.message.bytes"):
        expect_that(key in configs, "keys described", key, sorted(configs))
        expect_that(
            configs[key].config_source != Source.DYNAMIC_TOPIC,
            f"source of {key}",
            "not 1",
            configs[key].config_source,
        )
    given = configs["retention.ms"]
    expect((given.value, given.config_source), (DAY_MS, Source.DYNAMIC_TOPIC), "(value, source)")
    expect((given.read_only, given.is_sensitive), (False, False), "(read only, sensitive)")
    default = broker_setting(wire, "log.cleanup.policy") or "delete"
    expect(configs["cleanup.policy"].value, default, "default of cleanup.policy")


@case("CONF-02", "DescribeConfigs", spec=DESCRIBE)
def test_only_the_keys_asked_for_are_described(wire: Wire, version: int) -> None:
    """Named keys alone are described; a key that does not exist is left out without an error."""
    topic = wire.create_topic()
    keys = ["retention.ms", "no.such.key", "cleanup.policy"]
    found = describe(wire, topic.name, keys, version)
    expect(found.error_code, ErrorCode.NONE, "error")
    expect(sorted(c.name for c in found.configs), ["cleanup.policy", "retention.ms"], "keys")


@case("CONF-03", "DescribeConfigs", spec=DESCRIBE)
def test_a_topic_that_cannot_be_described_is_refused(wire: Wire, version: int) -> None:
    """A topic that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3), a name that no topic may
    have INVALID_TOPIC_EXCEPTION (17); neither has configurations."""
    unknown = describe(wire, wire.new_name(), None, version)
    invalid = describe(wire, "a b!", None, version)
    expect(
        (unknown.error_code, len(unknown.configs)),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0),
        "(error, configurations) of an unknown topic",
    )
    expect(
        (invalid.error_code, len(invalid.configs)),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, 0),
        "(error, configurations) of an invalid name",
    )


@case("CONF-04", "DescribeConfigs", spec="KIP-226, synonyms; KIP-569", priority="P1")
def test_synonyms_types_and_documentation_are_told_if_asked_for(wire: Wire, version: int) -> None:
    """With include_synonyms an answer lists the values of the key in order of precedence, the one
    in force first, then the broker's; without it, none. From v3 on each configuration has its type,
    and a text with include_documentation, null without."""
    topic = wire.create_topic(config={"retention.bytes": "1000000"}).name
    types = {
        "retention.bytes": Type.LONG,
        "cleanup.policy": Type.LIST,
        "preallocate": Type.BOOLEAN,
        "compression.type": Type.STRING,
        "segment.bytes": Type.INT,
        "min.cleanable.dirty.ratio": Type.DOUBLE,
    }
    keys = list(types)
    full = describe(wire, topic, keys, version, include_synonyms=True, include_documentation=True)
    plain = describe(wire, topic, keys, version)
    told = {c.name: c for c in full.configs}
    expect(sorted(told), sorted(keys), "keys")
    given = told["retention.bytes"]
    expect(
        [(s.name, s.value, s.source) for s in given.synonyms][:1],
        [("retention.bytes", "1000000", Source.DYNAMIC_TOPIC)],
        "first synonym",
    )
    expect(
        [(s.name, s.source) for s in given.synonyms][-1],
        ("log.retention.bytes", Source.DEFAULT),
        "last synonym",
    )
    for found in each(full.configs, "configurations"):
        sources = [s.source for s in found.synonyms]
        expect(
            sources, sorted(set(sources)), f"sources of {found.name}, each once, strongest first"
        )
        expect(
            (found.value, found.config_source),
            (found.synonyms[0].value, found.synonyms[0].source),
            f"(value, source) of {found.name}",
        )
        if version >= 3:
            expect(found.config_type, types[found.name], f"type of {found.name}")
            expect_that(
                bool(found.documentation),
                f"documentation of {found.name}",
                "a text",
                found.documentation,
            )
    expect([c.synonyms for c in plain.configs], [[]] * len(keys), "synonyms, not asked for")
    if version >= 3:
        expect(
            [c.documentation for c in plain.configs],
            [None] * len(keys),
            "documentation, not asked for",
        )


@case("CONF-07", "IncrementalAlterConfigs", spec=ALTER)
def test_a_configuration_is_set(wire: Wire, version: int) -> None:
    """A configuration that was SET is described with its new value and source 1 (dynamic topic);
    the others of the topic stay."""
    topic = wire.create_topic(config={"max.message.bytes": "2000"}).name
    expect(alter(wire, version, {topic: [change("retention.ms", DAY_MS)]}), {topic: 0}, "errors")
    wait_for(wire, topic, "retention.ms", DAY_MS)
    expect(setting(wire, topic, "retention.ms"), (DAY_MS, Source.DYNAMIC_TOPIC), "(value, source)")
    expect(setting(wire, topic, "max.message.bytes"), ("2000", Source.DYNAMIC_TOPIC), "the other")


@case("CONF-07", "IncrementalAlterConfigs", spec=ALTER + "; class TopicConfigHandler")
def test_a_configuration_that_is_set_takes_effect(wire: Wire, version: int) -> None:
    """A configuration that was SET is in force for a topic that exists, and one that was deleted no
    more: with a smaller max.message.bytes a batch that was accepted before gets
    MESSAGE_TOO_LARGE (10), and is accepted again afterwards."""
    topic, large = wire.create_topic(), batch(b"v" * 3000).encode()

    def error() -> int:
        return int(wire.produce(topic, large).error_code)

    expect(error(), ErrorCode.NONE, "error before")
    smaller = [change("max.message.bytes", "2000")]
    expect(alter(wire, version, {topic.name: smaller}), {topic.name: 0}, "errors")
    found = eventually(error, lambda code: code != ErrorCode.NONE, "the batch is refused")
    expect(found, ErrorCode.MESSAGE_TOO_LARGE, "error")
    default = [change("max.message.bytes", None, Operation.DELETE)]
    expect(alter(wire, version, {topic.name: default}), {topic.name: 0}, "errors")
    eventually(error, lambda code: code == ErrorCode.NONE, "the batch is accepted again")


@case("CONF-08", "IncrementalAlterConfigs", spec=ALTER)
def test_a_deleted_configuration_is_the_default_again(wire: Wire, version: int) -> None:
    """After DELETE a configuration has its default again, with the source that it has in a topic
    where it was never set."""
    default = setting(wire, wire.create_topic(with_defaults=True).name, "retention.ms")
    topic = wire.create_topic(config={"retention.ms": DAY_MS}).name
    changes = {topic: [change("retention.ms", None, Operation.DELETE)]}
    expect(alter(wire, version, changes), {topic: 0}, "errors")
    eventually(
        lambda: setting(wire, topic, "retention.ms"),
        lambda found: found == default,
        "retention.ms is as in a topic where it was never set",
    )


@case("CONF-09", "IncrementalAlterConfigs", spec=ALTER, priority="P1")
def test_a_list_is_appended_to_and_subtracted_from(wire: Wire, version: int) -> None:
    """APPEND adds to a list, once, and to the default where nothing is set; SUBTRACT takes away."""
    topic, key = wire.create_topic(config={"cleanup.policy": "delete"}).name, "cleanup.policy"
    for _ in range(2):
        errors = alter(wire, version, {topic: [change(key, "compact", Operation.APPEND)]})
        expect(errors, {topic: 0}, "APPEND errors")
        wait_for(wire, topic, key, "delete,compact")
    errors = alter(wire, version, {topic: [change(key, "delete", Operation.SUBTRACT)]})
    expect(errors, {topic: 0}, "SUBTRACT errors")
    wait_for(wire, topic, key, "compact")
    default = wire.create_topic(config={"cleanup.policy": "delete"}).name
    errors = alter(wire, version, {default: [change(key, None, Operation.DELETE)]})
    expect(errors, {default: 0}, "DELETE errors")
    before = (setting(wire, default, key)[0] or "").split(",")
    errors = alter(wire, version, {default: [change(key, "compact", Operation.APPEND)]})
    expect(errors, {default: 0}, "errors of APPEND to the default")
    wait_for(wire, default, key, ",".join(dict.fromkeys([*before, "compact"])))


@case("CONF-10", "IncrementalAlterConfigs", spec="class ConfigurationControlManager", priority="P1")
def test_only_a_list_is_appended_to(wire: Wire, version: int) -> None:
    """APPEND to a configuration that is no list gets INVALID_CONFIG (40)."""
    topic = wire.create_topic().name
    errors = alter(wire, version, {topic: [change("retention.ms", "1", Operation.APPEND)]})
    expect(errors, {topic: ErrorCode.INVALID_CONFIG}, "errors")


@case("CONF-28", "IncrementalAlterConfigs", spec="KIP-339; class ConfigAdminManager", priority="P1")
def test_a_change_that_says_nothing_changes_nothing(wire: Wire, version: int) -> None:
    """A SET, APPEND or SUBTRACT without a value gets INVALID_REQUEST (42), an operation that does
    not exist that or UNKNOWN_SERVER_ERROR (-1), and nothing is changed, also of another topic that
    gets an error for it."""
    other = wire.create_topic().name
    topic = wire.create_topic(config={"cleanup.policy": "compact"}).name
    before = setting(wire, topic, "cleanup.policy")
    without = [change("cleanup.policy", None, Operation(number)) for number in (0, 2, 3)]
    for row in without:
        errors = alter(wire, version, {topic: [row]})
        what = f"errors of operation {row.config_operation} without a value"
        expect(errors, {topic: ErrorCode.INVALID_REQUEST}, what)
    strange = change("cleanup.policy", "delete")
    strange.config_operation = 9
    errors = alter(wire, version, {other: [change("retention.ms", DAY_MS)], topic: [strange]})
    # An unexpected exception in the controller of Apache Kafka 4.3.1, which ends the request.
    refusals = {ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR}
    expect(errors[topic], refusals, "error of operation 9")
    expect(errors[other], {ErrorCode.NONE, errors[topic]}, "error of the topic beside it")
    if errors[other] == ErrorCode.NONE:
        wait_for(wire, other, "retention.ms", DAY_MS)
    else:
        source = setting(wire, other, "retention.ms")[1]
        expect_that(
            source != Source.DYNAMIC_TOPIC, "source of the topic beside it", "not its own", source
        )
    expect(setting(wire, topic, "cleanup.policy"), before, "(value, source) afterwards")


@case("CONF-11", "IncrementalAlterConfigs", spec="class ConfigAdminManager", priority="P1")
def test_what_is_named_twice_is_not_changed(wire: Wire, version: int) -> None:
    """A key twice in one resource, or a resource twice in one request, gets INVALID_REQUEST (42),
    the resource for each time; nothing of it is changed, others are."""
    topic, other = wire.create_topic().name, wire.create_topic().name
    before = setting(wire, topic, "retention.ms")
    once, again = change("retention.ms", DAY_MS), change("retention.ms", "1000000")
    errors = alter(wire, version, {topic: [once, again], other: [once]})
    expect(errors, {topic: ErrorCode.INVALID_REQUEST, other: 0}, "errors of a key named twice")
    twice = [
        part(
            "IncrementalAlterConfigs",
            "AlterConfigsResource",
            resource_type=2,
            resource_name=topic,
            configs=[row],
        )
        for row in (once, again)
    ]
    answer = wire.call("IncrementalAlterConfigs", version, resources=twice)
    expect(
        [r.error_code for r in answer.responses],
        [ErrorCode.INVALID_REQUEST] * 2,
        "errors of a topic named twice",
    )
    wait_for(wire, other, "retention.ms", DAY_MS)
    expect(setting(wire, topic, "retention.ms"), before, "(value, source) afterwards")


@pytest.mark.parametrize(
    "bad", [("retention.ms", "a week"), ("no.such.key", "1")], ids=["bad-value", "unknown-key"]
)
@case("CONF-12", "IncrementalAlterConfigs", spec="class ConfigurationControlManager")
def test_a_bad_configuration_changes_nothing(
    wire: Wire, version: int, bad: tuple[str, str]
) -> None:
    """An invalid value, or a key that does not exist, gets INVALID_CONFIG (40), and no key of its
    topic is changed; another topic in the same request is changed."""
    topic, other = wire.create_topic().name, wire.create_topic().name
    before = setting(wire, topic, "segment.bytes")
    good = change("segment.bytes", "2000000")
    errors = alter(wire, version, {topic: [good, change(*bad)], other: [good]})
    expect(errors, {topic: ErrorCode.INVALID_CONFIG, other: 0}, "errors")
    wait_for(wire, other, "segment.bytes", "2000000")
    expect(setting(wire, topic, "segment.bytes"), before, "the good change beside the bad one")


@case("CONF-13", "IncrementalAlterConfigs", spec=ALTER + ", ValidateOnly", priority="P1")
def test_validation_alone_changes_nothing(wire: Wire, version: int) -> None:
    """With validate_only a good change gets NONE and a bad one INVALID_CONFIG (40); neither is
    made."""
    topic = wire.create_topic().name
    before = setting(wire, topic, "retention.ms")
    good = alter(wire, version, {topic: [change("retention.ms", DAY_MS)]}, validate_only=True)
    bad = alter(wire, version, {topic: [change("retention.ms", "x")]}, validate_only=True)
    expect([good, bad], [{topic: 0}, {topic: ErrorCode.INVALID_CONFIG}], "errors")
    # A change made after them is there: by then theirs would be, too.
    alter(wire, version, {topic: [change("segment.bytes", "2000000")]})
    wait_for(wire, topic, "segment.bytes", "2000000")
    expect(setting(wire, topic, "retention.ms"), before, "(value, source) afterwards")


@case("CONF-15", "IncrementalAlterConfigs", spec="class ConfigurationControlManager", priority="P1")
def test_a_topic_that_does_not_exist_is_not_configured(wire: Wire, version: int) -> None:
    """A change of a topic that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3)."""
    topic = wire.new_name()
    errors = alter(wire, version, {topic: [change("retention.ms", DAY_MS)]})
    expect(errors, {topic: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}, "errors")
    expect(
        wire.topic_metadata(topic).error_code,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "Metadata error of the topic",
    )
