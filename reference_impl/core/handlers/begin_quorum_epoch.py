"""BeginQuorumEpoch (API key 53). Spec: KIP-595; KIP-853 (voter id and endpoints, v1)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.quorum import messages
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode


def handle_begin_quorum_epoch(broker: Broker, request: Request) -> Iterator[Effect]:
    """Follow the quorum leader that sent this request to announce its election. Refuse a request of
    another cluster, of an older epoch, or of another leader than the known one of this epoch.
    Follow the leader, but answer with an error, if the request was meant for another voter."""
    quorum, body = broker.quorum, request.body
    # VALIDATE
    try:
        row = messages.checked_row(quorum, body)
        messages.check_leader_claim(quorum, row)
        endpoint = messages.endpoint_in(quorum, body.leader_endpoints)
        # DEDUPLICATE: a node that follows this leader already does nothing.
        # APPLY
        quorum.hear(row.leader_epoch, row.leader_id, endpoint)
        messages.check_voter(quorum, body.voter_id, row.voter_directory_id)
    except Refused as refused:
        yield Respond(request, messages.refused(body, quorum, refused.code))
        return
    # RESPOND
    yield Respond(request, messages.answered(body, quorum, ErrorCode.NONE))
