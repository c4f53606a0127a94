"""ListGroups (API key 16). Spec: ListGroupsRequest.json; KIP-518 (states, v4), KIP-848 (types,
v5)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, GiveWay, Respond
from reference_impl.core.events import Request
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import DESCRIBE_CLUSTER, DESCRIBE_GROUP
from reference_impl.wire import ErrorCode, definition

RESPONSE = definition("ListGroupsResponse")


def handle_list_groups(broker: Broker, request: Request) -> Iterator[Effect]:
    """List the groups that this broker coordinates and the client may describe, all or those in
    certain states or of certain types. Refuse the request while groups are being loaded."""
    # VALIDATE: a filter that matches nothing is no error. DEDUPLICATE, APPLY: nothing changes.
    states = {state.lower() for state in request.body.states_filter}
    types = {kind.lower() for kind in request.body.types_filter}
    sees_all = broker.access.may(request, DESCRIBE_CLUSTER)
    rows = []
    if broker.groups.is_loading:
        yield Respond(request, RESPONSE.new(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        return
    for coordinator, group in broker.groups.every():
        yield GiveWay(request)
        try:
            coordinator.partition()  # the answer waits for the group's records
        except Refused:
            continue  # another broker lists this group
        if (
            (not states or group.state.value.lower() in states)
            and (not types or group.kind in types)
            and (sees_all or broker.access.may(request, DESCRIBE_GROUP, group.group_id))
        ):
            rows.append(
                RESPONSE.struct(
                    "ListedGroup",
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type=group.kind,
                )
            )
    # RESPOND
    yield Respond(request, RESPONSE.new(groups=rows))
