"""Access control lists: one entry, the filter that finds entries, and all entries of the cluster.

Source: AccessControlEntryRecord.json (KIP-801); StandardAcl.java, AclBindingFilter.java,
ResourcePatternFilter.java; KIP-290 (PREFIXED patterns).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar
from uuid import UUID

from reference_impl.wire import Struct, definition
from reference_impl.wire.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

Code = TypeVar("Code", bound=IntEnum)


def named(kind: type[Code], code: int) -> Code:
    """The member with this code; UNKNOWN for one that a newer client may know."""
    return kind(code) if code in kind._value2member_map_ else kind(0)


@dataclass(frozen=True, slots=True)
class Acl:
    """One entry: who, from where, may or may not do what to the resources with such a name."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: AclPermissionType

    @classmethod
    def from_record(cls, record: Struct) -> Acl:
        """An entry of the metadata log."""
        return cls(
            named(ResourceType, record.resource_type),
            record.resource_name,
            named(PatternType, record.pattern_type),
            record.principal,
            record.host,
            named(AclOperation, record.operation),
            named(AclPermissionType, record.permission_type),
        )

    def to_record(self, id: UUID) -> Struct:
        """What the metadata log says when this entry comes."""
        return definition("AccessControlEntryRecord").new(
            id=id,
            resource_type=self.resource_type,
            resource_name=self.resource_name,
            pattern_type=self.pattern_type,
            principal=self.principal,
            host=self.host,
            operation=self.operation,
            permission_type=self.permission,
        )

    def is_about(self, principal: str, host: str) -> bool:
        """Whether the entry speaks of this client."""
        return self.principal in (principal, WILDCARD_PRINCIPAL) and self.host in (host, WILDCARD)


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which entries are meant; None and ANY stand for all."""

    resource_type: ResourceType
    resource_name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: AclOperation
    permission: AclPermissionType

    @classmethod
    def from_request(cls, body: Struct) -> AclFilter:
        """The filter of a DescribeAcls, or one of a DeleteAcls."""
        return cls(
            named(ResourceType, body.resource_type_filter),
            body.resource_name_filter,
            named(PatternType, body.pattern_type_filter),
            body.principal_filter,
            body.host_filter,
            named(AclOperation, body.operation),
            named(AclPermissionType, body.permission_type),
        )

    @property
    def is_unknown(self) -> bool:
        """Whether it asks for something that this broker has never heard of."""
        kinds = (self.resource_type, self.pattern_type, self.operation, self.permission)
        return any(kind == 0 for kind in kinds)

    def matches(self, acl: Acl) -> bool:
        """Whether this entry is meant."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._matches_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (AclOperation.ANY, acl.operation)
            and self.permission in (AclPermissionType.ANY, acl.permission)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.pattern_type is PatternType.MATCH:
            return self.resource_name is None or covers(acl, self.resource_name)
        same_type = self.pattern_type in (PatternType.ANY, acl.pattern_type)
        return same_type and self.resource_name in (None, acl.resource_name)


def covers(acl: Acl, resource_name: str) -> bool:
    """Whether the pattern of an entry is one for this name."""
    if acl.pattern_type is PatternType.PREFIXED:
        return resource_name.startswith(acl.resource_name)
    return acl.resource_name in (resource_name, WILDCARD)


class Acls:
    """All entries, by id for the metadata log and by pattern for questions."""

    def __init__(self) -> None:
        self.by_id: dict[UUID, Acl] = {}
        self._by_pattern: dict[tuple[ResourceType, PatternType, str], set[Acl]] = {}

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._with_pattern(acl.resource_type, acl.pattern_type, acl.resource_name)

    def add(self, id: UUID, acl: Acl) -> None:
        """An entry has come."""
        self.by_id[id] = acl
        key = (acl.resource_type, acl.pattern_type, acl.resource_name)
        self._by_pattern.setdefault(key, set()).add(acl)

    def remove(self, id: UUID) -> None:
        """An entry has gone."""
        acl = self.by_id.pop(id)
        key = (acl.resource_type, acl.pattern_type, acl.resource_name)
        self._by_pattern[key].remove(acl)
        if not self._by_pattern[key]:
            del self._by_pattern[key]

    def of_type(self, resource_type: ResourceType) -> Iterator[Acl]:
        """Every entry about resources of a type."""
        return (acl for acl in self.by_id.values() if acl.resource_type is resource_type)

    def covering(self, resource_type: ResourceType, name: str) -> Iterator[Acl]:
        """Every entry whose pattern is one for this resource.

        As many look-ups as the name has letters, however many entries there are.
        """
        for literal in (name, WILDCARD):
            yield from self._with_pattern(resource_type, PatternType.LITERAL, literal)
        for length in range(1, len(name) + 1):
            yield from self._with_pattern(resource_type, PatternType.PREFIXED, name[:length])

    def _with_pattern(
        self, resource_type: ResourceType, pattern_type: PatternType, name: str
    ) -> set[Acl] | frozenset[Acl]:
        return self._by_pattern.get((resource_type, pattern_type, name), _NONE)


_NONE: frozenset[Acl] = frozenset()
