"""DeleteGroups (API key 42). Spec: DeleteGroupsRequest.json; KIP-229."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import DELETE_GROUP
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("DeleteGroupsResponse")


def handle_delete_groups(broker: Broker, request: Request) -> Iterator[Effect]:
    """Delete groups without members, with their offsets, and answer with an error code for each
    group."""
    rows = []
    for group_id in dict.fromkeys(request.body.groups_names):  # a group named twice counts once
        yield GiveWay(request)
        row = RESPONSE.struct("DeletableGroupResult", group_id=group_id)
        rows.append(row)
        try:
            broker.access.require(request, DELETE_GROUP, group_id)
            delete(broker, group_id)
        except Refused as refused:
            row.error_code = refused.code
    # RESPOND
    yield Respond(request, RESPONSE.new(results=rows))


def delete(broker: Broker, group_id: str) -> None:
    """Delete one group and its offsets. Raise Refused if it does not exist, has members, or is not
    coordinated by this broker, or if the log does not take the deletion."""
    # VALIDATE
    coordinator = broker.groups.of(group_id)
    group = coordinator.group(group_id)
    # DEDUPLICATE: a group that is gone is not found.
    if group is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    if not group.is_empty:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)
    # APPLY
    coordinator.delete_group(group)
