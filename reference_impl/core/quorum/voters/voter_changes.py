"""Add, remove and update voters while the quorum works: one change at a time (KIP-853).

Source: AddVoterHandler.java, RemoveVoterHandler.java, UpdateVoterHandler.java. Each change is a
record of the log, and in force at the leader as soon as it is written. A change is over when it is
committed, or when the leader that has written it leads no more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from reference_impl.core.log.directories.data_directory import uuid_text
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.voters.voter_set import ReplicaKey, Voter, Voters, voters_of
from reference_impl.core.refused import Refused
from reference_impl.core.waiting.waits import Answer, MetadataNews, Unanswered
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, ErrorCode, Struct, definition

API_VERSIONS = definition("ApiVersionsRequest")
FEATURE = "kraft.version"
Change = Generator[Any, Any, None]


def add_voter(quorum: Quorum, voter: Voter, timeout_ms: int, *, waits: bool) -> Change:
    """Make a node that has caught up a voter. waits: whether to return only when the change is
    committed. Raise Refused if it is a voter already, does not answer, lags behind or does not
    support the cluster's kraft.version, if no voter can be added now, or if it waits and the change
    is not committed within timeout_ms."""
    end_ms, turn = quorum.moment.monotonic_ms + timeout_ms, quorum.turn
    with changing(quorum):
        check_version(quorum, "adding")
        if voter.node_id in quorum.voters:
            raise Refused(
                ErrorCode.DUPLICATE_VOTER,
                f"The voter id for {named(voter.key)} is already part of the set of voters"
                f" {all_named(quorum.voters)}.",
            )
        quorum.note_endpoint(voter.node_id, voter.endpoints[quorum.member.listener])
        levels = yield from supported_versions(quorum, voter)
        check_leads(quorum, turn)
        _check_level(quorum, voter, levels)
        _check_caught_up(quorum, voter)
        added = Voter(voter.node_id, voter.directory_id, voter.endpoints, levels)
        end_offset = quorum.change_voters(voters_of(*quorum.voters.values(), added))
        if waits:
            yield from until_committed(quorum, turn, end_offset, end_ms)


def remove_voter(quorum: Quorum, key: ReplicaKey, timeout_ms: int) -> Change:
    """Remove a node, which may be this leader, from the voters, and wait until that is committed.
    Raise Refused if it is not a voter with this directory, is the only one, no voter can be removed
    now, or the change is not committed within timeout_ms."""
    end_ms, turn = quorum.moment.monotonic_ms + timeout_ms, quorum.turn
    with changing(quorum):
        check_version(quorum, "removing")
        voter = quorum.voters.get(key[0])
        if voter is None or voter.key != key or len(quorum.voters) == 1:
            raise Refused(
                ErrorCode.VOTER_NOT_FOUND,
                f"Cannot remove voter {named(key)} from the set of voters"
                f" {all_named(quorum.voters)}",
            )
        rest = (each for each in quorum.voters.values() if each is not voter)
        end_offset = quorum.change_voters(voters_of(*rest))
        yield from until_committed(quorum, turn, end_offset, end_ms)


def update_voter(quorum: Quorum, voter: Voter, timeout_ms: int) -> Change:
    """Store the addresses and levels of `kraft.version` that a voter has now: in the log, and wait
    until that is committed, or only with the leader while the configuration names the voters
    (`version_upgrade.py`). Raise Refused if it is not a voter, does not support the cluster's
    level, if the voters cannot be changed now (`changing`), or if the change is not committed
    within timeout_ms."""
    end_ms, turn = quorum.moment.monotonic_ms + timeout_ms, quorum.turn
    with changing(quorum):
        known = quorum.voters.get(voter.node_id)
        _check_level(quorum, voter, voter.kraft_versions)
        if known is None or not known.is_replica(voter.key):
            raise Refused(ErrorCode.VOTER_NOT_FOUND)
        if quorum.log.voters.latest.kraft_version == 0:
            assert quorum.leadership is not None
            quorum.leadership.told_voters[voter.node_id] = voter
            return
        if known == voter:
            return
        end_offset = quorum.change_voters(
            voters_of(*{**quorum.voters, voter.node_id: voter}.values())
        )
        yield from until_committed(quorum, turn, end_offset, end_ms)


@contextmanager
def changing(quorum: Quorum) -> Iterator[None]:
    """Let no other change of the voters begin during the block. Raise Refused: with
    NOT_LEADER_OR_FOLLOWER if this node does not lead the quorum, with REQUEST_TIMED_OUT while an
    earlier change, or the first record of this leader's epoch, is not committed; the sender then
    tries again."""
    check_leads(quorum, quorum.turn)
    leadership = quorum.leadership
    assert leadership is not None
    offset = quorum.log.voters.latest.offset
    quorum.rules.check_fenced(quorum.told_high_watermark)
    quorum.rules.check_one_change(
        offset, quorum.high_watermark, is_changing=leadership.is_changing_voters
    )
    leadership.is_changing_voters = True
    try:
        yield
    finally:
        leadership.is_changing_voters = False


def check_leads(quorum: Quorum, turn: int) -> None:
    """Raise Refused(NOT_LEADER_OR_FOLLOWER) if this node does not lead the quorum, or its state has
    changed since this turn."""
    if not quorum.is_leader or quorum.turn != turn:
        raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def check_version(quorum: Quorum, what: str) -> None:
    """Raise Refused(UNSUPPORTED_VERSION) if kraft.version is 0, so that the configuration names the
    voters. what: the change, for the message."""
    level = quorum.log.voters.latest.kraft_version
    if level == 0:
        raise Refused(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Cluster doesn't support {what} voter because the {FEATURE} feature is {level}",
        )


def _check_level(quorum: Quorum, voter: Voter, levels: tuple[int, int]) -> None:
    level = quorum.log.voters.latest.kraft_version
    if not levels[0] <= level <= levels[1]:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"{named(voter.key)} supports {FEATURE} {levels[0]} to {levels[1]}, and the cluster"
            f" works at {level}",
        )


def _check_caught_up(quorum: Quorum, voter: Voter) -> None:
    assert quorum.leadership is not None
    progress = quorum.leadership.progress_of(voter.key)
    caught_up_ms = -1 if progress is None else progress.caught_up_at_wall_ms
    if not quorum.rules.may_become_voter(caught_up_ms, quorum.moment.now_ms):
        raise Refused(
            ErrorCode.REQUEST_TIMED_OUT,
            f"Aborted add voter operation for {named(voter.key)} since it is lagging behind",
        )


def supported_versions(quorum: Quorum, voter: Voter) -> Generator[Any, Any, tuple[int, int]]:
    """Ask a node which levels of `kraft.version` it supports. Return the lowest and the highest, or
    (0, 0) if it does not name the feature. Raise Refused(REQUEST_TIMED_OUT) if it does not
    answer."""
    body = API_VERSIONS.new(client_software_name="touchstone", client_software_version="1")
    timeout_ms = quorum.settings.request_timeout_ms
    try:
        answer: Struct = yield Answer(
            voter.node_id, ApiKey.API_VERSIONS, body, timeout_ms, Lane.QUORUM
        )
    except Unanswered as error:
        raise Refused(
            ErrorCode.REQUEST_TIMED_OUT,
            f"New voter {named(voter.key)} is not ready to receive requests: {error}",
        ) from None
    found = {row.name: (row.min_version, row.max_version) for row in answer.supported_features}
    return found.get(FEATURE, (0, 0))


def until_committed(quorum: Quorum, turn: int, end_offset: int, end_ms: int) -> Change:
    """Wait until the log is committed up to end_offset. Raise Refused if the time is over first, or
    if this node no longer leads the quorum: then it is unknown whether the change will be
    committed. end_ms: the latest time by the monotonic clock."""
    while quorum.high_watermark < end_offset:
        check_leads(quorum, turn)
        left_ms = max(1, end_ms - quorum.moment.monotonic_ms)
        yield MetadataNews(quorum.end_offset, quorum.high_watermark, turn, left_ms)


def named(key: ReplicaKey) -> str:
    """Return the name of a replica in messages."""
    return f"ReplicaKey(id={key[0]}, directoryId={uuid_text(key[1])})"


def all_named(voters: Voters) -> str:
    """Return the names of all voters in messages."""
    return f"[{', '.join(named(voter.key) for voter in voters.values())}]"
