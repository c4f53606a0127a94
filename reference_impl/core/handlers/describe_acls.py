"""DescribeAcls (API key 29). Spec: DescribeAclsRequest.json; KIP-140, KIP-290 (v1)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.controller.acl_changes import check_enabled, names_unknown
from reference_impl.core.effects import CloseConnection, Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.acls import Acl, AclFilter
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER
from reference_impl.wire import Struct, definition
from reference_impl.wire.acls import PatternType, ResourceType

RESPONSE = definition("DescribeAclsResponse")


def handle_describe_acls(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer with the ACL entries that match the filter, grouped by resource. Close the connection
    if the filter has a type UNKNOWN."""
    # VALIDATE
    if names_unknown(request.body):
        yield CloseConnection(request.connection, "DescribeAcls with a type UNKNOWN (0)")
        return
    try:
        broker.access.require(request, DESCRIBE_CLUSTER)
        check_enabled(broker)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(error_code=refused.code, error_message=refused.message))
        return
    # DEDUPLICATE, APPLY: reading changes nothing.
    wanted = AclFilter.from_request(request.body)
    resources: dict[tuple[ResourceType, str, PatternType], Struct] = {}
    for acl in list(broker.image.acls.by_id.values()):
        yield GiveWay(request)
        if wanted.matches(acl):
            key = (acl.resource_type, acl.resource_name, acl.pattern_type)
            if key not in resources:
                resources[key] = resource(acl)
            resources[key].acls.append(described(acl))
    # RESPOND
    yield Respond(request, RESPONSE.new(resources=list(resources.values())))


def resource(acl: Acl) -> Struct:
    """Return the row of an entry's resource, without entries."""
    return RESPONSE.struct(
        "DescribeAclsResource",
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        acls=[],
    )


def described(acl: Acl) -> Struct:
    """Return the row of an entry, without its resource."""
    return RESPONSE.struct(
        "AclDescription",
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
