"""The configuration of groups: the broker's keys, overridden by those of a single group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.group import group_setting
from reference_impl.core.configs.keys import split_list
from reference_impl.core.controller.features import GROUPS
from reference_impl.core.controller.image.metadata_image import MetadataImage
from reference_impl.core.moment import Moment
from reference_impl.core.rules import Rules
from reference_impl.core.security.authorization.access import Access


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts of a broker that all its group coordinators use."""

    image: MetadataImage
    moment: Moment
    rules: Rules
    settings: GroupSettings
    access: Access


class GroupSettings:
    """Reads configuration values as they are in force now, except those that Kafka reads only at
    the start."""

    def __init__(self, config: Callable[[], BrokerConfig], image: MetadataImage) -> None:
        self._config, self._image = config, image
        self.initial_delay_ms = self.number("group.initial.rebalance.delay.ms")
        self.group_size_max = self.number("group.max.size")

    def number(self, name: str) -> int:
        """Return a number of the broker's configuration in force."""
        return self._config().number(name)

    @property
    def migration_policy(self) -> str:
        """The value of group.consumer.migration.policy: which changes of protocol are allowed to a
        group with members."""
        return self._config().text("group.consumer.migration.policy").lower()

    @property
    def serves_consumer_groups(self) -> bool:
        """Return whether the consumer protocol is enabled (group.version,
        group.coordinator.rebalance.protocols)."""
        if self._image.features.get(GROUPS, 0) < 1:
            return False
        protocols = self._config().text("group.coordinator.rebalance.protocols")
        return "consumer" in split_list(protocols)

    @property
    def consumer_assignors(self) -> list[str]:
        """The assignors of consumer groups, the default first."""
        return split_list(self._config().text("group.consumer.assignors"))

    def of_group(self, group_id: str, name: str) -> int:
        """Return the number that the key `consumer.NAME` has for one consumer group: its own value,
        or else the broker's."""
        overrides = self._image.group_configs.get(group_id, {})
        return group_setting(self._config(), overrides, f"consumer.{name}")
