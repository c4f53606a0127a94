"""DeleteAcls (API key 31). Spec: DeleteAclsRequest.json; KIP-140, KIP-290 (v1)."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from reference_impl.core.controller.acl_changes import (
    check_enabled,
    delete_acls,
    found,
    names_unknown,
)
from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import CloseConnection, Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.acls import Acl, AclFilter
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import Struct, definition

RESPONSE = definition("DeleteAclsResponse")
APPLIED_AT_ONCE = 100
"""The number of entries that are deleted before other requests have their turn."""


def handle_delete_acls(controller: Controller, request: Request) -> Iterator[Effect]:
    """Delete every entry that one of the filters matches; each filter's result lists them."""
    filters = request.body.filters
    # VALIDATE the request
    if True in (yield from for_each(request, filters, names_unknown)):
        yield CloseConnection(request.connection, "DeleteAcls with a type UNKNOWN (0)")
        return
    try:
        controller.access.require(request, ALTER_CLUSTER)
        check_enabled(controller)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(filter_results=[result(refused) for _ in filters]))
        return
    rows: list[Struct] = []
    ids: list[UUID] = []
    for wanted in filters:
        yield GiveWay(request)
        try:
            # VALIDATE the filter
            matching = found(controller, AclFilter.from_request(wanted))
        except Refused as refused:
            rows.append(result(refused))
            continue
        ids += matching
        rows.append(
            RESPONSE.struct(
                "DeleteAclsFilterResult",
                error_message=None,
                matching_acls=[deleted(acl) for acl in matching.values()],
            )
        )
    # DEDUPLICATE and APPLY
    for first in range(0, len(ids), APPLIED_AT_ONCE):
        delete_acls(controller, ids[first : first + APPLIED_AT_ONCE])
        yield GiveWay(request)
    # RESPOND
    yield Respond(request, RESPONSE.new(filter_results=rows))


def deleted(acl: Acl) -> Struct:
    """Return the row of an entry that was deleted."""
    return RESPONSE.struct(
        "DeleteAclsMatchingAcl",
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def result(refused: Refused) -> Struct:
    """Return the result of a filter that deletes nothing, with the reason."""
    return RESPONSE.struct(
        "DeleteAclsFilterResult", error_code=refused.code, error_message=refused.message
    )
