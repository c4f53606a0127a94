"""A voter's decisions in the quorum of the metadata log: who leads, and what is committed.

They are Raft's safety rules, as KIP-595 and KIP-996 word them for Kafka's log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

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

    def may_vote_for(self, candidate: int, voted_id: int | None, leader_id: int | None) -> bool:
        """Return whether this node's one vote of the epoch may go to the candidate: it has already
        voted for it, or it has not voted and knows no leader (KIP-595;
        QuorumState.unattachedOrProspectiveCanGrantVote)."""
        if voted_id is not None:
            return voted_id == candidate
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
        begins later, or holds nothing of the follower's last epoch, since its oldest snapshot
        stands for it. `earliest` is the end of that snapshot (KIP-630;
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
        and its end. found: the same from the follower's log (ReplicatedLog.truncateToEndOffset)."""
        (epoch, end_offset), (found_epoch, found_end) = told, found
        return min(end_offset, found_end) if found_epoch == epoch else found_end
