"""AddRaftVoter (API key 80). Spec: KIP-853; KIP-1186 (answer before the commit, v1)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from reference_impl.core.controller.controller import Controller
from reference_impl.core.effects import Respond
from reference_impl.core.events import Request
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.voters.voter_changes import add_voter, check_leads
from reference_impl.core.quorum.voters.voter_set import Voter
from reference_impl.core.refused import Refused
from reference_impl.core.security.authorization.permissions import ALTER_CLUSTER
from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import ZERO_UUID, ErrorCode, Struct, definition

RESPONSE = definition("AddRaftVoterResponse")


def handle_add_raft_voter(controller: Controller, request: Request) -> Generator[Any, Any, None]:
    """Make a node a voter of the quorum. Answer once that is committed, or once it is written if
    the request does not want to wait. Answer with an error if it is refused or not committed in
    time."""
    quorum, body = controller.metadata, request.body
    answer = RESPONSE.new(error_message=None)
    try:
        # VALIDATE
        controller.access.require(request, ALTER_CLUSTER)
        check_cluster(quorum, body.cluster_id)
        check_leads(quorum, quorum.turn)
        voter = voter_in(quorum, body)
        # DEDUPLICATE: a node that is a voter already is refused. APPLY
        yield from add_voter(quorum, voter, body.timeout_ms, waits=body.ack_when_committed)
    except Refused as refused:
        answer.error_code, answer.error_message = refused.code, refused.message
    # RESPOND
    yield Respond(request, answer)


def check_cluster(quorum: Quorum, cluster_id: str | None) -> None:
    """Raise Refused(INCONSISTENT_CLUSTER_ID) for a request to another cluster. One that names no
    cluster is for this one."""
    if cluster_id not in (None, quorum.cluster_id):
        raise Refused(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f'The given id "{cluster_id}" doesn\'t match the cluster id "{quorum.cluster_id}"',
        )


def voter_in(quorum: Quorum, body: Struct) -> Voter:
    """Return the voter that a request describes. Raise Refused unless it has an id, a directory and
    an address on the controllers' listener."""
    endpoints = {each.name: Endpoint(each.host, each.port) for each in body.listeners}
    if body.voter_id < 0 or body.voter_directory_id == ZERO_UUID:
        raise Refused(ErrorCode.INVALID_REQUEST, "Add voter request didn't include a valid voter")
    if quorum.member.listener not in endpoints:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "Add voter request didn't include the endpoint for the default listener"
            f" {quorum.member.listener}",
        )
    return Voter(body.voter_id, body.voter_directory_id, endpoints)
