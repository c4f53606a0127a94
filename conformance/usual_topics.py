"""The settings of topics that cases take for granted, whatever the defaults of the brokers."""

from __future__ import annotations

from conformance.brokers import Brokers
from conformance.connection import part

UNBOUNDED = str((1 << 63) - 1)
USUAL_OF_TOPICS = {
    "cleanup.policy": ("log.cleanup.policy", "delete"),
    "compression.type": ("compression.type", "producer"),
    "max.message.bytes": ("message.max.bytes", "1048588"),
    # No bound, since the clock of the broker may be hours from the one that stamps the records.
    "message.timestamp.after.max.ms": ("log.message.timestamp.after.max.ms", UNBOUNDED),
    "message.timestamp.before.max.ms": ("log.message.timestamp.before.max.ms", UNBOUNDED),
    "message.timestamp.type": ("log.message.timestamp.type", "CreateTime"),
    "min.insync.replicas": ("min.insync.replicas", "1"),
    "retention.bytes": ("log.retention.bytes", "-1"),
    "retention.ms": ("log.retention.ms", "604800000"),
    "segment.bytes": ("log.segment.bytes", "1073741824"),
}
"""Topic setting -> (the broker setting that gives its default, the value that cases assume)."""
_DEFAULTS: dict[tuple[str, int], dict[str, str | None]] = {}


def usual_configs(brokers: Brokers) -> dict[str, str]:
    """Return the topic settings that undo unusual defaults of the broker, since cases compare the
    bytes and timestamps that they sent, or none if the broker tells no defaults."""
    told = _told_defaults(brokers)
    return {
        key: usual
        for key, (of_broker, usual) in USUAL_OF_TOPICS.items()
        if told.get(of_broker) not in (None, usual)
    }


def _told_defaults(brokers: Brokers) -> dict[str, str | None]:
    """Return the broker settings that give topics their defaults, as the broker with the lowest id
    tells them ({} if it does not serve DescribeConfigs). They are requested once per address."""
    address = brokers.addresses[0]
    if "DescribeConfigs" not in brokers.advertised:
        return {}
    if address not in _DEFAULTS:
        node_id = min(brokers.brokers())
        resource = part(
            "DescribeConfigs",
            "DescribeConfigsResource",
            resource_type=4,
            resource_name=str(node_id),
            configuration_keys=[key for key, _ in USUAL_OF_TOPICS.values()],
        )
        version = brokers.version("DescribeConfigs")
        answer = brokers.broker(node_id).call("DescribeConfigs", version, resources=[resource])
        _DEFAULTS[address] = {c.name: c.value for r in answer.results for c in r.configs}
    return _DEFAULTS[address]
