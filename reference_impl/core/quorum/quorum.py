"""One node's part in the quorum of the metadata log: Raft, as Kafka words it.

Source: KafkaRaftClient.java, QuorumState.java; KIP-595, KIP-996. Read it in this order: `states.py`
(the table of moves), `rules/agreeing.py` (the safety decisions), then this file, where each move
happens; `duties.py` asks the other nodes, and `handlers/` answers them. A node is a voter, or an
observer, which fetches the log and never votes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from uuid import UUID

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.configs.cluster import AUTO_JOIN
from reference_impl.core.moment import Moment
from reference_impl.core.quorum.election_state import (
    EPOCH_MAX,
    BadQuorumState,
    ElectionFile,
    ElectionState,
)
from reference_impl.core.quorum.epochs_ahead import EpochsAhead
from reference_impl.core.quorum.leadership import Leadership
from reference_impl.core.quorum.metadata_log import MetadataLog
from reference_impl.core.quorum.metadata_transactions import Committed
from reference_impl.core.quorum.snapshots.snapshot_file import Snapshot, SnapshotId
from reference_impl.core.quorum.states import RAFT, Move, State
from reference_impl.core.quorum.voters.voter_set import KRAFT_VERSIONS, ReplicaKey, Voter, Voters
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.rules.agreeing import LogEnd
from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import ErrorCode, Struct

FIRST_BOOTSTRAP = -2
"""The number of the first bootstrap server, whose node id is unknown, among `Quorum.others`."""


class Listener(Protocol):
    """A part of the node that is given the committed metadata records and told of new leaders."""

    def committed(self, batch: Committed) -> None:
        """Apply committed records; each batch comes once, in the log's order."""

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Note the new leader. The leader itself is told once all records of earlier epochs are
        committed and were passed to `committed`, so that it knows the state that it leads."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The time-outs of a node in the quorum."""

    election_timeout_ms: int
    election_backoff_ms_max: int
    fetch_timeout_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    snapshot_bytes_max: int
    """The bytes of a snapshot that a follower fetches at once."""
    joins_by_itself: bool = False
    """Whether a controller that is no voter asks the leader to become one (KIP-1186)."""

    @classmethod
    def of(cls, config: BrokerConfig) -> Settings:
        """Return the configured time-outs."""
        names = (
            *("election.timeout", "election.backoff.max", "fetch.timeout"),
            *("request.timeout", "retry.backoff"),
        )
        keys = *(f"{name}.ms" for name in names), "fetch.snapshot.max.bytes"
        election, backoff, fetch, request, retry, snapshot = (
            config.number(f"controller.quorum.{key}") for key in keys
        )
        joins = config.flag(AUTO_JOIN) and config.membership().is_controller
        return cls(election, backoff, fetch, request, retry, snapshot, joins)

    @property
    def quorum_patience_ms(self) -> int:
        """The milliseconds after which a leader resigns if no majority has fetched from it
        (KAFKA-15489)."""
        return self.fetch_timeout_ms * 3 // 2


@dataclass(frozen=True, slots=True)
class Member:
    """The place of a node in the quorum."""

    node_id: int
    directory_id: UUID
    """The id of the directory that holds the metadata log."""
    cluster_id: str
    settings: Settings
    listener: str = ""
    """The listener on which controllers ask each other."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """The addresses of this node's controller, by listener."""
    bootstrap: Sequence[Endpoint] = ()
    """Controllers that know who leads, for a node that knows nobody yet."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions by which the quorum notifies the rest of the node."""

    moved: Callable[[Quorum], None]
    """Called when the node has entered a state: it begins the duties of that state."""
    changed: Callable[[], None]
    """Called when the log, its high watermark or the leader has changed."""
    caught_up: Callable[[], None]
    """Called once, when the listeners have been given everything that was committed when this node
    started."""


