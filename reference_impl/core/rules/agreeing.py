"""A voter's decisions in the quorum of the metadata log: who leads, and what is committed.

They are Raft's safety rules, as KIP-595 and KIP-996 word them for Kafka's log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reference_impl.core.quorum.voters.voter_set import ReplicaKey
from reference_impl.core.refused import Refused
from reference_impl.wire import ZERO_UUID, ErrorCode

CAUGHT_UP_MS = 3_600_000
"""The milliseconds within which a replica must have been caught up to become a voter."""
LogEnd = tuple[int, int]
"""(epoch of the last batch of a log, offset after it). Of two logs, the one with the greater pair
is newer."""


class Agreeing:
    """Decisions which ensure that an epoch has one leader, and that every later leader has all
    committed records."""

    def keep_election(self, save: Callable[[], None]) -> None:
        """Write the epoch and the vote to disk before any other node learns of them: a voter that
        forgot its vote could vote twice in one epoch (KIP-595; QuorumState.durableTransitionTo)."""
        save()

    def may_vote_for(
        self, candidate: ReplicaKey, voted: ReplicaKey | None, leader_id: int | None
    ) -> bool:
        """Return whether this node's one vote of the epoch may go to the candidate: it has already
        voted for it (`voted`), or it has not voted and knows no leader. A node whose directory was
        replaced is another candidate, unless the vote named no directory (KIP-595, KIP-853;
        QuorumState.unattachedOrProspectiveCanGrantVote)."""
        if voted is not None:
            return voted[0] == candidate[0] and voted[1] in (ZERO_UUID, candidate[1])
        return leader_id is None

    def is_up_to_date(self, candidate: LogEnd, own: LogEnd) -> bool:
        """Return whether the candidate's log is at least as new as ours, so that it has every
        record that may be committed: the newer last epoch wins, then the longer log (Raft, 5.4.1;
        OffsetAndEpoch.compareTo)."""
        return candidate >= own

    def grants_pre_vote(self, *, hears_leader: bool, is_up_to_date: bool) -> bool:
        """Return whether this voter would vote for the sender. While the voter hears from a leader
        the answer is no, so that a node that returns after a network failure does not depose the
        leader (KIP-996)."""
        return is_up_to_date and not hears_leader

    def follows_newer_epoch(self, epoch: int, own_epoch: int) -> bool:
        """Return whether to move to the epoch of another node, because it is newer: a leader steps
        down, a candidate gives up (Raft, 5.1; KafkaRaftClient.maybeTransition)."""
        return epoch > own_epoch

    def has_majority(self, count: int, voters: int) -> bool:
        """Return whether this many voters are more than half, so that any two such sets share one
        (Raft, 5.2; EpochElection.isVoteGranted)."""
        return count > voters // 2

    def committed_end(self, ends: Iterable[int], epoch_start_offset: int) -> int | None:
        """Return the offset up to which more than half of the voters have the log, or None if
        nothing of the leader's own epoch lies below it: a majority may hold a batch of an earlier
        epoch that a later leader still overwrites (Raft, figure 8;
        LeaderState.maybeUpdateHighWatermark)."""
        descending = sorted(ends, reverse=True)
        reached = descending[len(descending) // 2]
        return reached if reached > epoch_start_offset else None

    def check_fenced(self, told_high_watermark: int) -> None:
        """Raise Refused(REQUEST_TIMED_OUT) for a change of the voters before a record of the
        leader's own epoch is committed. Until then an earlier leader's change, which this leader
        has not seen, may still come into force, and two changes at once need no common voter (Raft,
        the bug of 2015 in single-server changes; KIP-853, AddVoterHandler)."""
        if told_high_watermark < 0:
            raise Refused(
                ErrorCode.REQUEST_TIMED_OUT,
                "Request timed out waiting for leader to establish HWM and fence previous voter"
                " changes",
            )

    def check_one_change(self, offset: int, high_watermark: int, *, is_changing: bool) -> None:
        """Raise Refused(REQUEST_TIMED_OUT) while another change of the voters is under way, or the
        record of the last one, at this offset, is not committed: only sets that differ by one voter
        have a voter in common in any two majorities (Raft, dissertation, 4.1; KIP-853,
        AddVoterHandler)."""
        if is_changing or offset >= high_watermark > 0:
            raise Refused(
                ErrorCode.REQUEST_TIMED_OUT,
                "Request timed out waiting for voters to commit the latest voter change at"
                f" {offset} with HWM {high_watermark}",
            )

    def may_become_voter(self, caught_up_ms: int, now_ms: int) -> bool:
        """Return whether a replica follows the leader closely enough to become a voter: it was
        caught up within the last hour. Otherwise the quorum could commit nothing until it has
        (KIP-853; LeaderState.isReplicaCaughtUp)."""
        return caught_up_ms > 0 and now_ms - caught_up_ms < CAUGHT_UP_MS

    def may_raise_version(self, level: int, supported: Iterable[tuple[int, int]]) -> bool:
        """Return whether the quorum may work at this level of `kraft.version`: every voter has
        reported that it supports it. One that does not would stop at the record of the level, and
        not be there for a majority (KIP-853; LeaderState.maybeAppendUpgradedKRaftVersion)."""
        return all(least <= level <= most for least, most in supported)

    def has_lost_quorum(self, silent_ms: int, patience_ms: int) -> bool:
        """Return whether a leader must resign, because no majority has fetched for this long: it
        cannot commit, and the others may have a newer leader (KAFKA-15489;
        LeaderState.timeUntilCheckQuorumExpires)."""
        return silent_ms >= patience_ms

    def agrees(self, epoch: int, end_offset: int, found: LogEnd) -> bool:
        """Return whether a follower's log, which ends with this epoch and offset, is a prefix of
        the leader's log. `found` is the newest epoch of the leader's log that is not newer than the
        follower's last, and its end (KIP-101, KIP-595; ReplicatedLog.validateOffsetAndEpoch)."""
        return found[0] == epoch and end_offset <= found[1]

    def needs_snapshot(self, follower: LogEnd, log_start_offset: int, earliest: LogEnd) -> bool:
        """Return whether a follower with this log end must fetch a snapshot: the leader's log
        begins after that end, or has no batch of the follower's last epoch any more, because the
        snapshots have replaced those batches. An empty log needs none while the leader's begins at
        0. `earliest` is the end of the leader's oldest snapshot (KIP-630;
        KafkaRaftLog.validateOffsetAndEpoch)."""
        epoch, offset = follower
        if follower == (0, 0) and log_start_offset == 0:
            return False
        is_behind = offset < log_start_offset or epoch < earliest[0]
        return is_behind or (offset == log_start_offset and epoch != earliest[0])

    def replaces_log(self, snapshot: LogEnd, own: LogEnd) -> bool:
        """Return whether a follower begins again with the snapshot that it has fetched, since that
        ends later than its log (KafkaRaftLog.truncateToLatestSnapshot)."""
        return snapshot > own

    def has_caught_up(self, end_offset: int, high_watermark: int) -> bool:
        """Return whether a node that has started has read everything that is committed. At the
        start of its epoch, a leader may not know the high watermark and then names -1, which is no
        answer (MetadataLoader.maybePublishMetadata). Until then, a topic that is missing in this
        node's image may be merely new."""
        return 0 <= high_watermark <= end_offset

    def truncation_offset(self, told: LogEnd, found: LogEnd) -> int:
        """Return the offset at which a follower cuts its log. told: the leader's diverging epoch
        and its end. found: the newest epoch of the follower's log that is not newer, and its end
        (ReplicatedLog.truncateToEndOffset)."""
        (epoch, end_offset), (found_epoch, found_end) = told, found
        return min(end_offset, found_end) if found_epoch == epoch else found_end
