"""Cases of authorization: a target that enforces ACLs, and users who send requests to it.

The raw client of a case (`wire`) is anonymous and may do everything. The listener SASL admits alice
and bob, who may do only what a case grants them. They may use delegation tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from conformance.case import expect
from conformance.connection import Connection
from conformance.target.secured import SECURED
from conformance.wire import Wire, eventually, part
from reference_impl.wire import ErrorCode, Struct
from reference_impl.wire.acls import (
    CLUSTER_NAME,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)

CONTROLLED = {
    "listeners": "SASL://127.0.0.1:0",
    "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
    "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    **{
        key: SECURED[key]
        for mechanism in ("plain", "scram-sha-256", "scram-sha-512")
        for key in [f"listener.name.sasl.{mechanism}.sasl.jaas.config"]
    },
    "delegation.token.secret.key": "for nobody's eyes",
    "delegation.token.expiry.check.interval.ms": "1000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # Brokers talk to each other by the plain listener, and must be allowed to.
    "super.users": "User:ANONYMOUS",
}
"""The settings for `@case(config=CONTROLLED)`."""

REFUSALS = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""Resource type -> the error for a client without permission (AclEntry.authorizationError)."""
EVERYTHING: dict[str, Any] = {
    "resource_type_filter": ResourceType.ANY,
    "resource_name_filter": None,
    "pattern_type_filter": PatternType.ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": AclOperation.ANY,
    "permission_type": AclPermissionType.ANY,
}
"""The filter that matches every ACL."""


@dataclass
class Guest:
    """A user logged in by SASL; grants are withdrawn when the case ends."""

    wire: Wire
    connection: Connection
    principal: str
    _principals: set[str] = field(default_factory=set)

    def call(self, api: str, version: int | None = None, **fields: Any) -> Struct:
        """Send one request as this user, by default in the newest version; return the response."""
        return self.connection.call(
            api, self.wire.version(api) if version is None else version, **fields
        )

    def may(
        self,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str = CLUSTER_NAME,
        **fields: Any,
    ) -> None:
        """Grant an operation (or deny it, by permission_type), which must succeed, and wait until
        the broker applies that."""
        row = acl(
            operation=operation,
            resource_type=resource_type,
            resource_name=name,
            principal=fields.pop("principal", self.principal),
            **fields,
        )
        self._principals.add(row.principal)
        expect(create(self.wire, row), [ErrorCode.NONE], "CreateAcls")
        wanted = {
            "resource_type_filter": resource_type,
            "resource_name_filter": name,
            "principal_filter": row.principal,
            "operation": operation,
            "permission_type": row.permission_type,
            "host_filter": row.host,
        }
        eventually(lambda: described(self.wire, **wanted), bool, "the broker knows the new ACL")

    def withdraw(self) -> None:
        """Delete all ACLs of the principals for which `may` created some."""
        for principal in sorted(self._principals):
            delete(self.wire, {"principal_filter": principal})
        self._principals.clear()


def acl(**fields: Any) -> Struct:
    """Return an entry for CreateAcls; by default it is literal, for every host, and allows."""
    defaults = {
        "resource_pattern_type": PatternType.LITERAL,
        "host": "*",
        "permission_type": AclPermissionType.ALLOW,
    }
    return part("CreateAcls", "AclCreation", **(defaults | fields))


def create(wire: Wire, *rows: Struct, version: int | None = None) -> list[int]:
    """Send CreateAcls for these entries, by default in the newest version; return the error code of
    each, in order."""
    answer = wire.call("CreateAcls", version, creations=list(rows))
    return [row.error_code for row in answer.results]


def described(wire: Wire, version: int | None = None, **wanted: Any) -> list[Struct]:
    """Send DescribeAcls (by default the newest version) with this filter, which must succeed;
    return the resources in the response. Fields of the filter that are not given match
    everything."""
    answer = wire.call("DescribeAcls", version, **(EVERYTHING | wanted))
    expect(answer.error_code, ErrorCode.NONE, "DescribeAcls error")
    resources: list[Struct] = answer.resources
    return resources


def delete(wire: Wire, *filters: dict[str, Any], version: int | None = None) -> list[Struct]:
    """Send DeleteAcls with these filters; fields that one lacks match everything. Return the result
    of each, once the broker shows no ACL that matches one whose deletion succeeded. Raise Deviation
    if that takes too long."""
    rows = [part("DeleteAcls", "DeleteAclsFilter", **(EVERYTHING | each)) for each in filters]
    results: list[Struct] = wire.call("DeleteAcls", version, filters=rows).filter_results
    for wanted, result in zip(filters, results, strict=True):
        if result.error_code == ErrorCode.NONE:
            eventually(
                lambda wanted=wanted: described(wire, **wanted),  # type: ignore[misc]
                lambda found: not found,
                "the broker has forgotten the ACLs",
            )
    return results


def codes_in(answer: Any) -> set[int]:
    """Return every error code at any depth of a response, except NONE."""
    if isinstance(answer, Struct):
        found = {
            getattr(answer, name)
            for name in answer._names
            if name.endswith("error_code") and getattr(answer, name) != ErrorCode.NONE
        }
        return found.union(*(codes_in(getattr(answer, name)) for name in answer._names))
    if isinstance(answer, list):
        return _union(codes_in(each) for each in answer)
    return set()


def _union(sets: Iterable[set[int]]) -> set[int]:
    return set().union(*sets)
