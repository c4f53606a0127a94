"""Send the other nodes the requests that each state of the quorum requires (votes, fetches, voter
changes) until the state changes.

Source: KafkaRaftClient.java (pollCandidate, pollLeader, pollFollower). Each duty is a handler
without a client: it sends a request, checks that the node's state has not changed meanwhile
(`Quorum.turn`), and uses the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from reference_impl.core.effects import Effect, Report, SetTimer, Wait
from reference_impl.core.events import TimerKey
from reference_impl.core.quorum import messages
from reference_impl.core.quorum.quorum import Quorum
from reference_impl.core.quorum.snapshots.snapshot_file import (
    DamagedSnapshot,
    Snapshot,
    SnapshotId,
    UnfinishedSnapshot,
)
from reference_impl.core.quorum.states import State
from reference_impl.core.storage import StorageError
from reference_impl.core.waiting.waits import Answer, Later, Outbox, Pause, Unanswered
from reference_impl.links.effects import Lane
from reference_impl.wire import ApiKey, CorruptRecord, ErrorCode, Struct

TIMER = "quorum"
FETCH_WAIT_MS = 500
"""The milliseconds for which a leader may hold back a fetch that finds nothing new
(KafkaRaftClient.fetchMaxWaitMs)."""
Duty = Generator[Effect | Wait, Any, None]
_PAUSE = Pause()


def begin(quorum: Quorum, outbox: Outbox) -> None:
    """Post the duties of the state in which the node is: its timer, the requests to every other
    voter, and the fetches of a follower or of a node that searches the leader. Change nothing about
    a duty of this state that runs already (`Outbox.post`)."""
    outbox.post("quorum timer", set_timer(quorum))
    duty = TO_EACH_VOTER.get(quorum.state)
    for voter in quorum.voters if duty is not None else ():
        if voter != quorum.node_id and duty is not None:
            outbox.post(f"quorum turn {quorum.turn}: {voter}", duty(quorum, voter))
    if quorum.state is State.FOLLOWER:
        outbox.post(f"quorum turn {quorum.turn}: fetch", follow(quorum))
        outbox.post(f"quorum turn {quorum.turn}: own vote", mind_own_vote(quorum))
    elif quorum.state is State.UNATTACHED and quorum.others:
        outbox.post(f"quorum turn {quorum.turn}: search", search(quorum))
    elif quorum.leadership is not None and quorum.leadership.accumulator:
        outbox.post(f"quorum turn {quorum.turn}: linger", linger(quorum))


def set_timer(quorum: Quorum) -> Iterator[Effect]:
    """Set a timer for the deadline of the current quorum state, if it has one; the timer fires
    immediately if the deadline has passed."""
    if quorum.deadline_ms is not None:
        yield SetTimer((TIMER,), max(0, quorum.deadline_ms - quorum.moment.monotonic_ms))


def timer_fired(quorum: Quorum, _: TimerKey) -> Iterator[Effect]:
    """Handle the timer of the quorum's state: act if the state's deadline has passed. Set the timer
    again for the rest of the time if the state is still the same."""
    turn = quorum.turn
    quorum.time_passed()
    if quorum.turn == turn:
        yield from set_timer(quorum)


def ask_for_vote(quorum: Quorum, voter: int) -> Duty:
    """Ask a voter for its vote, or for its pre-vote, until it answers, and count the answer; an
    error counts as a refusal."""
    turn, is_pre_vote = quorum.turn, quorum.state is State.PROSPECTIVE
    body = messages.vote_request(quorum, voter, is_pre_vote=is_pre_vote)
    answer = yield from ask(quorum, voter, ApiKey.VOTE, body)
    if answer is None:
        return
    row = messages.only_row(answer)
    if row is None or row.error_code:
        quorum.vote_answered(voter, turn, is_granted=False)
        return
    quorum.vote_answered(voter, turn, is_granted=row.vote_granted)


def announce(quorum: Quorum, voter: int) -> Duty:
    """As long as this node leads, send BeginQuorumEpoch to a voter whenever it has not fetched for
    half a fetch time-out (KIP-595). Stop if the node is no longer a voter."""
    turn, period_ms = quorum.turn, quorum.settings.fetch_timeout_ms // 2
    while quorum.turn == turn:
        assert quorum.leadership is not None
        progress = quorum.leadership.followers.get(voter)
        if progress is None:
            return  # it is no longer a voter
        heard_ms = progress.fetched_at_ms
        if heard_ms < 0 or quorum.moment.monotonic_ms - heard_ms >= period_ms:
            body = messages.begin_request(quorum, voter)
            yield from ask(quorum, voter, ApiKey.BEGIN_QUORUM_EPOCH, body)
        yield Later(period_ms)


def linger(quorum: Quorum) -> Duty:
    """Write each batch that the leader collects when it is due, until it collects none. Report a
    disk that fails once, and try again until it takes the records or this node leads no more."""
    turn, settings, has_failed = quorum.turn, quorum.settings, False
    while quorum.turn == turn and quorum.leadership is not None:
        due_ms = quorum.leadership.accumulator.due_ms
        if due_ms is None:
            return
        if due_ms > quorum.moment.monotonic_ms:
            yield Later(due_ms - quorum.moment.monotonic_ms)
            continue
        try:
            quorum.drain()
        except StorageError as error:
            if not has_failed:
                yield Report(f"the metadata log takes no records: {error}")
            has_failed = True
            yield Later(max(settings.append_linger_ms, settings.retry_backoff_ms))


def tell_of_end(quorum: Quorum, voter: int) -> Duty:
    """Send EndQuorumEpoch, which says that this leader has resigned and names its preferred
    successors, until the voter answers or this node's state changes (KIP-595)."""
    yield from ask(quorum, voter, ApiKey.END_QUORUM_EPOCH, messages.end_request(quorum))


