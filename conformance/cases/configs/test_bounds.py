"""The bounds and the defaults of a topic's configurations, as Kafka documents them (docs,
topicconfigs; LogConfig.java)."""

from __future__ import annotations

from typing import NamedTuple

from conformance.case import case, each, expect
from conformance.cases.configs.configs import Source, alter, change, describe
from conformance.wire import Wire
from reference_impl.wire import ErrorCode

SPEC = "Kafka's documentation, topicconfigs: valid values and defaults; class LogConfig"


class Bounds(NamedTuple):
    """Values that a configuration can have and cannot have: those just inside and just outside of
    its bounds, if it has some."""

    inside: tuple[str, ...]
    outside: tuple[str, ...]


def at_least(low: int) -> Bounds:
    return Bounds((str(low),), (str(low - 1),))


def between(low: int, high: int) -> Bounds:
    return Bounds((str(low), str(high)), (str(low - 1), str(high + 1)))


THROTTLED = Bounds(("*", "", "0:1,1:2"), ("0-1", "first"))
BOUNDS = {
    "cleanup.policy": Bounds(("compact", "compact,delete"), ("shred",)),
    "compression.gzip.level": Bounds(("-1", "1", "9"), ("0", "10")),
    "compression.lz4.level": between(1, 17),
    "compression.type": Bounds(("uncompressed", "producer"), ("lzma", "")),
    "compression.zstd.level": between(-131072, 22),
    "delete.retention.ms": at_least(0),
    "file.delete.delay.ms": at_least(0),
    "flush.messages": at_least(1),
    "flush.ms": at_least(0),
    "follower.replication.throttled.replicas": THROTTLED,
    "index.interval.bytes": at_least(0),
    "leader.replication.throttled.replicas": THROTTLED,
    "local.retention.bytes": at_least(-2),
    "local.retention.ms": at_least(-2),
    "max.compaction.lag.ms": at_least(1),
    "max.message.bytes": at_least(0),
    "message.timestamp.after.max.ms": at_least(0),
    "message.timestamp.before.max.ms": at_least(0),
    "message.timestamp.type": Bounds(("CreateTime", "LogAppendTime"), ("ReadTime",)),
    "min.cleanable.dirty.ratio": Bounds(("0", "1"), ("-0.1", "1.1")),
    "min.compaction.lag.ms": at_least(0),
    "min.insync.replicas": at_least(1),
    "preallocate": Bounds(("true", "FALSE"), ("maybe",)),
    "retention.ms": at_least(-1),
    "segment.bytes": Bounds(("1048576", "2147483647"), ("1048575", "2147483648")),
    "segment.index.bytes": at_least(4),
    "segment.jitter.ms": at_least(0),
    "segment.ms": at_least(1),
}
LONGEST = str((1 << 63) - 1)
DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": LONGEST,
    "flush.ms": LONGEST,
    "index.interval.bytes": "4096",
    "max.compaction.lag.ms": LONGEST,
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": LONGEST,
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


@case("CONF-26", "IncrementalAlterConfigs", spec=SPEC, priority="P1")
def test_a_topic_configuration_is_accepted_up_to_its_bounds(wire: Wire, version: int) -> None:
    """Of each configuration of a topic that the broker has, the least and the largest value that
    Kafka documents, or each of those that it lists, are valid, and a value beyond them gets
    INVALID_CONFIG (40)."""
    topic = wire.create_topic().name
    known = {c.name for c in describe(wire, topic).configs}
    for key in each(sorted(known & BOUNDS.keys()), "configurations with documented bounds"):
        for values, error in (
            (BOUNDS[key].inside, ErrorCode.NONE),
            (BOUNDS[key].outside, ErrorCode.INVALID_CONFIG),
        ):
            for value in values:
                changes = {topic: [change(key, value)]}
                found = alter(wire, version, changes, validate_only=True)
                expect(found, {topic: error}, f"errors of {key}={value}")


@case("CONF-27", "DescribeConfigs", spec=SPEC, priority="P2")
def test_what_nobody_has_set_has_the_documented_default(wire: Wire, version: int) -> None:
    """A configuration of a topic that is described as a default (source 5), since neither the topic
    nor a broker has it, has the value that Kafka documents."""
    topic = wire.create_topic(with_defaults=True).name
    configs = describe(wire, topic, sorted(DEFAULTS), version).configs
    defaults = {c.name: c.value for c in configs if c.config_source == Source.DEFAULT}
    for key in each(sorted(defaults), "configurations that nobody has set"):
        expect(defaults[key], DEFAULTS[key], f"default of {key}")
