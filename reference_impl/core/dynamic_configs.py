"""The broker's keys that may be changed while it runs. Source: KIP-226; DynamicBrokerConfig.java.

Three layers lie over the defaults, the strongest first: what was set for this broker, what was set
for all brokers (resource name ""), what the broker was started with. The first two are records of
the metadata log, so that they survive a restart. Kafka can also change listeners and their
certificates; here they are read at the start.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.broker_configs import KNOWN_CONFIGS
from reference_impl.core.config_keys import BadConfig, check_all
from reference_impl.core.idle_broker_configs import ALTERABLE
from reference_impl.core.topic_configs import TOPIC_CONFIGS

ALL_BROKERS = ""
"""The name of the resource whose configuration all brokers have."""

_DEFAULTS_OF_TOPICS = frozenset(key.synonym for key in TOPIC_CONFIGS.values() if key.synonym)
_OF_THE_BROKER = frozenset(
    {
        "background.threads",
        "group.consumer.assignment.interval.ms",
        "group.coordinator.cached.buffer.max.bytes",
        "group.share.assignment.interval.ms",
        "group.streams.assignment.interval.ms",
        "log.cleaner.backoff.ms",
        "log.cleaner.dedupe.buffer.size",
        "log.cleaner.io.buffer.load.factor",
        "log.cleaner.io.buffer.size",
        "log.cleaner.io.max.bytes.per.second",
        "log.cleaner.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "producer.id.expiration.ms",
        "transaction.partition.verification.enable",
    }
)
DYNAMIC = (_DEFAULTS_OF_TOPICS | _OF_THE_BROKER | ALTERABLE) & KNOWN_CONFIGS.keys()


def check_dynamic(overrides: Mapping[str, str]) -> None:
    """Raise BadConfig unless a running broker may have these."""
    fixed = sorted(name for name in overrides if name in KNOWN_CONFIGS and name not in DYNAMIC)
    if fixed:
        raise BadConfig(f"Cannot update these configs dynamically: {fixed}; restart the broker")
    check_all(KNOWN_CONFIGS, overrides, "broker")
