"""UpdateRaftVoter (API key 82), on a controller's listener. Spec: KIP-853."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Respond
from reference_impl.core.events import Request
from reference_impl.core.handlers.add_raft_voter import voter_in
from reference_impl.core.handlers.fetch_metadata import check_leads
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.voters.voter_changes import update_voter
from reference_impl.core.quorum.voters.voter_set import Voter
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct, definition

RESPONSE = definition("UpdateRaftVoterResponse")


def handle_update_raft_voter(broker: Broker, request: Request) -> Generator[Any, Any, None]:
    """Replace the addresses and the supported versions of a voter by those that it reports. Answer
    with an error code, and with the leader as far as this node knows it."""
    quorum, body = broker.quorum, request.body
    code = ErrorCode.NONE
    try:
        # VALIDATE
        if body.cluster_id not in (None, quorum.cluster_id):
            raise Refused(ErrorCode.INCONSISTENT_CLUSTER_ID)
        check_leads(quorum, body)
        named, levels = voter_in(quorum, body), body.k_raft_version_feature
        supported = levels.min_supported_version, levels.max_supported_version
        if not 0 <= supported[0] <= supported[1]:
            raise Refused(ErrorCode.INVALID_REQUEST)
        voter = Voter(named.node_id, named.directory_id, named.endpoints, supported)
        # DEDUPLICATE: what is known already changes nothing. APPLY
        yield from update_voter(quorum, voter, quorum.settings.request_timeout_ms)
    except Refused as refused:
        code = refused.code
    # RESPOND
    yield Respond(request, RESPONSE.new(error_code=code, current_leader=leader(quorum)))


def leader(quorum: Quorum) -> Struct:
    """Return the field of the answer that names the quorum's leader, with its address, as far as
    this node knows it."""
    found = RESPONSE.struct("CurrentLeader", **messages.known_leader(quorum))
    for row in messages.node_endpoints(quorum, definition("FetchResponse")):
        found.host, found.port = row.host, row.port
    return found
