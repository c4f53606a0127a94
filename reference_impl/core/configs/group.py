"""The configuration keys of one consumer group, which go before those of the broker.

Source: GroupConfig.java; KIP-848 (group resource of the config APIs). A group may be configured
before it exists. Kafka's table also has the keys of share and streams groups.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.keys import BadConfig, ConfigKey, ConfigType, check_all, table

GROUP_CONFIGS = table(
    *(
        ConfigKey(name, ConfigType.INT, default, at_least, synonym=f"group.{name}")
        for name, default, at_least in (
            ("consumer.assignment.interval.ms", "1000", 0),
            ("consumer.heartbeat.interval.ms", "5000", 1),
            ("consumer.session.timeout.ms", "45000", 1),
        )
    )
)


def bounds_of(config: BrokerConfig, name: str) -> tuple[str, str]:
    """Return the names of the broker's keys that bound a group's key: (lower, upper)."""
    kind, _, period = name.partition(".")
    return f"group.{kind}.min.{period}", f"group.{kind}.max.{period}"


def check_group_configs(config: BrokerConfig, overrides: Mapping[str, str]) -> None:
    """Raise BadConfig unless a group may have these settings: known keys, within the bounds that
    the broker's configuration sets."""
    check_all(GROUP_CONFIGS, overrides, "group")
    for name, text in overrides.items():
        low, high = bounds_of(config, name)
        if int(text) < config.number(low):
            raise BadConfig(f"{name} must be greater than or equal to {low}")
        if int(text) > config.number(high):
            raise BadConfig(f"{name} must be less than or equal to {high}")


def group_setting(config: BrokerConfig, overrides: Mapping[str, str], name: str) -> int:
    """Return the value in force for a group: its own, limited by the broker's current bounds, or
    else the broker's."""
    if name not in overrides:
        return config.number(f"group.{name}")
    low, high = (config.number(bound) for bound in bounds_of(config, name))
    return min(max(int(overrides[name]), low), high)
