"""The questions that handlers ask before they do anything: may this request do that?

    broker.access.may(request, WRITE_TOPIC, name)         yes or no
    broker.access.require(request, READ_GROUP, group_id)  raises Refused with the error for that

Without `authorizer.class.name` every request is permitted, and the check costs almost nothing.
Source: AuthHelper.scala.
"""

from __future__ import annotations

from collections.abc import Iterable

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.acls import Acls
from reference_impl.core.security.authorization.authorizer import Authorizer
from reference_impl.core.security.authorization.permissions import REFUSALS, Permission
from reference_impl.core.security.principals import Principals
from reference_impl.wire import ERRORS
from reference_impl.wire.acls import CLUSTER_NAME, AclOperation, ResourceType

OPERATIONS: dict[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        AclOperation.READ,
        AclOperation.DELETE,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
}
"""The operations on each type of resource (AclEntry.supportedOperations)."""


class Access:
    """Asks the broker's authorizer, if it has one, about the principal of a request."""

    def __init__(self, config: BrokerConfig, acls: Acls, principals: Principals) -> None:
        self.authorizer = authorizer_of(config, acls)
        self._principals = principals

    @property
    def is_controlled(self) -> bool:
        """Return whether the broker has an authorizer."""
        return self.authorizer is not None

    def principal_of(self, request: Request) -> str:
        """Return the principal that sent the request, `User:NAME`: the one for whom another node
        forwards it, else that of the connection."""
        return request.principal or self._principals.of(request.connection)

    def may(self, request: Request, permission: Permission, name: str = CLUSTER_NAME) -> bool:
        """Return whether the request's principal may do this to the resource of this name.
        Everything is permitted without an authorizer, and for a node's requests to itself: they
        have no connection (`Waiting`) and are not forwarded for a client."""
        if self.authorizer is None or (request.connection < 0 and request.principal is None):
            return True
        return self.authorizer.allows(
            *self._client(request), permission.operation, permission.resource_type, name
        )

    def may_somewhere(self, request: Request, permission: Permission) -> bool:
        """Return whether the request's principal may do this to at least one possible resource of
        the type. Everything is permitted without an authorizer."""
        if self.authorizer is None:
            return True
        return self.authorizer.allows_somewhere(
            *self._client(request), permission.operation, permission.resource_type
        )

    def require(self, request: Request, permission: Permission, name: str = CLUSTER_NAME) -> None:
        """Raise Refused unless the request's principal may do this to the resource of this name;
        the error code follows from the type of the resource (REFUSALS)."""
        if not self.may(request, permission, name):
            code = REFUSALS[permission.resource_type]
            raise Refused(code, ERRORS[code].message)

    def operations(
        self, request: Request, resource_type: ResourceType, name: str = CLUSTER_NAME
    ) -> int:
        """Return all operations that the request's principal may perform on a resource, as the bit
        field of KIP-430: all that its type has (OPERATIONS) without an authorizer."""
        return bits(
            operation
            for operation in OPERATIONS[resource_type]
            if self.authorizer is None
            or self.may(request, Permission(operation, resource_type), name)
        )

    def _client(self, request: Request) -> tuple[str, str]:
        # Java writes an address as name/address; ACLs have the address alone.
        return self.principal_of(request), request.client_host.rpartition("/")[2]


def bits(operations: Iterable[AclOperation]) -> int:
    """Return operations as a bit field: the bit of an operation is its code."""
    return sum(1 << operation for operation in operations)


def authorizer_of(config: BrokerConfig, acls: Acls) -> Authorizer | None:
    """Return the authorizer that a broker is configured with, or None if authorizer.class.name is
    empty."""
    if not config.text("authorizer.class.name"):
        return None
    return Authorizer(acls, config.super_users, config.flag("allow.everyone.if.no.acl.found"))
