"""The configuration in force for a topic or a broker, and where each value comes from. Source:
KIP-226 (sources, synonyms)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, dropwhile

from reference_impl.core.configs.broker import KNOWN_CONFIGS
from reference_impl.core.configs.client_metrics import CLIENT_METRICS_CONFIGS
from reference_impl.core.configs.documentation import DOCUMENTATION
from reference_impl.core.configs.dynamic import ALL_BROKERS, DYNAMIC, key_of_broker
from reference_impl.core.configs.group import GROUP_CONFIGS
from reference_impl.core.configs.idle import IDLE_THROTTLES, NOTE, WITHOUT_EFFECT
from reference_impl.core.configs.keys import SECRETS, ConfigKey
from reference_impl.core.configs.topic import TOPIC_CONFIGS
from reference_impl.core.requests.role import Role


class ConfigSource(IntEnum):
    """The source of a value (DescribeConfigsResponse.ConfigSource)."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    CLIENT_METRICS = 7
    GROUP = 8


@dataclass(frozen=True)
class Synonym:
    """A setting that would be in force if the synonyms before it were not set."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True)
class ConfigEntry:
    """One key, its value, and where the value comes from."""

    key: ConfigKey
    value: str | None
    synonyms: tuple[Synonym, ...]
    is_read_only: bool = False

    @property
    def source(self) -> ConfigSource:
        """Return the source of the value in force. Kafka answers DEFAULT for a key without
        synonyms."""
        return self.synonyms[0].source if self.synonyms else ConfigSource.DEFAULT

    @property
    def is_sensitive(self) -> bool:
        """Return whether the value must be hidden: a password, or the value of a key that Kafka
        does not know."""
        return self.key.type in SECRETS

    @property
    def documentation(self) -> str | None:
        """The purpose of the key, in a sentence (KIP-569), or None if there is none."""
        if self.key.name in WITHOUT_EFFECT or self.key.name in IDLE_THROTTLES:
            return NOTE
        return DOCUMENTATION.get(self.key.name)


Names = frozenset[str]
ALL: Names = frozenset()
"""Given instead of names of keys, it means every key of the resource."""


def chosen(names: Names, *tables: Iterable[str]) -> list[str]:
    """Return the keys of these tables that have one of the names, sorted, or all keys if no names
    are given. A client may name one key of each of many thousand resources, so look at no
    others."""
    if not names:
        return sorted({*chain(*tables)})
    return sorted(name for name in names if any(name in table for table in tables))


def topic_entries(
    role: Role, overrides: Mapping[str, str], names: Names = ALL
) -> Iterator[ConfigEntry]:
    """Yield the entry of each key of a topic with these overrides, or of those with the given
    names, in the order of their names."""
    in_force = {**role.config.topic_defaults, **overrides}
    for key in map(TOPIC_CONFIGS.__getitem__, chosen(names, TOPIC_CONFIGS)):
        synonyms = []
        if key.name in overrides:
            synonyms.append(Synonym(key.name, overrides[key.name], ConfigSource.TOPIC))
        if key.synonym is not None:
            synonyms += broker_synonyms(role, key.synonym)
        yield ConfigEntry(key, in_force.get(key.name), tuple(synonyms))


def group_entries(role: Role, overrides: Mapping[str, str], names: Names) -> Iterator[ConfigEntry]:
    """Yield the entry of each key of a group with these overrides, or of those with the given
    names, in the order of their names."""
    for key in map(GROUP_CONFIGS.__getitem__, chosen(names, GROUP_CONFIGS)):
        synonyms = []
        if key.name in overrides:
            synonyms.append(Synonym(key.name, overrides[key.name], ConfigSource.GROUP))
        synonyms += broker_synonyms(role, key.synonym or key.name)
        yield ConfigEntry(key, synonyms[0].value, tuple(synonyms))


def client_metrics_entries(overrides: Mapping[str, str], names: Names) -> Iterator[ConfigEntry]:
    """Yield the entry of each key of a subscription to clients' metrics, or of those with the given
    names, in the order of their names (KIP-714)."""
    for key in map(CLIENT_METRICS_CONFIGS.__getitem__, chosen(names, CLIENT_METRICS_CONFIGS)):
        own = overrides.get(key.name)
        found = Synonym(key.name, own, ConfigSource.CLIENT_METRICS)
        yield ConfigEntry(key, key.default if own is None else own, (found,) if own else ())


INTERNAL = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "group.consumer.assignor.offload.enable",
        "group.consumer.regex.refresh.interval.ms",
        "log.initial.task.delay.ms",
        "producer.id.expiration.check.interval.ms",
        "super.users",
        "unclean.leader.election.interval.ms",
    }
)
"""Keys that Kafka describes only where they are set: for its tests, or the authorizer's."""


def broker_entries(role: Role, names: Names) -> Iterator[ConfigEntry]:
    """Yield the entry of each key of the broker, or of those with the given names, in the order of
    their names; Kafka's internal keys only if they are set."""
    given = role.config.given
    for name in chosen(names, KNOWN_CONFIGS, given):
        if name in INTERNAL and name not in given:
            continue
        key = key_of_broker(name)
        value = given.get(name, key.default)
        synonyms = tuple(broker_synonyms(role, key.name))
        yield ConfigEntry(key, value, synonyms, key.name not in DYNAMIC)


def entries_for_all_brokers(role: Role, names: Names) -> Iterator[ConfigEntry]:
    """Yield the entry of each key that was set for all brokers while they ran, or of those with the
    given names, and no others."""
    overrides = role.image.configs_of_broker(ALL_BROKERS)
    for name in chosen(names, overrides):
        value = overrides[name]
        synonym = Synonym(name, value, ConfigSource.ALL_BROKERS)
        yield ConfigEntry(key_of_broker(name), value, (synonym,), name not in DYNAMIC)


_FAMILIES = (
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.roll.ms", "log.roll.hours"),
)
"""The names of one setting in several units. The first, which has the finest unit, overrides the
others."""
_FAMILY_OF = {name: family for family in _FAMILIES for name in family[:1]}


def broker_synonyms(role: Role, name: str) -> list[Synonym]:
    """Return every value that the broker has for a key, or for the same setting in a coarser unit,
    the strongest first. A coarser unit that is stronger than the key's own value is left out
    (ConfigHelper.java)."""
    names = _FAMILY_OF.get(name, (name,))
    layers = (
        (ConfigSource.BROKER, role.image.configs_of_broker(str(role.node_id))),
        (ConfigSource.ALL_BROKERS, role.image.configs_of_broker(ALL_BROKERS)),
        (ConfigSource.STATIC_BROKER, role.started_with.given),
        (ConfigSource.DEFAULT, _DEFAULTS),
    )
    found = [
        Synonym(each, layer[each], source)
        for source, layer in layers
        for each in names
        if each in layer
    ]
    return list(dropwhile(lambda synonym: synonym.name != name, found))


_DEFAULTS = {key.name: key.default for key in KNOWN_CONFIGS.values() if key.default is not None}
