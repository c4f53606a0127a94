"""EndQuorumEpoch (API key 54). Spec: KIP-595; KIP-853 (candidates by directory, v1)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.quorum import messages
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


def handle_end_quorum_epoch(broker: Broker, request: Request) -> Iterator[Effect]:
    """Start an election soon, the sooner the earlier the leader names this node among its
    successors, because the leader that sent this request has resigned. Refuse a request of another
    cluster, of an older epoch, or of another leader than the known one of this epoch."""
    quorum, body = broker.quorum, request.body
    # VALIDATE
    try:
        row = messages.checked_row(quorum, body)
        messages.check_leader_claim(quorum, row)
    except Refused as refused:
        yield Respond(request, messages.refused(body, quorum, refused.code))
        return
    # DEDUPLICATE: a repeated request starts the wait again.
    # APPLY
    endpoint = messages.endpoint_in(quorum, body.leader_endpoints)
    quorum.hear(row.leader_epoch, row.leader_id, endpoint)
    successors = [each.candidate_id for each in row.preferred_candidates]
    quorum.leader_ends(successors or row.preferred_successors)
    # RESPOND
    yield Respond(request, messages.answered(body, quorum, ErrorCode.NONE))
