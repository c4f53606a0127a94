"""RemoveRaftVoter (API key 81). Spec: KIP-853."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.add_raft_voter import check_cluster
from reference_impl.core.quorum.voters.voter_changes import check_leads, remove_voter
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.wire import ZERO_UUID, ErrorCode, definition

RESPONSE = definition("RemoveRaftVoterResponse")
TIMEOUT_MS = 30_000
"""The milliseconds to wait for the commit of the new voters (QuorumConfig.requestTimeoutMs on
Apache Kafka): the request itself has no time-out."""


def handle_remove_raft_voter(controller: Controller, request: Request) -> Generator[Any, Any, None]:
    """Remove a node from the voters of the quorum. Answer once that is committed, or with an error
    if it is refused or not committed within TIMEOUT_MS."""
    quorum, body = controller.metadata, request.body
    answer = RESPONSE.new(error_message=None)
    try:
        # VALIDATE
        controller.access.require(request, ALTER_CLUSTER)
        check_cluster(quorum, body.cluster_id)
        check_leads(quorum, quorum.turn)
        if body.voter_id < 0 or body.voter_directory_id == ZERO_UUID:
            raise Refused(
                ErrorCode.INVALID_REQUEST, "Remove voter request didn't include a valid voter"
            )
        # DEDUPLICATE: a node that is not a voter is not found. APPLY
        yield from remove_voter(quorum, (body.voter_id, body.voter_directory_id), TIMEOUT_MS)
    except Refused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message
    # RESPOND
    yield Respond(request, answer)
