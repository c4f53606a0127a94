"""Check changes of ACLs, and write the records that create and delete them.

Source: AclApis.scala (handleCreateAcls), AclControlManager.java; KIP-140, KIP-801.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from uuid import UUID

from reference_impl.core.controller.controller import Controller
from reference_impl.core.refused import Refused
from reference_impl.core.requests.role import Role
from reference_impl.core.security.authorization.acls import Acl, AclFilter, named
from reference_impl.wire import ErrorCode, Struct, definition
from reference_impl.wire.acls import (
    CLUSTER_NAME,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

NOT_CREATED = {
    ResourceType: (ResourceType.UNKNOWN, ResourceType.ANY),
    PatternType: (PatternType.UNKNOWN, PatternType.ANY, PatternType.MATCH),
    AclOperation: (AclOperation.UNKNOWN, AclOperation.ANY),
    AclPermissionType: (AclPermissionType.UNKNOWN, AclPermissionType.ANY),
}
"""The codes that an entry cannot have: UNKNOWN, and the codes that only filters may use."""


_CODES = attrgetter("operation", "permission_type")
_CODES_OF_FILTER = attrgetter("resource_type_filter", "pattern_type_filter")
_CODES_OF_ACL = attrgetter("resource_type", "resource_pattern_type")


def names_unknown(wanted: Struct) -> bool:
    """Return whether an entry or a filter uses the code 0 (UNKNOWN). Kafka treats such a request as
    malformed and closes the connection, whereas it refuses codes that it does not know later, row
    by row (CreateAclsRequest.java, DescribeAclsRequest.java)."""
    of = _CODES_OF_ACL if hasattr(wanted, "resource_type") else _CODES_OF_FILTER
    return 0 in (*of(wanted), *_CODES(wanted))


def checked_acl(wanted: Struct) -> Acl:
    """Return the entry that a row of CreateAcls describes. Raise Refused(INVALID_REQUEST) if no
    entry can have its resource name, its types, its operation or its permission, or if its
    principal is not of the form TYPE:NAME."""
    acl = Acl(
        named(ResourceType, wanted.resource_type),
        wanted.resource_name,
        named(PatternType, wanted.resource_pattern_type),
        wanted.principal,
        wanted.host,
        named(AclOperation, wanted.operation),
        named(AclPermissionType, wanted.permission_type),
    )
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise _invalid("Invalid empty resource name")
    for kind in (acl.resource_type, acl.pattern_type, acl.operation, acl.permission):
        if kind in NOT_CREATED[type(kind)]:
            raise _invalid(f"Invalid {type(kind).__name__} {kind.name}")
    if ":" not in acl.principal:
        raise _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating the"
            " principal type from the principal name)"
        )
    return acl


def create_acls(controller: Controller, acls: Sequence[Acl]) -> None:
    """Add these entries to the cluster; existing ones stay as they are."""
    # DEDUPLICATE: entries with equal fields are the same entry.
    new = [acl for acl in dict.fromkeys(acls) if acl not in controller.image.acls]
    if new:
        controller.write([acl.to_record(controller.random_uuid()) for acl in new])


def check_filter(wanted: AclFilter) -> None:
    """Raise Refused(INVALID_REQUEST) if a filter of DeleteAcls names a type, operation or
    permission that this version does not know."""
    if wanted.is_unknown:
        raise _invalid("The filter asks for a type, an operation or a permission that is unknown.")


def delete_acls(controller: Controller, ids: Sequence[UUID]) -> None:
    """Remove the entries with these ids, each once even if several filters match it; pass over
    unknown ids."""
    removal = definition("RemoveAccessControlEntryRecord")
    left = [id for id in dict.fromkeys(ids) if id in controller.image.acls.by_id]
    if left:
        controller.write([removal.new(id=id) for id in left])


def check_enabled(role: Role) -> None:
    """Raise Refused(SECURITY_DISABLED) if no authorizer is configured, since nothing would enforce
    an entry."""
    if not role.access.is_controlled:
        raise Refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, message)
