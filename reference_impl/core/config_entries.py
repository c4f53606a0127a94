"""What is in force for a topic or a broker, and why. Source: KIP-226 (sources, synonyms)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from reference_impl.core.broker_configs import BROKER_CONFIGS
from reference_impl.core.config_keys import ConfigKey
from reference_impl.core.controller.metadata_image import TopicImage
from reference_impl.core.topic_configs import TOPIC_CONFIGS

if TYPE_CHECKING:
    from reference_impl.core.broker import Broker


class ConfigSource(IntEnum):
    """Where a value comes from (DescribeConfigsResponse.ConfigSource)."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


@dataclass(frozen=True)
class Synonym:
    """A setting that would be in force if those before it were not."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True)
class ConfigEntry:
    """One key: `synonyms[0]` is in force."""

    key: ConfigKey
    value: str | None
    source: ConfigSource
    is_read_only: bool
    synonyms: tuple[Synonym, ...]


def topic_entries(broker: Broker, topic: TopicImage | None) -> Iterator[ConfigEntry]:
    """Every key of a topic, by name; None describes one without overrides."""
    overrides = topic.configs if topic is not None else {}
    in_force = broker.config.topic_defaults
    for key in TOPIC_CONFIGS.values():
        synonyms = []
        if key.name in overrides:
            synonyms.append(Synonym(key.name, overrides[key.name], ConfigSource.TOPIC))
        given = in_force.get(key.name)
        if key.synonym is not None:
            if given != key.default:
                synonyms.append(Synonym(key.synonym, given, ConfigSource.STATIC_BROKER))
            if BROKER_CONFIGS[key.synonym].default is not None:
                synonyms.append(Synonym(key.synonym, key.default, ConfigSource.DEFAULT))
        # A key without a synonym at the broker shows none, not even its default (ConfigHelper).
        value, source = key.default, ConfigSource.DEFAULT
        if synonyms:
            value, source = synonyms[0].value, synonyms[0].source
        yield ConfigEntry(key, value, source, False, tuple(synonyms))


def broker_entries(broker: Broker) -> Iterator[ConfigEntry]:
    """Every key of the broker, by name. None can be changed while it runs."""
    for key in BROKER_CONFIGS.values():
        synonyms = []
        if key.name in broker.config.given:
            value = broker.config.given[key.name]
            synonyms.append(Synonym(key.name, value, ConfigSource.STATIC_BROKER))
        if key.default is not None or not synonyms:
            synonyms.append(Synonym(key.name, key.default, ConfigSource.DEFAULT))
        first = synonyms[0]
        yield ConfigEntry(key, first.value, first.source, True, tuple(synonyms))