TO_EACH_VOTER: dict[State, Callable[[Quorum, int], Duty]] = {
    State.PROSPECTIVE: ask_for_vote,
    State.CANDIDATE: ask_for_vote,
    State.LEADER: announce,
    State.RESIGNED: tell_of_end,
}
"""State -> the requests that a node sends to every other voter in that state."""


def ask(quorum: Quorum, node: int, api_key: ApiKey, body: Struct) -> Generator[Any, Any, Any]:
    """Send a request to a node, again and again until it answers, and follow the epoch and leader
    that the answer names. Return the answer, which may hold an error (`note_refusal` reports it),
    or None if this node's own state has changed, also by that answer."""
    turn, settings = quorum.turn, quorum.settings
    while quorum.turn == turn:
        try:
            answer = yield Answer(node, api_key, body, settings.request_timeout_ms, Lane.QUORUM)
        except Unanswered:
            yield Later(settings.retry_backoff_ms)
            continue
        if quorum.turn != turn:
            return None
        row = messages.only_row(answer)
        of_row = 0 if row is None else row.error_code
        yield from note_refusal(quorum, node, answer.error_code or of_row)
        if row is not None:
            quorum.hear(*messages.leader_in(row, answer))
        return answer if quorum.turn == turn else None
    return None


def note_refusal(quorum: Quorum, node: int, error_code: int) -> Iterator[Effect]:
    """Report an error code that is not in USUAL: the node refuses this node's requests for a reason
    that time does not mend. Report the same error of a node once, until the node has answered with
    another code (KafkaRaftClient.handleUnexpectedError)."""
    code = ErrorCode(error_code)
    if code in USUAL:
        quorum.refusals.pop(node, None)
    elif quorum.refusals.get(node) is not code:
        quorum.refusals[node] = code
        advice = ADVICE.get(code, "").format(cluster_id=quorum.cluster_id)
        yield Report(
            f"the controller at {quorum.endpoint_of(node)} refuses the requests of node"
            f" {quorum.node_id}: {code.name}{advice}"
        )


