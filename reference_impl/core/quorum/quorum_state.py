"""The state of one node in the quorum, which the rest of the node may read.

Source: QuorumState.java, LeaderState.java. `Quorum` (quorum.py) changes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reference_impl.core.moment import Moment
from reference_impl.core.quorum.elections.election_state import ElectionState
from reference_impl.core.quorum.elections.epochs_ahead import EpochsAhead
from reference_impl.core.quorum.leadership import Leadership
from reference_impl.core.quorum.member import Member
from reference_impl.core.quorum.metadata_log import MetadataLog
from reference_impl.core.quorum.metadata_transactions import Committed
from reference_impl.core.quorum.states import State
from reference_impl.core.quorum.voters.voter_set import KRAFT_VERSIONS, ReplicaKey, Voter, Voters
from reference_impl.core.rules import Rules
from reference_impl.core.security.listeners import Endpoint
from reference_impl.wire import ErrorCode

FIRST_BOOTSTRAP = -2
"""The number of the first bootstrap server, whose node id is unknown, among `Quorum.others`."""


class Listener(Protocol):
    """A part of the node that receives the committed metadata records and each new leader."""

    def committed(self, batch: Committed) -> None:
        """Apply committed records; each batch comes once, in the log's order."""

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Note the new leader. The leader itself is notified after every record of an earlier epoch
        is committed and was passed to `committed`, so that it knows the state that it leads."""


class QuorumState:
    """The epoch, the voters, the leader and the offsets that one node knows."""

    def __init__(self, member: Member, log: MetadataLog, moment: Moment, rules: Rules) -> None:
        """Create the state of a node in epoch 0, without a leader."""
        self.node_id, self.cluster_id = member.node_id, member.cluster_id
        self.directory_id = member.directory_id
        self.settings, self.member = member.settings, member
        self.log, self.moment, self.rules = log, moment, rules
        self._told_endpoints: dict[int, Endpoint] = {}
        """The addresses that leaders and joining nodes have given, by their ids."""
        self._epochs_ahead = EpochsAhead(moment)
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
        """Node -> the error with which it refuses this node, after that was reported."""
        self.successors: Sequence[ReplicaKey] = ()
        """After this leader has resigned: the other voters, the most suitable leader first."""

    @property
    def epoch(self) -> int:
        """Return the newest epoch that this node knows of."""
        return self.election.epoch

    @property
    def voters(self) -> Voters:
        """Return the voters in force, by their ids."""
        return self.log.voters.latest.voters

    @property
    def key(self) -> ReplicaKey:
        """Return the id of this node, and that of the directory with its log."""
        return self.node_id, self.directory_id

    @property
    def leader_id(self) -> int | None:
        """Return the leader of the epoch, as far as this node knows, or None if it is unknown or
        was this node, which has resigned."""
        return None if self.state is State.RESIGNED else self.election.leader_id

    @property
    def is_leader(self) -> bool:
        """Return whether this node leads the quorum."""
        return self.state is State.LEADER

    @property
    def active_epoch(self) -> int | None:
        """Return the epoch in which the controller of this node may decide: this node leads in it
        and has applied all earlier records. Return None if another controller may be the active
        one."""
        is_active = self.leadership is not None and self.leadership.is_announced
        return self.epoch if is_active else None

    @property
    def is_voter(self) -> bool:
        """Return whether this node, with its present directory, is a voter; if not it is an
        observer."""
        own = self.voters.get(self.node_id)
        return own is not None and own.is_replica(self.key)

    @property
    def own_voter(self) -> Voter:
        """Return the description of this node as a voter, with its present addresses, and the
        levels of `kraft.version` that it supports."""
        return Voter(self.node_id, self.directory_id, self.member.endpoints, KRAFT_VERSIONS)

    def note_endpoint(self, node_id: int, endpoint: Endpoint) -> None:
        """Store the address of a node that is not a voter yet."""
        self._told_endpoints[node_id] = endpoint

    def endpoint_of(self, node_id: int) -> Endpoint | None:
        """Return the address of another node's controller, or of a bootstrap server by its number
        in `others`. An address that a node has told prevails over that of the voters' record.
        Return None if it is unknown."""
        if node_id <= FIRST_BOOTSTRAP:
            return self.member.bootstrap[FIRST_BOOTSTRAP - node_id]
        voter = self.voters.get(node_id)
        named = None if voter is None else voter.endpoints.get(self.member.listener)
        return self._told_endpoints.get(node_id) or named

    @property
    def others(self) -> Sequence[int]:
        """Return the other voters, and the bootstrap servers by the numbers from FIRST_BOOTSTRAP
        downwards: nodes that may know the leader (KafkaRaftClient.maybeSendFetchToAnyBootstrap)."""
        servers = range(FIRST_BOOTSTRAP, FIRST_BOOTSTRAP - len(self.member.bootstrap), -1)
        return [*(voter for voter in self.voters if voter != self.node_id), *servers]

    @property
    def _may_stand(self) -> bool:
        """Return whether this node stands for election: it is a voter, or was one by the committed
        log. A leader that has removed itself stands until it knows that this is committed: it may
        be the only one whose log the others may follow (Raft, dissertation, 4.2.2)."""
        committed = self.log.voters.before(self.high_watermark).voters.get(self.node_id)
        return self.is_voter or (committed is not None and committed.is_replica(self.key))

    @property
    def _is_alone(self) -> bool:
        return self.is_voter and len(self.voters) == 1

    @property
    def end_offset(self) -> int:
        """Return the offset after the last record of this node's log, committed or not."""
        return self.log.end_offset

    @property
    def high_watermark(self) -> int:
        """Return the offset after the last committed record, as far as this node knows."""
        return self.log.high_watermark

    @property
    def told_high_watermark(self) -> int:
        """Return the high watermark that this leader reports to other nodes. It is -1 until a
        majority has a record of the leader's own epoch: only then does the leader know what is
        committed (LeaderState.highWatermark). It is -1 on a node that does not lead, too."""
        is_known = self.leadership is not None and self.leadership.is_announced
        return self.high_watermark if is_known else -1

    def cannot_reach(self, epoch: int) -> bool:
        """Return whether an epoch is so far ahead that no series of elections can have led to
        it."""
        return not self._epochs_ahead.allows(epoch - self.epoch)

    @property
    def is_in_transaction(self) -> bool:
        """Return whether the committed part of the log ends within a metadata transaction."""
        return self.log.is_in_transaction

    def _election_ms(self) -> int:
        """Return the time-out of an election in milliseconds. It is random, so that voters do not
        all become candidates at the same time."""
        return self.settings.election_timeout_ms + self._chance(self.settings.election_timeout_ms)

    def _chance(self, below: int) -> int:
        return int.from_bytes(self.moment.random_bytes(4), "big") % max(1, below)
