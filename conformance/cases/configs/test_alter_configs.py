"""AlterConfigs: the older request, which replaces all that was set (KIP-133)."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.configs.configs import TOPIC, Source, setting
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode

DAY_MS = "86400000"


def replace(
    wire: Wire, version: int, topic: str, config: dict[str, str], *, validate_only: bool = False
) -> int:
    """Send AlterConfigs for one topic; return its error code."""
    configs = [
        part("AlterConfigs", "AlterableConfig", name=key, value=value)
        for key, value in config.items()
    ]
    resource = part(
        "AlterConfigs",
        "AlterConfigsResource",
        resource_type=TOPIC,
        resource_name=topic,
        configs=configs,
    )
    answer = wire.call("AlterConfigs", version, resources=[resource], validate_only=validate_only)
    expect([r.resource_name for r in answer.responses], [topic], "resources in the answer")
    return int(answer.responses[0].error_code)


@case("CONF-14", "AlterConfigs", spec="KIP-133, AlterConfigs", priority="P1")
def test_what_is_not_named_becomes_the_default_again(wire: Wire, version: int) -> None:
    """AlterConfigs sets the named configurations of a topic and resets all others to their
    defaults."""
    default = setting(wire, wire.create_topic(with_defaults=True).name, "segment.bytes")
    topic = wire.create_topic(config={"segment.bytes": "2000000", "retention.ms": "1000000"}).name
    expect(replace(wire, version, topic, {"retention.ms": DAY_MS}), ErrorCode.NONE, "error")
    eventually(
        lambda: setting(wire, topic, "retention.ms"),
        lambda found: found == (DAY_MS, Source.DYNAMIC_TOPIC),
        "the new value",
    )
    expect(setting(wire, topic, "segment.bytes"), default, "(value, source) of what is not named")


@case("CONF-14", "AlterConfigs", spec="KIP-133, AlterConfigs", priority="P1")
def test_a_replacement_that_cannot_be_replaces_nothing(wire: Wire, version: int) -> None:
    """A bad value gets INVALID_CONFIG (40), a topic that does not exist UNKNOWN_TOPIC_OR_PARTITION
    (3), validate_only NONE; in each case the configurations stay as they were."""
    topic = wire.create_topic(config={"retention.ms": DAY_MS}).name
    errors = [
        replace(wire, version, topic, {"segment.bytes": "large"}),
        replace(wire, version, wire.new_name("missing"), {"segment.bytes": "2000000"}),
        replace(wire, version, topic, {"segment.bytes": "2000000"}, validate_only=True),
    ]
    expect(errors, [ErrorCode.INVALID_CONFIG, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0], "errors")
    # A change made after them is there: by then theirs would be, too.
    replace(wire, version, topic, {"retention.ms": DAY_MS, "flush.messages": "7"})
    eventually(
        lambda: setting(wire, topic, "flush.messages")[0],
        lambda found: found == "7",
        "the change after them",
    )
    expect(setting(wire, topic, "retention.ms"), (DAY_MS, Source.DYNAMIC_TOPIC), "what was set")
    expect(
        setting(wire, topic, "segment.bytes")[1] == Source.DYNAMIC_TOPIC,
        False,
        "segment.bytes is set",
    )
