"""Vote (API key 52). Spec: KIP-595; KIP-853 (voter id and directories, v1), KIP-996 (pre-votes,
v2)."""

from __future__ import annotations

from collections.abc import Iterator

from reference_impl.core.broker import Broker
from reference_impl.core.effects import Effect, Respond
from reference_impl.core.events import Request
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct


def handle_vote(broker: Broker, request: Request) -> Iterator[Effect]:
    """Answer whether this voter grants its vote, or its pre-vote, to the candidate. A vote is on
    the disk before the answer; a newer epoch of the candidate becomes this node's."""
    quorum, body = broker.quorum, request.body
    # VALIDATE
    try:
        row = messages.checked_row(quorum, body)
        check_candidate(quorum, row)
        quorum.hear(row.replica_epoch, None)
        messages.check_voter(quorum, body.voter_id, row.voter_directory_id)
    except Refused as refused:
        yield Respond(request, messages.refused(body, quorum, refused.code))
        return
    # DEDUPLICATE: a candidate that asks again gets the same vote.
    # APPLY: the vote is on disk when this returns.
    is_granted = quorum.vote_asked(
        (row.replica_id, row.replica_directory_id),
        row.replica_epoch,
        (row.last_offset_epoch, row.last_offset),
        is_pre_vote=row.pre_vote,
    )
    # RESPOND
    yield Respond(request, messages.answered(body, quorum, ErrorCode.NONE, vote_granted=is_granted))


def check_candidate(quorum: Quorum, row: Struct) -> None:
    """Raise Refused if the request is invalid or of an epoch before this node's, or if its sender
    cannot be a candidate (KafkaRaftClient.handleVoteRequest)."""
    # A candidate has raised its epoch above that of its log; one that asks for pre-votes has not.
    most = row.replica_epoch if row.pre_vote else row.replica_epoch - 1
    if row.last_offset < 0 or row.last_offset_epoch < 0 or row.last_offset_epoch > most:
        raise Refused(ErrorCode.INVALID_REQUEST)
    messages.check_epoch(quorum, row.replica_epoch)
    if row.replica_id < 0:
        raise Refused(ErrorCode.INVALID_REQUEST)
