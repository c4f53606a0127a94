"""The quotas of users and clients, as the metadata log records them.

Source: KIP-546; ClientQuotaRecord; ClientQuotaControlManager.java, ClientQuotasImage.java.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reference_impl.wire import Struct, definition

USER, CLIENT_ID, IP = "user", "client-id", "ip"
Entity = tuple[tuple[str, str | None], ...]
"""(type, name) in the order of the types; the name None is the default of the type."""


def entity_of(names: Mapping[str, str | None]) -> Entity:
    """Return the entity that these names describe: type -> name, where None is the default of the
    type."""
    return tuple(sorted(names.items()))


class ClientQuotas:
    """The quotas of users, client ids and IP addresses: entity -> key -> value."""

    def __init__(self) -> None:
        self._by_entity: dict[Entity, dict[str, float]] = {}
        self.version = 0
        """A number that grows with every change, so that remembered limits can be refreshed."""

    def __iter__(self) -> Iterator[tuple[Entity, Mapping[str, float]]]:
        return iter(self._by_entity.items())

    def of(self, entity: Entity) -> Mapping[str, float]:
        """Return the quotas of exactly this entity, by key; an empty mapping if it has none."""
        return self._by_entity.get(entity, {})

    def has(self, key: str) -> bool:
        """Return whether any entity has a quota with this key, such as `producer_byte_rate`."""
        return any(key in quotas for quotas in self._by_entity.values())

    def apply(self, record: Struct) -> None:
        """Apply a ClientQuotaRecord: set or remove one quota of an entity, and raise `version`."""
        self.version += 1
        entity = entity_of({row.entity_type: row.entity_name for row in record.entity})
        quotas = self._by_entity.setdefault(entity, {})
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if not quotas:
            del self._by_entity[entity]


def quota_record(entity: Entity, key: str, value: float | None) -> Struct:
    """Return the record that sets a quota of an entity, or (None) removes it."""
    of = definition("ClientQuotaRecord")
    names = [of.struct("EntityData", entity_type=kind, entity_name=name) for kind, name in entity]
    return of.new(entity=names, key=key, value=value or 0.0, remove=value is None)
