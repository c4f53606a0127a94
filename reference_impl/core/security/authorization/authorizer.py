"""Authorize operations by the rules of Kafka's standard authorizer.

    1. A super user may do everything.
    2. An entry that denies beats every entry that allows, whatever their patterns.
    3. An entry that allows the operation, or one that implies it, allows.
    4. Where entries cover the resource, but none of them allows, the answer is no.
    5. Where no entry covers the resource, `allow.everyone.if.no.acl.found` decides; by default no.

Source: StandardAuthorizerData.java (authorize, findResult); KIP-11, KIP-801.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from reference_impl.core.security.authorization.acls import Acl, Acls
from reference_impl.wire.acls import (
    WILDCARD,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

IMPLIED_BY: dict[AclOperation, frozenset[AclOperation]] = {
    AclOperation.DESCRIBE: frozenset(
        {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS}),
}
"""Operation -> the operations that imply it when they are allowed. A denied operation implies
nothing: denying READ does not deny DESCRIBE."""


@dataclass(frozen=True)
class Authorizer:
    """Decides by the entries that exist at the moment of the check."""

    acls: Acls
    super_users: frozenset[str]
    allows_if_no_acl_found: bool = False

    def allows(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str,
    ) -> bool:
        """Return whether this principal, connected from this host, may do this to this resource."""
        if principal in self.super_users:
            return True
        is_covered = is_allowed = False
        for acl in self.acls.covering(resource_type, name):
            is_covered = True
            if not acl.is_about(principal, host):
                continue
            if acl.permission is AclPermissionType.ALLOW:
                is_allowed = is_allowed or permits(acl, operation)
            elif acl.operation in (operation, AclOperation.ALL):
                return False
        return is_allowed or (not is_covered and self.allows_if_no_acl_found)

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Return whether the principal may do this to at least one possible resource of this type,
        whether or not such a resource exists. Source: Authorizer.java, authorizeByResourceType
        (KIP-679). Implied operations count only in entries that match all names, or the name
        "hardcode"."""
        # Try some name: super users, and all users without ACLs, are allowed any name.
        if self.allows(principal, host, operation, resource_type, "hardcode"):
            return True
        concerned = [
            acl
            for acl in self.acls.of_type(resource_type)
            if acl.is_about(principal, host) and acl.operation in (operation, AclOperation.ALL)
        ]
        denied = _Denied(acl for acl in concerned if acl.permission is AclPermissionType.DENY)
        if WILDCARD in denied.names:
            return False
        return any(
            acl.permission is AclPermissionType.ALLOW and not denied.dominates(acl)
            for acl in concerned
        )


def permits(acl: Acl, operation: AclOperation) -> bool:
    """Return whether an allowing entry permits this operation, directly or by implication."""
    return acl.operation in (operation, AclOperation.ALL) or acl.operation in IMPLIED_BY.get(
        operation, ()
    )


class _Denied:
    """The names and prefixes of resources that a set of denying entries matches."""

    def __init__(self, acls: Iterable[Acl]) -> None:
        prefixes: list[str] = []
        self.names: set[str] = set()
        for acl in acls:
            if acl.pattern_type is PatternType.PREFIXED:
                prefixes.append(acl.resource_name)
            else:
                self.names.add(acl.resource_name)
        self._prefixes: list[str] = []
        """The denied prefixes in ascending order. None begins with another one, so only the last
        one that is not greater than a name can be a prefix of it."""
        for prefix in sorted(prefixes):
            if not self._prefixes or not prefix.startswith(self._prefixes[-1]):
                self._prefixes.append(prefix)

    def dominates(self, allowed: Acl) -> bool:
        """Return whether every name that an allowing entry matches is denied."""
        name = allowed.resource_name
        if allowed.pattern_type is PatternType.LITERAL:
            if name == WILDCARD:
                return False
            if name in self.names:
                return True
        place = bisect_right(self._prefixes, name)
        return place > 0 and name.startswith(self._prefixes[place - 1])
