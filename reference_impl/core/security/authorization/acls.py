"""Access control lists: one entry, the filter that finds entries, and all entries of the cluster.

Source: AccessControlEntryRecord.json (KIP-801); StandardAcl.java, AclBindingFilter.java,
ResourcePatternFilter.java; KIP-290 (PREFIXED patterns).
"""

from __future__ import annotations

from collections import Counter
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
    """Return the enum's member with this code, or UNKNOWN for a code that only newer clients
    know."""
    return kind(code) if code in kind._value2member_map_ else kind(0)


@dataclass(frozen=True, slots=True)
class Acl:
    """One entry: it allows or denies an operation to a principal from a host, on the resources that
    its pattern matches."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: AclPermissionType

    @classmethod
    def from_record(cls, record: Struct) -> Acl:
        """Build an entry from its record in the metadata log."""
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
        """Return the metadata record that adds this entry."""
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
        """Return whether the entry applies to this client: its principal and host, or their
        wildcards."""
        return self.principal in (principal, WILDCARD_PRINCIPAL) and self.host in (host, WILDCARD)


@dataclass(frozen=True, slots=True)
class AclFilter:
    """A filter of entries; None and ANY match everything."""

    resource_type: ResourceType
    resource_name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: AclOperation
    permission: AclPermissionType

    @classmethod
    def from_request(cls, body: Struct) -> AclFilter:
        """Build the filter of a DescribeAcls, or one of a DeleteAcls."""
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
        """Return whether the filter contains a code that this broker does not know."""
        kinds = (self.resource_type, self.pattern_type, self.operation, self.permission)
        return any(kind == 0 for kind in kinds)

    def matches(self, acl: Acl) -> bool:
        """Return whether the filter matches this entry."""
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
    """Return whether the resource pattern of an entry matches this name. The type of resource is
    not compared."""
    if acl.pattern_type is PatternType.PREFIXED:
        return resource_name.startswith(acl.resource_name)
    return acl.resource_name in (resource_name, WILDCARD)


class Acls:
    """All entries: by id for the metadata log, and by resource pattern for permission checks."""

    def __init__(self) -> None:
        self.by_id: dict[UUID, Acl] = {}
        self._by_pattern: dict[tuple[ResourceType, PatternType], dict[str, set[Acl]]] = {}
        self._prefix_lengths: dict[ResourceType, Counter[int]] = {}
        """Resource type -> length -> the number of PREFIXED patterns of that length."""

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._named(acl).get(acl.resource_name, ())

    def add(self, id: UUID, acl: Acl) -> None:
        """Add an entry under the id of its record in the metadata log."""
        self.by_id[id] = acl
        named = self._named(acl)
        if acl.resource_name not in named:
            named[acl.resource_name] = set()
            if acl.pattern_type is PatternType.PREFIXED:
                self._lengths(acl)[len(acl.resource_name)] += 1
        named[acl.resource_name].add(acl)

    def remove(self, id: UUID) -> None:
        """Remove the entry with this id. Raise KeyError if there is none."""
        acl = self.by_id.pop(id)
        named = self._named(acl)
        named[acl.resource_name].remove(acl)
        if not named[acl.resource_name]:
            del named[acl.resource_name]
            if acl.pattern_type is PatternType.PREFIXED:
                lengths = self._lengths(acl)
                lengths[len(acl.resource_name)] -= 1
                self._prefix_lengths[acl.resource_type] = +lengths

    def of_type(self, resource_type: ResourceType) -> Iterator[Acl]:
        """Yield every entry about resources of a type."""
        return (acl for acl in self.by_id.values() if acl.resource_type is resource_type)

    def covering(self, resource_type: ResourceType, name: str) -> Iterator[Acl]:
        """Yield every entry, of any principal, whose pattern matches this resource. It takes as
        many look-ups as PREFIXED patterns have lengths, however long the name is."""
        literal = self._by_pattern.get((resource_type, PatternType.LITERAL), _NONE)
        for literally in (name, WILDCARD):
            yield from literal.get(literally, ())
        prefixed = self._by_pattern.get((resource_type, PatternType.PREFIXED), _NONE)
        for length in self._prefix_lengths.get(resource_type, ()):
            if length <= len(name):
                yield from prefixed.get(name[:length], ())

    def _named(self, acl: Acl) -> dict[str, set[Acl]]:
        return self._by_pattern.setdefault((acl.resource_type, acl.pattern_type), {})

    def _lengths(self, acl: Acl) -> Counter[int]:
        return self._prefix_lengths.setdefault(acl.resource_type, Counter())


_NONE: dict[str, set[Acl]] = {}