USUAL = (
    ErrorCode.NONE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.BROKER_NOT_AVAILABLE,
)
"""The answers that belong to elections: the requests after them name the newer epoch or leader."""
ADVICE = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: (
        "; this node belongs to cluster {cluster_id}, and that one to another: correct"
        " controller.quorum.voters or controller.quorum.bootstrap.servers, or give this node a"
        " directory of that cluster"
    ),
    ErrorCode.INVALID_VOTER_KEY: (
        "; its directory is not the one that the quorum knows as the voter's: remove this voter,"
        " and add it again with its new directory"
    ),
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: (
        "; name the principal of this node in the super.users of that controller"
    ),
}
"""Error -> what to do about it."""


def search(quorum: Quorum) -> Duty:
    """Find the leader by sending a fetch to one voter or bootstrap server after the other, from a
    random one on, until this node's state changes: a node that does not lead answers with the
    leader's id (KafkaRaftClient.maybeSendFetchToAnyBootstrap)."""
    turn, settings, others = quorum.turn, quorum.settings, quorum.others
    place = int.from_bytes(quorum.moment.random_bytes(1), "big")
    while quorum.turn == turn:
        yield Later(settings.election_timeout_ms // 10)
        place += 1
        if quorum.turn == turn:
            yield from fetch_once(quorum, others[place % len(others)])


def follow(quorum: Quorum) -> Duty:
    """Fetch the log from the leader, again and again, as long as this node follows it; pause after
    a fetch that failed."""
    turn, leader = quorum.turn, quorum.leader_id
    assert leader is not None
    while quorum.turn == turn:
        has_news = yield from fetch_once(quorum, leader)
        if not has_news and quorum.turn == turn:
            yield Later(quorum.settings.retry_backoff_ms)


def mind_own_vote(quorum: Quorum) -> Duty:
    """Once per fetch time-out, while this node follows the leader: report changed addresses of this
    voter; while the configuration names the voters, report them once, since the leader needs them
    to raise `kraft.version`. A controller that is not a voter asks to become one, if it may do so
    by itself; first it asks to remove the voter of its id with another directory (KIP-853;
    KIP-1186; KafkaRaftClient.pollFollower)."""
    turn, leader, is_told = quorum.turn, quorum.leader_id, False
    assert leader is not None
    while quorum.turn == turn:
        yield Later(quorum.settings.fetch_timeout_ms)
        composition = quorum.log.voters.latest
        known = composition.voters.get(quorum.node_id)
        is_configured = composition.kraft_version == 0
        if quorum.turn != turn or known == quorum.own_voter:
            continue
        if is_configured and (is_told or not quorum.is_voter):
            continue
        if quorum.is_voter:
            request = ApiKey.UPDATE_RAFT_VOTER, messages.update_voter_request(quorum)
        elif not quorum.settings.joins_by_itself:
            continue
        elif known is not None:  # the directory of this node was replaced
            request = ApiKey.REMOVE_RAFT_VOTER, messages.remove_voter_request(quorum, known.key)
        else:
            request = ApiKey.ADD_RAFT_VOTER, messages.add_voter_request(quorum)
        timeout_ms = quorum.settings.request_timeout_ms
        try:
            answer = yield Answer(leader, *request, timeout_ms, Lane.QUORUM)
        except Unanswered:
            continue  # the next turn of this loop asks again, as after a refusal
        is_told = is_configured and answer.error_code == ErrorCode.NONE


def fetch_once(quorum: Quorum, node: int) -> Generator[Any, Any, bool]:
    """Fetch once from a node and use its answer: append batches, cut the log, or fetch a snapshot.
    Return whether the node answered as the leader, with something that this node could use."""
    turn, settings = quorum.turn, quorum.settings
    body = messages.fetch_request(quorum, FETCH_WAIT_MS)
    try:
        answer = yield Answer(node, ApiKey.FETCH, body, settings.request_timeout_ms, Lane.METADATA)
    except Unanswered:
        return False
    yield from note_refusal(quorum, node, answer.error_code)
    row = None if answer.error_code else messages.only_row(answer)
    if row is None or quorum.turn != turn:
        return False
    quorum.hear(*messages.leader_in(row.current_leader, answer))
    if row.error_code != ErrorCode.NONE or quorum.turn != turn or node != quorum.leader_id:
        return False
    if row.snapshot_id.end_offset >= 0 and row.snapshot_id.epoch >= 0:
        id = SnapshotId(row.snapshot_id.end_offset, row.snapshot_id.epoch)
        return (yield from fetch_snapshot(quorum, node, id))
    if row.diverging_epoch.epoch >= 0:
        quorum.take_divergence((row.diverging_epoch.epoch, row.diverging_epoch.end_offset))
        return True
    try:
        for _ in quorum.take_fetched(bytes(row.records or b""), row.high_watermark):
            yield _PAUSE
    except CorruptRecord as error:
        yield Report(f"metadata that node {node} sent are damaged; they are fetched again: {error}")
        return False
    return True


def fetch_snapshot(quorum: Quorum, leader: int, id: SnapshotId) -> Generator[Any, Any, bool]:
    """Fetch a snapshot part by part, and go on from its end. Return whether that has succeeded. If
    not, drop the parts, or set a damaged snapshot aside and report it; the next fetch of the log
    begins again (KIP-630)."""
    snapshots = quorum.log.snapshots
    unfinished = snapshots.create(id)
    try:
        size = -1
        while unfinished.size != size:
            row = yield from fetch_part(quorum, leader, unfinished)
            if row is None or not row.unaligned_records or unfinished.size > row.size:
                unfinished.drop()
                return False
            size = row.size
        unfinished.freeze()
        snapshots.finished(id)
        quorum.take_snapshot((yield from paused(snapshots.read_in_slices(id))))
    except DamagedSnapshot as error:
        yield Report(f"from node {leader}: {snapshots.set_aside(id, error)}")
        return False
    return True


def paused(slices: Generator[None, None, Snapshot]) -> Generator[Any, Any, Snapshot]:
    """Read a snapshot to its end and return it, with a pause for other handlers after each slice.
    Raise what the slices raise, such as DamagedSnapshot."""
    while True:
        try:
            next(slices)
        except StopIteration as end:
            snapshot: Snapshot = end.value
            return snapshot
        yield _PAUSE


def fetch_part(
    quorum: Quorum, leader: int, unfinished: UnfinishedSnapshot
) -> Generator[Any, Any, Struct | None]:
    """Fetch the next part of a snapshot and append it to the unfinished file. Ask again while the
    leader is silent. Return the row of its answer, or None, with nothing appended, if the leader
    has refused or sent another part, or if this node's state has changed."""
    turn, settings, id = quorum.turn, quorum.settings, unfinished.id
    api_key, timeout_ms = ApiKey.FETCH_SNAPSHOT, settings.request_timeout_ms
    while quorum.turn == turn:
        body = messages.fetch_snapshot_request(quorum, id, unfinished.size)
        try:
            answer = yield Answer(leader, api_key, body, timeout_ms, Lane.METADATA)
        except Unanswered:
            yield Later(settings.retry_backoff_ms)
            continue
        row = None if answer.error_code else messages.only_row(answer)
        if row is None or quorum.turn != turn:
            return None
        quorum.hear(*messages.leader_in(row.current_leader, answer))
        is_it = (row.snapshot_id.end_offset, row.snapshot_id.epoch) == (id.offset, id.epoch)
        is_next = is_it and row.position == unfinished.size
        if row.error_code != ErrorCode.NONE or quorum.turn != turn or not is_next:
            return None
        quorum.heard_leader()
        unfinished.append(row.unaligned_records or b"")
        return row
    return None