class Quorum:
    """The state of one node in the quorum, and its metadata log."""

    def __init__(
        self,
        member: Member,
        log: MetadataLog,
        file: ElectionFile,
        moment: Moment,
        rules: Rules,
        hooks: Hooks,
    ) -> None:
        """Create a node that has not started."""
        self.node_id, self.cluster_id = member.node_id, member.cluster_id
        self.directory_id = member.directory_id
        self.settings, self.member = member.settings, member
        self._told_endpoints: dict[int, Endpoint] = {}
        """Where leaders have said that they are, by their ids."""
        self.log, self.moment, self.rules = log, moment, rules
        self.state = State.UNATTACHED
        self.election = ElectionState()
        self.turn = 0
        """The number of state changes so far. An answer or timer of an earlier turn is ignored."""
        self.deadline_ms: int | None = None
        """The time at which the current state ends, in milliseconds of the monotonic clock; None if
        it does not end by itself."""
        self.votes: dict[int, bool] = {}
        """Voter -> whether it has granted its vote (or pre-vote) in this turn."""
        self.leadership: Leadership | None = None
        self.hears_leader = False
        """Whether a fetch from the leader of this epoch has succeeded, in this turn."""
        self.refusals: dict[int, ErrorCode] = {}
        """Node -> the error with which it refuses this node, of which a report was made."""
        self.successors: Sequence[ReplicaKey] = ()
        """After this leader has resigned: the other voters, the most suitable leader first."""
        self._file, self._moved, self._changed = file, hooks.moved, hooks.changed
        self._catch_up, self._has_caught_up = hooks.caught_up, False
        self._listeners: list[Listener] = []
        self._epochs_ahead = EpochsAhead(moment)

    # --- what others ask ----------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        """The newest epoch that this node knows of."""
        return self.election.epoch

    @property
    def voters(self) -> Voters:
        """The voters in force, by their ids."""
        return self.log.voters.latest.voters

    @property
    def key(self) -> ReplicaKey:
        """The id of this node, and that of the directory with its log."""
        return self.node_id, self.directory_id

    @property
    def leader_id(self) -> int | None:
        """The leader of the epoch, as far as this node knows, unless it has resigned."""
        return None if self.state is State.RESIGNED else self.election.leader_id

    @property
    def is_leader(self) -> bool:
        """Whether this node leads the quorum."""
        return self.state is State.LEADER

    @property
    def active_epoch(self) -> int | None:
        """The epoch in which the controller of this node may decide: this node leads in it and has
        applied all earlier records. None if another controller may be the active one."""
        is_active = self.leadership is not None and self.leadership.is_announced
        return self.epoch if is_active else None

    @property
    def is_voter(self) -> bool:
        """Whether this node votes; if not it is an observer."""
        own = self.voters.get(self.node_id)
        return own is not None and own.is_replica(self.key)

    @property
    def own_voter(self) -> Voter:
        """The description of this node as a voter that it would give now."""
        return Voter(self.node_id, self.directory_id, self.member.endpoints, KRAFT_VERSIONS)

    def endpoint_of(self, node_id: int) -> Endpoint | None:
        """Return the address of another node's controller, or of a bootstrap server (`others`).
        Return None if it is unknown."""
        if node_id <= FIRST_BOOTSTRAP:
            return self.member.bootstrap[FIRST_BOOTSTRAP - node_id]
        voter = self.voters.get(node_id)
        named = None if voter is None else voter.endpoints.get(self.member.listener)
        return self._told_endpoints.get(node_id) or named

    def note_endpoint(self, node_id: int, endpoint: Endpoint) -> None:
        """Note where a node is that is not a voter yet."""
        self._told_endpoints[node_id] = endpoint

    @property
    def others(self) -> Sequence[int]:
        """The other voters, and the bootstrap servers by numbers below FIRST_BOOTSTRAP: nodes that
        may know the leader (KafkaRaftClient.maybeSendFetchToAnyBootstrap)."""
        servers = range(FIRST_BOOTSTRAP, FIRST_BOOTSTRAP - len(self.member.bootstrap), -1)
        return [*(voter for voter in self.voters if voter != self.node_id), *servers]

    @property
    def _may_stand(self) -> bool:
        """Whether this node stands for election. A leader that has removed itself does so until it
        knows that this is committed: it may be the only one whose log the others may follow (Raft,
        dissertation, 4.2.2)."""
        committed = self.log.voters.before(self.high_watermark).voters.get(self.node_id)
        return self.is_voter or (committed is not None and committed.is_replica(self.key))

    @property
    def _is_alone(self) -> bool:
        return self.is_voter and len(self.voters) == 1

    @property
    def end_offset(self) -> int:
        """The number of records in this node's log, whether or not they are committed."""
        return self.log.end_offset

    @property
    def high_watermark(self) -> int:
        """The number of records that are committed, as far as this node knows."""
        return self.log.high_watermark

    @property
    def told_high_watermark(self) -> int:
        """The high watermark that this leader reports to other nodes. It is -1 until a majority has
        a record of the leader's own epoch: only then does the leader know what is committed
        (LeaderState.highWatermark)."""
        is_known = self.leadership is not None and self.leadership.is_announced
        return self.high_watermark if is_known else -1

    @property
    def is_in_transaction(self) -> bool:
        """Return whether the committed part of the log ends within a metadata transaction."""
        return self.log.is_in_transaction

    def listen(self, listener: Listener) -> None:
        """Tell a listener of all records that are committed from now on, and of each new leader."""
        self._listeners.append(listener)
        self.log.listen(listener.committed)

    # --- start --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin with the state that the last process left on disk. A sole voter elects itself at
        once. Raise StorageError, also if no epoch is left for another election."""
        kept = self._file.load() or ElectionState()
        if kept.epoch < self.log.last_epoch:
            kept = ElectionState(self.log.last_epoch)
        if kept.epoch >= EPOCH_MAX:
            raise BadQuorumState(
                self._file.path,
                f"the epoch {kept.epoch}, of this file or of the metadata log, is the last one, and"
                " no leader can be elected after it: restore the directory from a copy",
            )
        leader, self.election = kept.leader_id, kept
        if self._is_alone:
            self._stand()
        elif leader == self.node_id:
            # The records of this leadership may not be written by two processes: never lead twice
            # in one epoch (QuorumState.initialize).
            self._enter(State.RESIGNED, kept, self._election_ms())
        elif leader is not None:
            self._enter(State.FOLLOWER, kept, self.settings.fetch_timeout_ms)
        else:
            self._enter(State.UNATTACHED, kept, self._election_ms())

    # --- time ---------------------------------------------------------------------------------

    def time_passed(self) -> None:
        """Act if the deadline of the current state has passed."""
        if self.deadline_ms is None or self.moment.monotonic_ms < self.deadline_ms:
            return
        match self.state:
            case State.LEADER:
                self._check_quorum()
            case State.UNATTACHED | State.FOLLOWER if not self._may_stand:
                # The leader may be another one: any voter knows.
                self._move(Move.NEWER_EPOCH, ElectionState(self.epoch), self._election_ms())
            case State.UNATTACHED | State.FOLLOWER | State.CANDIDATE:
                self._move(Move.TIMED_OUT, self.election, self._election_ms())
                self.vote_answered(self.node_id, self.turn, is_granted=True)
            case State.PROSPECTIVE:
                self._lose_pre_election()
            case State.RESIGNED:
                # Who was removed as a voter stands for nothing, and must not disturb the others.
                following = (
                    ElectionState(self.epoch + 1)
                    if self.is_voter and self.epoch < EPOCH_MAX
                    else ElectionState(self.epoch, None, *self.key)
                )
                self._move(Move.TIMED_OUT, following, self._election_ms())

    def _election_ms(self) -> int:
        """Return the time-out of an election in milliseconds. It is random, so that voters do not
        all become candidates at the same time."""
        return self.settings.election_timeout_ms + self._chance(self.settings.election_timeout_ms)

    def _chance(self, below: int) -> int:
        return int.from_bytes(self.moment.random_bytes(4), "big") % max(1, below)

    # --- moves --------------------------------------------------------------------------------

    def _move(self, move: Move, election: ElectionState, wait_ms: int | None) -> None:
        self._enter(RAFT[self.state][move], election, wait_ms)

    def _enter(self, state: State, election: ElectionState, wait_ms: int | None) -> None:
        """Write the election to disk, then enter a state and start its timer. Raise StorageError,
        and change nothing."""
        known = self.leader_id, self.epoch
        if election != self.election or not self.turn:
            self.rules.keep_election(lambda: self._file.save(election))
        self.state, self.election = state, election
        self.turn += 1
        self.votes, self.hears_leader = {}, False
        if state is not State.LEADER:
            self.leadership = None
        self._wait(wait_ms)
        self._moved(self)
        self._changed()
        if not self.is_leader and (self.leader_id, self.epoch) != known:
            self._tell_leader()

    def _wait(self, wait_ms: int | None) -> None:
        self.deadline_ms = None if wait_ms is None else self.moment.monotonic_ms + wait_ms

    def hear(self, epoch: int, leader_id: int | None, endpoint: Endpoint | None = None) -> None:
        """Take into account the epoch and the leader that another node has named: follow them if
        they are newer. endpoint: where the leader is, if the other node has said so; then it may be
        a voter that this node has not heard of yet. Ignore an epoch that elections cannot have
        reached."""
        if self.cannot_reach(epoch):
            return
        if leader_id is not None and endpoint is not None and epoch >= self.epoch:
            self._told_endpoints[leader_id] = endpoint
        is_known = leader_id is not None and self.endpoint_of(leader_id) is not None
        leader = leader_id if is_known and leader_id != self.node_id else None
        is_newer = self.rules.follows_newer_epoch(epoch, self.epoch)
        if is_newer:
            self._epochs_ahead.follow(epoch - self.epoch)
        if leader is not None and (is_newer or (epoch == self.epoch and self.leader_id is None)):
            kept = ElectionState(epoch) if is_newer else self.election
            found = replace(kept, leader_id=leader)
            self._move(Move.LEADER_FOUND, found, self.settings.fetch_timeout_ms)
        elif is_newer:
            left_ms = self._election_ms()
            if self.state is State.UNATTACHED and self.deadline_ms is not None:
                left_ms = max(0, self.deadline_ms - self.moment.monotonic_ms)
            self._move(Move.NEWER_EPOCH, ElectionState(epoch), left_ms)

    def cannot_reach(self, epoch: int) -> bool:
        """Return whether an epoch is so far ahead that no series of elections can have led to
        it."""
        return not self._epochs_ahead.allows(epoch - self.epoch)

    # --- elections ----------------------------------------------------------------------------

    def _stand(self) -> None:
        """Become a candidate in a new epoch, and vote for itself. If no epoch is left, wait for a
        leader of the current one."""
        if self.epoch >= EPOCH_MAX:
            self._lose_pre_election()
            return
        election = ElectionState(self.epoch + 1, None, *self.key)
        self._enter(State.CANDIDATE, election, self._election_ms())
        self.vote_answered(self.node_id, self.turn, is_granted=True)

    def vote_asked(
        self, candidate: ReplicaKey, epoch: int, end: LogEnd, *, is_pre_vote: bool
    ) -> bool:
        """Return whether this node votes for the candidate. A vote is on disk before this returns.
        The candidate, and this node, may be voters by a record that this node has not seen yet
        (KIP-853)."""
        self.hear(epoch, None)
        is_up_to_date = self.rules.is_up_to_date(end, self.log.end)
        if is_pre_vote:
            hears_leader = self.is_leader or self.hears_leader
            return self.rules.grants_pre_vote(
                hears_leader=hears_leader, is_up_to_date=is_up_to_date
            )
        is_free = self.state in (State.UNATTACHED, State.PROSPECTIVE)
        election = self.election
        if not (
            is_free
            and is_up_to_date
            and self.rules.may_vote_for(candidate, election.voted, election.leader_id)
        ):
            return False
        voted = replace(election, voted_id=candidate[0], voted_directory=candidate[1])
        if self.state is State.PROSPECTIVE:
            self._move(Move.ELECTION_LOST, voted, self._election_ms())
        elif voted != election:
            self._enter(State.UNATTACHED, voted, self._election_ms())
        return True

    def vote_answered(self, voter: int, turn: int, *, is_granted: bool) -> None:
        """Count a voter's answer to a request for a vote or pre-vote, if it was sent in this
        turn."""
        if turn != self.turn or self.state not in (State.PROSPECTIVE, State.CANDIDATE):
            return
        self.votes[voter] = is_granted
        granted = sum(self.votes.get(each, False) for each in self.voters)
        refused = sum(not self.votes.get(each, True) for each in self.voters)
        if self.rules.has_majority(granted, len(self.voters)):
            if self.state is State.PROSPECTIVE:
                self._stand()
            else:
                self._lead()
        elif refused >= len(self.voters) - len(self.voters) // 2:
            self._lose()

    def _lose(self) -> None:
        """Handle that a majority of voters has refused this node: end the pre-election, or wait
        before the next election."""
        if self.state is State.PROSPECTIVE:
            self._lose_pre_election()
        else:
            self._wait(self._chance(self.settings.election_backoff_ms_max))
            self._moved(self)

    def _lose_pre_election(self) -> None:
        if self.leader_id is None:
            self._move(Move.ELECTION_LOST, self.election, self._election_ms())
        else:
            self._move(Move.LEADER_FOUND, self.election, self.settings.fetch_timeout_ms)

    # --- leading ------------------------------------------------------------------------------

    def _lead(self) -> None:
        """Become the leader: write the first record of the epoch."""
        granting = [voter for voter in self.voters if self.votes.get(voter)]
        election = replace(self.election, leader_id=self.node_id)
        now_ms = self.moment.monotonic_ms
        self.leadership = Leadership(self.node_id, self.voters, self.end_offset, now_ms)
        patience_ms = None if self._is_alone else self.settings.quorum_patience_ms
        self._move(Move.MAJORITY_GRANTED, election, patience_ms)
        self.log.begin_epoch(self.node_id, granting, self.epoch, self.moment.now_ms)
        self.commit()

    def append(self, records: Sequence[Struct], now_ms: int) -> int:
        """Append one batch as the leader, and return the offset after it. `commit`, which follows,
        tells the listeners if this node alone is a majority. Raise Refused(NOT_CONTROLLER),
        StorageError."""
        if self.active_epoch is None:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        end_offset = self.log.append(records, self.epoch, now_ms)
        self._changed()
        return end_offset

    def commit(self) -> None:
        """Raise the high watermark as far as a majority of the voters has the log."""
        leadership = self.leadership
        if leadership is None:
            return
        ends = leadership.ends(self.end_offset)
        committed = self.rules.committed_end(ends, leadership.epoch_start_offset)
        if committed is None or committed <= self.high_watermark:
            return
        self.log.commit(committed)
        self._changed()
        if not leadership.is_announced:
            leadership.is_announced = True
            self._note_caught_up()
            self._tell_leader()
        if not self.is_voter and self.log.voters.latest.offset < self.high_watermark:
            self.resign()  # its own removal is committed (RemoveVoterHandler.highWatermarkUpdated)

    def change_voters(self, voters: Voters) -> int:
        """Append new voters as the leader, which are in force at once. Return the offset after
        the record. Raise StorageError."""
        assert self.leadership is not None
        end_offset = self.log.append_voters(voters, self.epoch, self.moment.now_ms)
        self.leadership.take_voters(voters)
        self._wait(None if self._is_alone else self.settings.quorum_patience_ms)
        self._moved(self)
        self._changed()
        self.commit()
        return end_offset

    def fetched(self, replica: ReplicaKey, offset: int) -> None:
        """Note that a replica has everything below this offset, and commit the records that a
        majority has now."""
        if self.leadership is not None:
            now_ms, wall_ms = self.moment.monotonic_ms, self.moment.now_ms
            self.leadership.fetched(replica, offset, self.end_offset, now_ms, wall_ms)
            self.commit()

    def snapshot_for(self, follower: LogEnd) -> SnapshotId | None:
        """Return the snapshot that a follower must fetch because this leader's log cannot continue
        the follower's log, or None if it can."""
        snapshots = self.log.snapshots
        if snapshots.earliest is None:
            return None
        earliest = snapshots.earliest.epoch, snapshots.earliest.offset
        is_needed = self.rules.needs_snapshot(follower, self.log.start_offset, earliest)
        return snapshots.latest if is_needed else None

    def heard(self, replica: ReplicaKey) -> None:
        """Note that a replica fetches a snapshot."""
        if self.leadership is not None:
            self.leadership.heard(replica, self.moment.monotonic_ms)

    def resign(self) -> None:
        """Stop being the leader, and let the others elect a successor at once."""
        if self.leadership is not None:
            self.successors = self.leadership.by_progress()
        self._move(Move.QUORUM_LOST, self.election, self._election_ms())

    def _check_quorum(self) -> None:
        assert self.leadership is not None
        now_ms, patience_ms = self.moment.monotonic_ms, self.settings.quorum_patience_ms
        silent_ms = now_ms - self.leadership.quorum_heard_ms(now_ms)
        if self.rules.has_lost_quorum(silent_ms, patience_ms):
            self.resign()
        else:
            self._wait(max(1, patience_ms - silent_ms))
            self._moved(self)

    # --- following ----------------------------------------------------------------------------

    def leader_ends(self, successors: Sequence[int]) -> None:
        """Handle that the leader of this epoch has resigned: the first of the successors asks for
        votes at once, the others later, each after twice the time (KIP-595)."""
        if self.state is State.FOLLOWER and self.is_voter:
            place = successors.index(self.node_id) if self.node_id in successors else 6
            most_ms = self.settings.election_backoff_ms_max
            first_ms = self.settings.retry_backoff_ms << place
            self._wait(min(most_ms, first_ms + self._chance(first_ms)) if place else 0)
            self.hears_leader = False
            self._moved(self)

    def take_fetched(self, data: bytes, high_watermark: int) -> None:
        """Append the batches that the leader has sent, and commit up to its high watermark. Raise
        CorruptRecord, StorageError."""
        self.heard_leader()
        if data:
            self.log.append_fetched(data, self.moment.now_ms)
        self.log.commit(min(high_watermark, self.end_offset))
        if self.rules.has_caught_up(self.end_offset, high_watermark):
            self._note_caught_up()
        self._changed()

    def take_divergence(self, told: LogEnd) -> None:
        """Cut off the records that the leader's log lacks. Raise CorruptLog, StorageError."""
        self.heard_leader()
        found = self.log.end_of_epoch(told[0])
        self.log.truncate(self.rules.truncation_offset(told, found))

    def take_snapshot(self, snapshot: Snapshot) -> None:
        """Begin again with a snapshot that the leader has sent, if it ends later than this log.
        Raise StorageError, CorruptLog."""
        id = snapshot.id
        if self.rules.replaces_log((id.epoch, id.offset), self.log.end):
            self.log.load(snapshot)
            self._changed()

    def _note_caught_up(self) -> None:
        if not self._has_caught_up:
            self._has_caught_up = True
            self._catch_up()

    def heard_leader(self) -> None:
        """Note that the leader of this epoch is alive."""
        self.hears_leader = True
        self._wait(self.settings.fetch_timeout_ms)

    def _tell_leader(self) -> None:
        for listener in self._listeners:
            listener.leader_changed(self.leader_id, self.epoch)
