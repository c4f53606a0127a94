"""The broker's keys that may be changed while it runs. Source: KIP-226; DynamicBrokerConfig.java.

Three layers override the defaults, the strongest first: values set for this broker, values set for
all brokers (resource name ""), and values with which the broker was started. The first two are
records of the metadata log, so that they survive a restart. Kafka can also change listeners and
their certificates; here they are read at the start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from reference_impl.core.configs.broker import KNOWN_CONFIGS, BrokerConfig
from reference_impl.core.configs.idle import ALTERABLE, IDLE_THROTTLES, WITHOUT_EFFECT
from reference_impl.core.configs.keys import (
    LONG_MAX,
    BadConfig,
    ConfigKey,
    ConfigType,
    split_list,
    table,
)
from reference_impl.core.configs.topic import TOPIC_CONFIGS
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.log.directories.cordoned import CORDONED
from reference_impl.core.security.listener_settings import PREFIX

ALL_BROKERS = ""
"""The name of the resource whose configuration all brokers have."""
MIN_INSYNC_REPLICAS = "min.insync.replicas"
THROTTLES = table(
    ConfigKey("follower.replication.throttled.rate", ConfigType.LONG, str(LONG_MAX), 0),
    ConfigKey("leader.replication.throttled.rate", ConfigType.LONG, str(LONG_MAX), 0),
    *IDLE_THROTTLES.values(),
)
"""Limits that tools set while they move replicas, described only where they are set. The first two
are in `core/quotas/replication.py` (KIP-73)."""

_DEFAULTS_OF_TOPICS = frozenset(key.synonym for key in TOPIC_CONFIGS.values() if key.synonym)
_OF_THE_BROKER = frozenset(
    {
        "background.threads",
        CORDONED,
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
        "max.connection.creation.rate",
        "max.connections",
        "max.connections.per.ip",
        "max.connections.per.ip.overrides",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "producer.id.expiration.ms",
        "transaction.partition.verification.enable",
    }
)
DYNAMIC = (
    (_DEFAULTS_OF_TOPICS | _OF_THE_BROKER | ALTERABLE) & KNOWN_CONFIGS.keys()
) | THROTTLES.keys()
_THREADS = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
"""The sizes of thread pools. One change may at most double or halve each
(DynamicThreadPool.java)."""


def config_in_force(started_with: BrokerConfig, image: MetadataImage, node_id: int) -> BrokerConfig:
    """Return the configuration in force: the settings of this broker override those of all brokers,
    which override the ones it was started with."""
    return started_with.under(
        image.configs_of_broker(ALL_BROKERS), image.configs_of_broker(str(node_id))
    )


def key_of_broker(name: str) -> ConfigKey:
    """Return the key of this name. One that Kafka does not know may belong to a plugin: its type is
    UNKNOWN, so that its value is hidden."""
    known = KNOWN_CONFIGS.get(name) or THROTTLES.get(name)
    return known or ConfigKey(name, ConfigType.UNKNOWN, None)


def check_dynamic(overrides: Mapping[str, str], in_force: BrokerConfig) -> None:
    """Raise BadConfig unless a running broker may get these settings: each can be changed while it
    runs, has a valid value, and changes no thread pool too much against the configuration in
    force."""
    fixed = sorted(
        name
        for name in overrides
        if name.startswith(PREFIX) or (name in KNOWN_CONFIGS and name not in DYNAMIC)
    )
    if fixed:
        idle = ", ".join(name for name in fixed if name in WITHOUT_EFFECT)
        advice = f"{idle}: without effect on this broker" if idle else "restart the broker"
        raise BadConfig(f"Cannot update these configs dynamically: {fixed}; {advice}")
    for name, text in overrides.items():
        key_of_broker(name).check(text)
    for name in _THREADS:
        if name in overrides:
            _check_threads(name, int(overrides[name]), in_force.number(name))
    _check_addresses(overrides.get("max.connections.per.ip.overrides", ""))


def _check_threads(name: str, wanted: int, current: int) -> None:
    """Raise BadConfig for a change that more than doubles or more than halves the size of a thread
    pool."""
    if wanted != current and (wanted < 1 or not current // 2 <= wanted <= current * 2):
        raise BadConfig(
            f"Dynamic thread count update validation failed for {name}={wanted}: it must be at"
            f" least 1, and between half and double the current value {current}"
        )


def _check_addresses(text: str) -> None:
    """Raise BadConfig unless each item is an address and a number of connections."""
    for item in split_list(text):
        if not re.fullmatch(r".+:\s*\d+", item):
            raise BadConfig(f"{item!r} in max.connections.per.ip.overrides is not ADDRESS:NUMBER")
