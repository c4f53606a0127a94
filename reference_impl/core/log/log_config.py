"""The configuration in force for one partition's log, typed. Source: LogConfig.java, the public
fields.

Keys, defaults and bounds are declared once, in `core/configs/topic.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from reference_impl.core.configs.keys import LONG_MAX, ConfigKey, ConfigType, split_list
from reference_impl.core.configs.topic import INTERNAL_SEGMENT_BYTES, TOPIC_CONFIGS
from reference_impl.wire import Compression


@dataclass(frozen=True)
class LogConfig:
    """The values in force for one partition; the fields are Kafka's names with `_` for `.`.

    Derived values are computed once, since every batch needs them several times.
    """

    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    index_interval_bytes: int = 4096
    internal_segment_bytes: int | None = None
    max_compaction_lag_ms: int = LONG_MAX
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    unclean_leader_election_enable: bool = False

    @classmethod
    def from_configs(cls, configs: Mapping[str, str]) -> LogConfig:
        """Return the configuration that these values, by Kafka's names, give over the defaults.

        The values were checked before they were committed. A committed record must always apply,
        so settings that contradict each other, such as a topic's max.compaction.lag.ms below a
        later default of min.compaction.lag.ms, are accepted here (LogConfig.fromProps).
        """
        values: dict[str, Any] = {}
        for field in fields(cls):
            name = field.name.replace("_", ".")
            if name in configs:
                values[field.name] = _typed(
                    TOPIC_CONFIGS.get(name, INTERNAL_SEGMENT_BYTES), configs[name]
                )
        return cls(**values)

    @cached_property
    def segment_size_max_bytes(self) -> int:
        """The size in bytes at which a segment is closed."""
        return self.internal_segment_bytes or self.segment_bytes

    def compression_level(self, codec: Compression) -> int | None:
        """Return the level at which a batch is recompressed (KIP-390), or None for codecs without
        levels."""
        return {
            Compression.GZIP: self.compression_gzip_level,
            Compression.LZ4: self.compression_lz4_level,
            Compression.ZSTD: self.compression_zstd_level,
        }.get(codec)

    @cached_property
    def segment_max_ms(self) -> int:
        """The age in milliseconds at which a segment is closed. In a compacted log it may be lower,
        since records must be cleaned in time (KIP-354; LogConfig.maxSegmentMs).
        """
        if self.is_compacted:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms

    @cached_property
    def is_deleted(self) -> bool:
        """Return whether old segments are deleted (cleanup.policy contains `delete`; both policies
        may be set, KIP-71)."""
        return "delete" in self.cleanup_policy

    @cached_property
    def is_compacted(self) -> bool:
        """Return whether the newest record of each key is kept for ever (cleanup.policy contains
        `compact`; design#compaction)."""
        return "compact" in self.cleanup_policy

    @cached_property
    def uses_log_append_time(self) -> bool:
        """Return whether the broker replaces the timestamps of batches by its own clock
        (message.timestamp.type; KIP-32)."""
        return self.message_timestamp_type == "LogAppendTime"


def _typed(key: ConfigKey, text: str) -> Any:
    """Convert a text, already checked, to the type of its key."""
    if key.type is ConfigType.BOOLEAN:
        return text.strip().lower() == "true"
    if key.type is ConfigType.LIST:
        return tuple(split_list(text))
    if key.type is ConfigType.DOUBLE:
        return float(text)
    if key.type is ConfigType.STRING:
        return text
    return int(text)
