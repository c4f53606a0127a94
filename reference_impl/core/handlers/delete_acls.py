"""DeleteAcls (API key 31). Spec: DeleteAclsRequest.json; KIP-140, KIP-290 (v1)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from uuid import UUID

from reference_impl.core.controller.acl_changes import (
    check_enabled,
    check_filter,
    delete_acls,
    names_unknown,
)
from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import CloseConnection, Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.requests.giving_way import for_each
from reference_impl.core.security.authorization.acls import Acl, AclFilter, Acls
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("DeleteAclsResponse")
APPLIED_AT_ONCE = 100
"""The number of entries that are deleted before other requests have their turn."""
ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""The size of results in bytes: once those of the first filters are larger together, the other
filters are refused. Kafka has no such limit."""
CODES_BYTES = 11
"""The bytes of an entry's row in the answer, without its three strings."""


def handle_delete_acls(controller: Controller, request: Request) -> Iterator[Effect]:
    """Delete every entry that one of the filters matches; each filter's result lists them. Close
    the connection if a filter has a type UNKNOWN."""
    filters = request.body.filters
    # VALIDATE the request
    if True in (yield from for_each(request, filters, names_unknown)):
        yield CloseConnection(request.connection, "DeleteAcls with a type UNKNOWN (0)")
        return
    try:
        controller.access.require(request, ALTER_CLUSTER)
        check_enabled(controller)
    except Refused as refused:
        yield Respond(request, RESPONSE.new(filter_results=[result(refused)] * len(filters)))
        return
    matching = Matching(controller.image.acls)
    rows: list[Struct] = []
    for wanted in filters:
        yield GiveWay(request)
        try:
            # VALIDATE the filter
            rows.append((yield from matching.result_of(request, AclFilter.from_request(wanted))))
        except Refused as refused:
            rows.append(result(refused))
    # DEDUPLICATE and APPLY
    ids = list(matching.rows)
    for first in range(0, len(ids), APPLIED_AT_ONCE):
        delete_acls(controller, ids[first : first + APPLIED_AT_ONCE])
        yield GiveWay(request)
    # RESPOND
    yield Respond(request, RESPONSE.new(filter_results=rows))


class Matching:
    """Finds what filters match, for an answer of limited size.

    A small request may hold thousands of filters that each match every entry. So equal filters
    share one result, results share the row of an entry, and filters are refused after those whose
    results have more than ANSWER_BYTES_MAX.
    """

    def __init__(self, acls: Acls) -> None:
        self.rows: dict[UUID, Struct] = {}
        """The row of each entry that a filter matches."""
        self._entries = list(acls.by_id.items())
        self._results: dict[AclFilter, tuple[Struct, int]] = {}
        self._bytes = 0

    def result_of(self, request: Request, wanted: AclFilter) -> Generator[Effect, None, Struct]:
        """Return the result of a filter, and add the entries that it matches to `rows`. Raise
        Refused if the filter is invalid, or if the answer has become too long."""
        check_filter(wanted)
        if self._bytes > ANSWER_BYTES_MAX:
            raise Refused(
                ErrorCode.INVALID_REQUEST,
                "The filters before this one match too much for one answer; send this one again.",
            )
        if wanted not in self._results:
            self._results[wanted] = yield from self._matched(request, wanted)
        found, size = self._results[wanted]
        self._bytes += size
        return found

    def _matched(
        self, request: Request, wanted: AclFilter
    ) -> Generator[Effect, None, tuple[Struct, int]]:
        """Return the result of a filter, and about how many bytes it has in the answer. Add the
        entries that it matches to `rows`."""
        rows, size = [], 0
        for id, acl in self._entries:
            yield GiveWay(request)
            if wanted.matches(acl):
                if id not in self.rows:
                    self.rows[id] = deleted(acl)
                rows.append(self.rows[id])
                size += len(acl.resource_name) + len(acl.principal) + len(acl.host) + CODES_BYTES
        found = RESPONSE.struct("DeleteAclsFilterResult", error_message=None, matching_acls=rows)
        return found, size


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
