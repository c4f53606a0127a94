"""Every configuration key of a topic. Source: LogConfig.java, TopicConfig.java (4.3)."""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.configs.keys import (
    INT_MAX,
    LONG_MAX,
    BadConfig,
    ConfigKey,
    ConfigType,
    check_all,
    table,
)

_B, _S, _I, _L = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_D, _LIST = ConfigType.DOUBLE, ConfigType.LIST
_CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
_HOUR_MS, _DAY_MS = 3_600_000, 86_400_000
_PARTITION_BROKER = r"\d+:\d+"

TOPIC_CONFIGS = table(
    ConfigKey(
        "cleanup.policy", _LIST, "delete", None, None, ("compact", "delete"), "log.cleanup.policy"
    ),
    ConfigKey("compression.gzip.level", _I, "-1", 1, 9, ("-1",), "compression.gzip.level"),
    ConfigKey("compression.lz4.level", _I, "9", 1, 17, None, "compression.lz4.level"),
    ConfigKey("compression.type", _S, "producer", None, None, _CODECS, "compression.type"),
    ConfigKey("compression.zstd.level", _I, "3", -131072, 22, None, "compression.zstd.level"),
    ConfigKey(
        "delete.retention.ms", _L, str(_DAY_MS), 0, None, None, "log.cleaner.delete.retention.ms"
    ),
    ConfigKey("file.delete.delay.ms", _L, "60000", 0, None, None, "log.segment.delete.delay.ms"),
    ConfigKey("flush.messages", _L, str(LONG_MAX), 1, None, None, "log.flush.interval.messages"),
    ConfigKey("flush.ms", _L, str(LONG_MAX), 0, None, None, "log.flush.interval.ms"),
    ConfigKey("follower.replication.throttled.replicas", _LIST, "", item_form=_PARTITION_BROKER),
    ConfigKey("index.interval.bytes", _I, "4096", 0, None, None, "log.index.interval.bytes"),
    ConfigKey("leader.replication.throttled.replicas", _LIST, "", item_form=_PARTITION_BROKER),
    ConfigKey("local.retention.bytes", _L, "-2", -2, None, None, "log.local.retention.bytes"),
    ConfigKey("local.retention.ms", _L, "-2", -2, None, None, "log.local.retention.ms"),
    ConfigKey(
        "max.compaction.lag.ms",
        _L,
        str(LONG_MAX),
        1,
        None,
        None,
        "log.cleaner.max.compaction.lag.ms",
    ),
    ConfigKey("max.message.bytes", _I, "1048588", 0, None, None, "message.max.bytes"),
    ConfigKey(
        "message.timestamp.after.max.ms",
        _L,
        str(_HOUR_MS),
        0,
        None,
        None,
        "log.message.timestamp.after.max.ms",
    ),
    ConfigKey(
        "message.timestamp.before.max.ms",
        _L,
        str(LONG_MAX),
        0,
        None,
        None,
        "log.message.timestamp.before.max.ms",
    ),
    ConfigKey(
        "message.timestamp.type",
        _S,
        "CreateTime",
        None,
        None,
        ("CreateTime", "LogAppendTime"),
        "log.message.timestamp.type",
    ),
    ConfigKey(
        "min.cleanable.dirty.ratio", _D, "0.5", 0, 1, None, "log.cleaner.min.cleanable.ratio"
    ),
    ConfigKey("min.compaction.lag.ms", _L, "0", 0, None, None, "log.cleaner.min.compaction.lag.ms"),
    ConfigKey("min.insync.replicas", _I, "1", 1, None, None, "min.insync.replicas"),
    ConfigKey("preallocate", _B, "false", None, None, None, "log.preallocate"),
    ConfigKey("remote.log.copy.disable", _B, "false"),
    ConfigKey("remote.log.delete.on.disable", _B, "false"),
    ConfigKey("remote.storage.enable", _B, "false"),
    ConfigKey("retention.bytes", _L, "-1", None, None, None, "log.retention.bytes"),
    ConfigKey("retention.ms", _L, str(7 * _DAY_MS), -1, None, None, "log.retention.ms"),
    ConfigKey("segment.bytes", _I, "1073741824", 1024 * 1024, INT_MAX, None, "log.segment.bytes"),
    ConfigKey("segment.index.bytes", _I, "10485760", 4, None, None, "log.index.size.max.bytes"),
    ConfigKey("segment.jitter.ms", _L, "0", 0, None, None, "log.roll.jitter.ms"),
    ConfigKey("segment.ms", _L, str(7 * _DAY_MS), 1, None, None, "log.roll.ms"),
    ConfigKey(
        "unclean.leader.election.enable",
        _B,
        "false",
        None,
        None,
        None,
        "unclean.leader.election.enable",
    ),
)

INTERNAL_SEGMENT_BYTES = ConfigKey("internal.segment.bytes", _I, None, 1)
"""Kafka's own back door for tests that need segments under 1 MiB; accepted, never described."""

_SETTABLE = {**TOPIC_CONFIGS, INTERNAL_SEGMENT_BYTES.name: INTERNAL_SEGMENT_BYTES}


def check_topic_configs(overrides: Mapping[str, str], defaults: Mapping[str, str]) -> None:
    """Raise BadConfig unless a topic may have these overrides over the defaults in force now
    (LogConfig.validate). The defaults may change later: only a change of the topic is checked."""
    check_all(_SETTABLE, overrides, "topic")
    in_force = {**defaults, **overrides}
    least, most = in_force["min.compaction.lag.ms"], in_force["max.compaction.lag.ms"]
    if int(least) > int(most):
        raise BadConfig(
            f"conflict topic config setting min.compaction.lag.ms ({least}) >"
            f" max.compaction.lag.ms ({most})"
        )
    if overrides.get("remote.storage.enable", "").strip().lower() == "true":
        raise BadConfig("remote.storage.enable=true: this broker has no tiered storage")


def defaults_from(broker: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration of a topic without overrides, under a broker with these settings,
    which need not have every key."""
    found = {}
    for key in TOPIC_CONFIGS.values():
        if key.synonym is not None and key.synonym in broker:
            found[key.name] = broker[key.synonym]
        elif key.default is not None:
            found[key.name] = key.default
    for broker_name, topic_name, unit_ms in _COARSER_UNITS:
        if broker_name in broker and TOPIC_CONFIGS[topic_name].synonym not in broker:
            hours_or_minutes = int(broker[broker_name])
            found[topic_name] = str(max(-1, hours_or_minutes * unit_ms))
    return found


# AbstractKafkaConfig: milliseconds win over minutes, minutes over hours (later rows win here).
_COARSER_UNITS = (
    ("log.retention.hours", "retention.ms", _HOUR_MS),
    ("log.retention.minutes", "retention.ms", 60_000),
    ("log.roll.hours", "segment.ms", _HOUR_MS),
    ("log.roll.jitter.hours", "segment.jitter.ms", _HOUR_MS),
)
