"""SyncGroup (API key 14). Spec: SyncGroupRequest.json; KIP-62, KIP-345, KIP-559 (v5). The answer is
given by groups/classic/syncing.py, when the leader's assignment is there."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect
from reference_impl.core.events import Request
from reference_impl.core.groups.classic import answers
from reference_impl.core.groups.classic.syncing import sync
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import READ_GROUP
from reference_impl.wire import ErrorCode

PROTOCOL_SINCE = 5


def handle_sync_group(broker: Broker, request: Request) -> Iterator[Effect]:
    """Take the assignment from the group's leader, and answer each member with its part once that
    is there. In a consumer group, answer at once."""
    try:
        # VALIDATE
        # [New in v5: KIP-559]
        if request.api_version >= PROTOCOL_SINCE and None in (
            request.body.protocol_type,
            request.body.protocol_name,
        ):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        broker.access.require(request, READ_GROUP, request.body.group_id)
        # DEDUPLICATE and APPLY: syncing.py answers a retry with the current assignment.
        yield from sync(broker.groups.of_request(request), request)
    except Refused as refused:
        # RESPOND
        yield answers.sync_refused(request, refused.code)
