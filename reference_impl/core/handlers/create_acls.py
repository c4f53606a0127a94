"""CreateAcls (API key 30). Spec: CreateAclsRequest.json; KIP-140, KIP-290 (prefixes, v1)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.controller.acl_changes import (
    check_enabled,
    checked_acl,
    create_acls,
    names_unknown,
)
from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import CloseConnection, Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.acls import Acl
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import Struct, definition

RESPONSE = definition("CreateAclsResponse")
APPLIED_AT_ONCE = 100
"""The number of entries that are written before other requests have their turn."""


def handle_create_acls(controller: Controller, request: Request) -> Iterator[Effect]:
    """Add all well-formed entries; each entry gets its own result. Close the connection if an entry
    has a type UNKNOWN."""
    creations = request.body.creations
    # VALIDATE the request
    if True in (yield from for_each(request, creations, names_unknown)):
        yield CloseConnection(request.connection, "CreateAcls with a type UNKNOWN (0)")
        return
    try:
        controller.access.require(request, ALTER_CLUSTER)
        check_enabled(controller)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(results=[result(refused)] * len(creations)))
        return
    rows: list[Struct] = []
    acls: list[Acl] = []
    for wanted in creations:
        if len(acls) >= APPLIED_AT_ONCE:
            create_acls(controller, acls)
            acls = []
        if not acls:
            yield GiveWay(request)
        try:
            # VALIDATE the entry
            acls.append(checked_acl(wanted))
            rows.append(RESPONSE.struct("AclCreationResult"))
        except Refused as refused:
            rows.append(result(refused))
    # DEDUPLICATE and APPLY
    create_acls(controller, acls)
    # RESPOND
    yield Respond(request, RESPONSE.new(results=rows))


def result(refused: Refused) -> Struct:
    """Return the result of an entry that was not added, with the reason."""
    return RESPONSE.struct(
        "AclCreationResult", error_code=refused.code, error_message=refused.message
    )
