"""JoinGroup (API key 11). Spec: JoinGroupRequest.json; KIP-62, KIP-134, KIP-345, KIP-394, KIP-559,
KIP-800 (reason), KIP-814.

The answer is given by groups/classic/rebalance.py, when the generation begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect
from reference_impl.core.events import Request
from reference_impl.core.groups.classic import answers
from reference_impl.core.groups.classic.joining import join
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import READ_GROUP
from reference_impl.wire import ErrorCode


def handle_join_group(broker: Broker, request: Request) -> Iterator[Effect]:
    """Let a member join the next generation of its group, and answer when that has begun. Answer
    now if the member must join again with an id, if nothing changes for it, if its group is a
    consumer group, or if it is refused."""
    try:
        # VALIDATE
        check(broker, request)
        coordinator = broker.groups.of(request.body.group_id)
        # DEDUPLICATE and APPLY: joining.py recognises retries.
        yield from join(coordinator, request)
    except Refused as refused:
        # RESPOND
        yield answers.join_refused(request, refused.code, request.body.member_id)


def check(broker: Broker, request: Request) -> None:
    """Raise Refused if the request is invalid by itself, whatever the state of the group."""
    broker.access.require(request, READ_GROUP, request.body.group_id)
    if not request.body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    shortest = broker.config.number("group.min.session.timeout.ms")
    longest = broker.config.number("group.max.session.timeout.ms")
    if not shortest <= request.body.session_timeout_ms <= longest:
        raise Refused(ErrorCode.INVALID_SESSION_TIMEOUT)
