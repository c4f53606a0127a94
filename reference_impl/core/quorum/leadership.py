"""The followers as the leader sees them: how far their logs reach, and when they fetched.

Source: LeaderState.java. A fetch at an offset says that the follower has synced everything below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reference_impl.core.quorum.batches.accumulator import Accumulator
from reference_impl.core.quorum.voters.voter_set import ReplicaKey, Voter, Voters

OBSERVER_SESSION_MS = 300_000
"""DescribeQuorum lists an observer for this many milliseconds after its last fetch."""


@dataclass(slots=True)
class Progress:
    """The progress of one replica, a voter or an observer, by its fetches. Each field is -1 until
    it is known."""

    end_offset: int = -1
    """The offset of the replica's last fetch: it has synced everything below."""
    fetched_at_ms: int = -1
    """The time of the last fetch, in milliseconds of the monotonic clock; -1 before the first
    fetch."""
    fetched_at_wall_ms: int = -1
    caught_up_at_wall_ms: int = -1
    """The newest time at which the replica is known to have had the leader's whole log."""
    leader_end_offset: int = -1
    """The end of the leader's log at the replica's last fetch. When the replica reaches that offset
    later, it was caught up at the time of that fetch."""


class Leadership:
    """A leader's state during its epoch: the progress of every replica."""

    def __init__(self, node_id: int, voters: Voters, epoch_start_offset: int, now_ms: int) -> None:
        self.epoch_start_offset = epoch_start_offset
        """The offset of the LeaderChange record, the first of the epoch."""
        self.is_announced = False
        """Whether the LeaderChange record is committed and the listeners have been told of the
        leader."""
        self.began_ms = now_ms
        self.accumulator = Accumulator()
        """The decisions that are not in the log yet."""
        self.is_changing_voters = False
        """Whether a request to add, remove or update a voter is under way."""
        self.followers: dict[int, Progress] = {}
        """The progress of the other voters."""
        self._node_id, self._voters = node_id, voters
        self.told_voters: dict[int, Voter] = dict(voters)
        """The voters as they have reported themselves to this leader. Until a voter has, its entry
        is the configured one, without its directory and its levels of `kraft.version`."""
        self._observers: dict[ReplicaKey, Progress] = {}
        self.take_voters(voters)

    def take_voters(self, voters: Voters) -> None:
        """Replace the set of voters. Keep the progress of a replica that becomes a voter, or ceases
        to be one (LeaderState.updateVoterAndObserverStates)."""
        known = dict(self._observers)
        known |= {self._voters[node].key: state for node, state in self.followers.items()}
        before, self._voters, self.followers = self._voters, voters, {}
        for voter in voters.values():
            if voter.node_id != self._node_id:
                old = before.get(voter.node_id)
                # A configured voter has no directory: it stays the same when it gets its own.
                key = old.key if old is not None and old.is_replica(voter.key) else voter.key
                self.followers[voter.node_id] = known.pop(key, Progress())
        self._observers = known

    @property
    def _is_voter(self) -> bool:
        return self._node_id in self._voters

    def observers(self, now_ms: int) -> dict[ReplicaKey, Progress]:
        """Return the observers that have fetched within OBSERVER_SESSION_MS, and forget the others
        (LeaderState.observerStates)."""
        oldest_ms = now_ms - OBSERVER_SESSION_MS
        self._observers = {
            observer: progress
            for observer, progress in sorted(self._observers.items())
            if progress.fetched_at_ms >= oldest_ms
        }
        return self._observers

    def progress_of(self, replica: ReplicaKey) -> Progress | None:
        """Return the live progress of another voter or of an observer. Return None for an observer
        that has not fetched (or was forgotten), and for this leader itself. A node with another
        directory than the voter of its id is an observer."""
        voter = self._voters.get(replica[0])
        if voter is not None and voter.is_replica(replica):
            return self.followers.get(replica[0])
        return self._observers.get(replica)

    def fetched(
        self, replica: ReplicaKey, offset: int, own_end: int, now_ms: int, wall_ms: int
    ) -> None:
        """Record that a voter or an observer, which may be new, has fetched at this offset. If it
        has lost its log, the offset is lower than before: what it had then does not count any more.
        own_end: the end of the leader's log. now_ms, wall_ms: the time by the monotonic clock and
        by the wall clock."""
        progress = self.progress_of(replica)
        if progress is None:
            progress = self._observers.setdefault(replica, Progress())
        if offset >= own_end:
            progress.caught_up_at_wall_ms = wall_ms
        elif offset >= progress.leader_end_offset >= 0:
            progress.caught_up_at_wall_ms = progress.fetched_at_wall_ms
        progress.end_offset = offset
        progress.fetched_at_ms, progress.fetched_at_wall_ms = now_ms, wall_ms
        progress.leader_end_offset = own_end

    def heard(self, replica: ReplicaKey, now_ms: int) -> None:
        """Record that a replica is alive although it fetches a snapshot instead of the log. Ignore
        an observer that has not fetched the log yet
        (LeaderState.updateCheckQuorumForFollowingVoter)."""
        progress = self.progress_of(replica)
        if progress is not None:
            progress.fetched_at_ms = now_ms

    def ends(self, own_end: int) -> Iterator[int]:
        """Yield the end offset of each voter's log, as far as this leader knows, -1 for one that
        has not fetched. own_end: that of its own log, which is left out once the leader has removed
        itself from the voters."""
        if self._is_voter:
            yield own_end
        for progress in self.followers.values():
            yield progress.end_offset

    def quorum_heard_ms(self, now_ms: int) -> int:
        """Return the latest time such that a majority of the voters has fetched at that time or
        later, in milliseconds of the monotonic clock. This leader, if it is a voter, counts as
        heard now, and the beginning of the leadership as a fetch of every voter."""
        heard = [now_ms] * self._is_voter + [
            max(self.began_ms, progress.fetched_at_ms) for progress in self.followers.values()
        ]
        heard.sort(reverse=True)
        return heard[len(heard) // 2]

    def by_progress(self) -> list[ReplicaKey]:
        """Return the other voters, the one with the longest log first, because it is the best
        successor; of equal ones, the one with the lower id first."""
        ends = self.followers
        nodes = sorted(ends, key=lambda voter: (-ends[voter].end_offset, voter))
        return [self._voters[node].key for node in nodes]
