"""One node's part in the quorum of the metadata log: Raft, as Kafka words it.

Source: KafkaRaftClient.java, QuorumState.java; KIP-595, KIP-996. Read it in this order: `states.py`
(the table of moves), `rules/agreeing.py` (the safety decisions), `quorum_state.py` (what a node
knows), then this file, where each move happens; `duties.py` asks the other nodes, and `handlers/`
answers them. A node is a voter, or an observer, which fetches the log and never votes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from reference_impl.core.moment import Moment
from reference_impl.core.quorum.batches.accumulator import Accumulator, MetadataBatch
from reference_impl.core.quorum.elections.election_state import (
    EPOCH_MAX,
    BadQuorumState,
    ElectionFile,
    ElectionState,
)
from reference_impl.core.quorum.leadership import Leadership
from reference_impl.core.quorum.member import Hooks, Member
from reference_impl.core.quorum.metadata_log import MetadataLog
from reference_impl.core.quorum.quorum_state import Listener, QuorumState
from reference_impl.core.quorum.snapshots.snapshot_file import Snapshot
from reference_impl.core.quorum.states import RAFT, Move, State
from reference_impl.core.quorum.voters.voter_set import ReplicaKey, Voters
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.rules.agreeing import LogEnd
from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import ErrorCode, Struct


class Quorum(QuorumState):
    """The moves of one node in the quorum: elections, leading and following."""

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
        super().__init__(member, log, moment, rules)
        self._file, self._moved, self._changed = file, hooks.moved, hooks.changed
        self._catch_up, self._has_caught_up = hooks.caught_up, False
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Notify a listener of all records that are committed from now on, and of each new
        leader."""
        self._listeners.append(listener)
        self.log.listen(listener.committed)

    # --- start --------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin with the epoch, leader and vote that the last process left on disk; a node that led
        resigns. A sole voter elects itself immediately. Raise BadQuorumState if that file is
        damaged or no epoch is left for another election, another StorageError if the disk fails."""
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
        """If the deadline of the current state has passed, ask for pre-votes, end a lost
        pre-election, search the leader, stop being resigned, or resign as a leader from which no
        majority fetches. Raise StorageError if the election cannot be written."""
        if self.deadline_ms is None or self.moment.monotonic_ms < self.deadline_ms:
            return
        match self.state:
            case State.LEADER:
                self._check_quorum()
            case State.UNATTACHED | State.FOLLOWER if not self._may_stand:
                # Ask any voter for the leader, which may have changed.
                self._move(Move.NEWER_EPOCH, ElectionState(self.epoch), self._election_ms())
            case State.UNATTACHED | State.FOLLOWER | State.CANDIDATE:
                self._move(Move.TIMED_OUT, self.election, self._election_ms())
                self.vote_answered(self.node_id, self.turn, is_granted=True)
            case State.PROSPECTIVE:
                self._lose_pre_election()
            case State.RESIGNED:
                # A node that is no longer a voter does not stand, and must not disturb the others.
                following = (
                    ElectionState(self.epoch + 1)
                    if self.is_voter and self.epoch < EPOCH_MAX
                    else ElectionState(self.epoch, None, *self.key)
                )
                self._move(Move.TIMED_OUT, following, self._election_ms())

    # --- moves --------------------------------------------------------------------------------

    def _move(self, move: Move, election: ElectionState, wait_ms: int | None) -> None:
        self._enter(RAFT[self.state][move], election, wait_ms)

    def _enter(self, state: State, election: ElectionState, wait_ms: int | None) -> None:
        """Write the election to disk if it is new, then enter a state, set its deadline and notify
        the rest of the node. If the write fails, change nothing and raise StorageError."""
        known = self.leader_id, self.epoch
        if election != self.election or not self.turn:
            self.rules.keep_election(lambda: self._file.save(election))
        self.state, self.election = state, election
        self.turn += 1
        self.votes, self.hears_leader = {}, False
        if state is not State.LEADER:
            self.leadership = None
        self._wait(wait_ms)
        self._moved()
        self._changed()
        if not self.is_leader and (self.leader_id, self.epoch) != known:
            self._tell_leader()

    def _wait(self, wait_ms: int | None) -> None:
        self.deadline_ms = None if wait_ms is None else self.moment.monotonic_ms + wait_ms

    def hear(self, epoch: int, leader_id: int | None, endpoint: Endpoint | None = None) -> None:
        """Follow the epoch and the leader that another node has named if they are newer, or if no
        leader of the epoch is known. endpoint: the leader's address, if told; ignore a leader
        without a known address. Ignore an epoch that elections cannot have reached. Raise
        StorageError if the election cannot be written."""
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

    # --- elections ----------------------------------------------------------------------------

    def _stand(self) -> None:
        """Become a candidate in a new epoch, and vote for itself. If no epoch is left, follow the
        leader of the current one, or wait for one."""
        if self.epoch >= EPOCH_MAX:
            self._lose_pre_election()
            return
        election = ElectionState(self.epoch + 1, None, *self.key)
        self._enter(State.CANDIDATE, election, self._election_ms())
        self.vote_answered(self.node_id, self.turn, is_granted=True)

    def vote_asked(
        self, candidate: ReplicaKey, epoch: int, end: LogEnd, *, is_pre_vote: bool
    ) -> bool:
        """Follow the candidate's epoch if it is newer, and return whether this node votes for the
        candidate, which may be a voter by a record not seen here yet (KIP-853). A vote is on disk
        before this returns; a pre-vote is not stored. Raise StorageError if the disk fails."""
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
        """Count a voter's answer to a request for a vote or pre-vote, if it was sent in this turn.
        With a majority, stand for election or lead; if so many refuse that there can be none, give
        up for now."""
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
        """Handle that too many voters have refused: end the pre-election, or delay the next
        election."""
        if self.state is State.PROSPECTIVE:
            self._lose_pre_election()
        else:
            self._wait(self._chance(self.settings.election_backoff_ms_max))
            self._moved()

    def _lose_pre_election(self) -> None:
        if self.leader_id is None:
            self._move(Move.ELECTION_LOST, self.election, self._election_ms())
        else:
            self._move(Move.LEADER_FOUND, self.election, self.settings.fetch_timeout_ms)

    # --- leading ------------------------------------------------------------------------------

    def _lead(self) -> None:
        """Become the leader: write the first record of the epoch; commit it if no other node
        votes."""
        granting = [voter for voter in self.voters if self.votes.get(voter)]
        election = replace(self.election, leader_id=self.node_id)
        now_ms = self.moment.monotonic_ms
        self.leadership = Leadership(self.node_id, self.voters, self.end_offset, now_ms)
        if self.is_voter:
            self.leadership.told_voters[self.node_id] = self.own_voter
        patience_ms = None if self._is_alone else self.settings.quorum_patience_ms
        self._move(Move.MAJORITY_GRANTED, election, patience_ms)
        self.log.begin_epoch(self.node_id, granting, self.epoch, self.moment.now_ms)
        self.commit()

    def append(self, records: Sequence[Struct], now_ms: int) -> int:
        """As the leader, collect or write these records, and return the offset after them. The
        caller must call `commit` next. Take none of them and raise Refused(NOT_CONTROLLER) unless
        this is the active controller, StorageError if the disk fails."""
        decision = MetadataBatch.of(records, now_ms)
        leadership, linger_ms = self.leadership, self.settings.append_linger_ms
        lingers = leadership is not None and leadership.accumulator.takes(decision, linger_ms)
        if not lingers:
            self.drain()
        if self.active_epoch is None or leadership is None:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        if not lingers:
            end_offset = self.log.append(decision, self.epoch, now_ms)
            self._changed()
            return end_offset
        leadership.accumulator.add(decision, self.moment.monotonic_ms + linger_ms)
        self._moved()
        return self.end_offset + len(leadership.accumulator)

    def drain(self) -> None:
        """As the leader, write the collected records, and commit them if this node is a majority.
        If the disk fails, raise StorageError and keep them."""
        leadership = self.leadership
        if leadership is None or not leadership.accumulator:
            return
        leadership.accumulator.has_failed = True
        self.log.append(leadership.accumulator.batch, self.epoch, self.moment.now_ms)
        leadership.accumulator = Accumulator()
        self._changed()
        self.commit()

    def commit(self) -> None:
        """Raise the high watermark as far as a majority of the voters has the log, and give the
        listeners what is committed. With the first record of its own epoch the leader is announced;
        a leader whose own removal is committed resigns. Do nothing on a node that does not lead."""
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

    def change_voters(self, voters: Voters, level: int = 1) -> int:
        """As the leader, append new voters, in force at once, with this level of `kraft.version`.
        Return the offset after the record. Raise StorageError if the disk fails."""
        self.drain()
        assert self.leadership is not None
        end_offset = self.log.append_voters(voters, self.epoch, self.moment.now_ms, level)
        self.leadership.take_voters(voters)
        self._wait(None if self._is_alone else self.settings.quorum_patience_ms)
        self._moved()
        self._changed()
        self.commit()
        return end_offset

    def fetched(self, replica: ReplicaKey, offset: int) -> None:
        """As the leader, note that a replica has everything below this offset, and commit the
        records that a majority has by now. Ignore it if this node does not lead."""
        if self.leadership is not None:
            now_ms, wall_ms = self.moment.monotonic_ms, self.moment.now_ms
            self.leadership.fetched(replica, offset, self.end_offset, now_ms, wall_ms)
            self.commit()

    def heard(self, replica: ReplicaKey) -> None:
        """As the leader, record that a replica fetches a snapshot, so that it counts as alive."""
        if self.leadership is not None:
            self.leadership.heard(replica, self.moment.monotonic_ms)

    def resign(self) -> None:
        """As the leader, stop leading; `successors` then names the other voters, the best first."""
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
            self._moved()

    # --- following ----------------------------------------------------------------------------

    def leader_ends(self, successors: Sequence[int]) -> None:
        """Handle that the leader of this epoch has resigned: the first of the successors asks for
        votes at once, each of the others after about twice the time of the one before, an unnamed
        voter like the seventh, and none later than controller.quorum.election.backoff.max.ms
        (KIP-595). Do nothing unless this voter follows."""
        if self.state is State.FOLLOWER and self.is_voter:
            place = successors.index(self.node_id) if self.node_id in successors else 6
            most_ms = self.settings.election_backoff_ms_max
            first_ms = self.settings.retry_backoff_ms << place
            self._wait(min(most_ms, first_ms + self._chance(first_ms)) if place else 0)
            self._moved()

    def take_fetched(self, data: bytes, high_watermark: int) -> Iterator[None]:
        """Append the batches that the leader has sent, and commit up to its high watermark. Yield
        after each batch: to put one in force may take long. Raise CorruptRecord, CorruptLog or
        StorageError as `MetadataLog.append_fetched` does."""
        self.heard_leader()
        if data:
            self.log.append_fetched(data, self.moment.now_ms)
            yield
        yield from self.log.commit_in_slices(min(high_watermark, self.end_offset))
        if self.rules.has_caught_up(self.end_offset, high_watermark):
            self._note_caught_up()
        self._changed()

    def take_divergence(self, told: LogEnd) -> None:
        """Cut off the records that the leader's log lacks. told: the epoch where the logs diverge,
        and its end offset in the leader's log. Raise CorruptLog if a committed record would go,
        StorageError if the disk fails."""
        self.heard_leader()
        found = self.log.end_of_epoch(told[0])
        self.log.truncate(self.rules.truncation_offset(told, found))

    def take_snapshot(self, snapshot: Snapshot) -> None:
        """Replace the log with a snapshot from the leader, if it ends later than the log. Raise
        CorruptLog if it lacks committed records, StorageError if the disk fails."""
        id = snapshot.id
        if self.rules.replaces_log((id.epoch, id.offset), self.log.end):
            self.log.load(snapshot)
            self._changed()

    def _note_caught_up(self) -> None:
        if not self._has_caught_up:
            self._has_caught_up = True
            self._catch_up()

    def heard_leader(self) -> None:
        """Record that the leader of this epoch is alive, and restart the fetch time-out."""
        self.hears_leader = True
        self._wait(self.settings.fetch_timeout_ms)

    def _tell_leader(self) -> None:
        for listener in self._listeners:
            listener.leader_changed(self.leader_id, self.epoch)
