"""The planted bugs by name: one file each, which overrides one decision of a correct broker.

They prove that the checkers work: each bug names the guarantee that it breaks and the checker that
must catch it (`touchstone bugs` runs them all).

Some misbehaviours are not planted, since no guarantee forbids them: a leader that drops batches
sent with acks=0 (DUR-1); a tombstone that stays longer than `delete.retention.ms`, until some later
cleaning; a log start that goes back when a broker is killed, since Apache Kafka stores it only once
a minute.
"""

from __future__ import annotations

from reference_impl.bugs.abort_decided_commits import AbortDecidedCommits
from reference_impl.bugs.abort_half_way import AbortHalfWay
from reference_impl.bugs.accept_old_generations import AcceptOldGenerations
from reference_impl.bugs.accept_old_generations_in_transactions import (
    AcceptOldGenerationsInTransactions,
)
from reference_impl.bugs.accept_old_markers import AcceptOldMarkers
from reference_impl.bugs.accept_stale_epochs import AcceptStaleEpochs
from reference_impl.bugs.accept_zombie_offsets import AcceptZombieOffsets
from reference_impl.bugs.accept_zombie_writes import AcceptZombieWrites
from reference_impl.bugs.acknowledge_before_append import AcknowledgeBeforeAppend, LateNode
from reference_impl.bugs.acknowledge_before_flush import AcknowledgeBeforeFlush
from reference_impl.bugs.admit_fenced_epochs import AdmitFencedEpochs
from reference_impl.bugs.admit_fenced_instances import AdmitFencedInstances
from reference_impl.bugs.admit_fenced_producers import AdmitFencedProducers
from reference_impl.bugs.age_from_oldest_record import AgeFromOldestRecord
from reference_impl.bugs.answer_retries_with_newest import AnswerRetriesWithNewest
from reference_impl.bugs.answer_with_another_partition import AnswerWithAnotherPartition
from reference_impl.bugs.begin_after_committed import BeginAfterCommitted
from reference_impl.bugs.begin_behind_undecided import BeginBehindUndecided
from reference_impl.bugs.break_at_sequence_wrap import BreakAtSequenceWrap
from reference_impl.bugs.bug import CONFORMANCE, Bug, Kind
from reference_impl.bugs.commit_aborted_offsets import CommitAbortedOffsets
from reference_impl.bugs.commit_decided_aborts import CommitDecidedAborts
from reference_impl.bugs.compact_for_aborted import CompactForAborted
from reference_impl.bugs.compact_newest_away import CompactNewestAway
from reference_impl.bugs.compact_open_transactions import CompactOpenTransactions
from reference_impl.bugs.delete_a_little_early import DeleteALittleEarly
from reference_impl.bugs.delete_late import DeleteLate
from reference_impl.bugs.delete_neighbours import DeleteNeighbours
from reference_impl.bugs.delete_one_segment_more import DeleteOneSegmentMore
from reference_impl.bugs.delete_records_too_far import DeleteRecordsTooFar
from reference_impl.bugs.delete_young_segments import DeleteYoungSegments
from reference_impl.bugs.drop_headers_in_cleaning import DropHeadersInCleaning
from reference_impl.bugs.drop_headers_in_recompression import DropHeadersInRecompression
from reference_impl.bugs.drop_tombstones_early import DropTombstonesEarly
from reference_impl.bugs.drop_unawaited_batches import DropUnawaitedBatches
from reference_impl.bugs.empty_nulls_in_recompression import EmptyNullsInRecompression
from reference_impl.bugs.end_epochs_early import EndEpochsEarly
from reference_impl.bugs.end_others_transactions import EndOthersTransactions
from reference_impl.bugs.end_sessions_early import EndSessionsEarly
from reference_impl.bugs.end_sessions_late import EndSessionsLate
from reference_impl.bugs.expire_offsets_early import ExpireOffsetsEarly
from reference_impl.bugs.forget_a_member import ForgetAMember
from reference_impl.bugs.forget_deletions import ForgetDeletions
from reference_impl.bugs.forget_epochs_in_snapshots import ForgetEpochsInSnapshots
from reference_impl.bugs.forget_markers import ForgetMarkers
from reference_impl.bugs.forget_metadata import ForgetMetadata
from reference_impl.bugs.forget_older_aborts import ForgetOlderAborts
from reference_impl.bugs.forget_open_transactions import ForgetOpenTransactions
from reference_impl.bugs.forget_producer_state_on_restart import ForgetProducerStateOnRestart
from reference_impl.bugs.forget_producers_at_roll import ForgetProducersAtRoll
from reference_impl.bugs.forget_time_outs import ForgetTimeOuts
from reference_impl.bugs.give_before_released import GiveBeforeReleased
from reference_impl.bugs.give_parts_twice import GivePartsTwice
from reference_impl.bugs.greet_the_dead import GreetTheDead
from reference_impl.bugs.hide_aborted_transactions import HideAbortedTransactions
from reference_impl.bugs.ignore_consumer_heartbeats import IgnoreConsumerHeartbeats
from reference_impl.bugs.ignore_consumer_leaves import IgnoreConsumerLeaves
from reference_impl.bugs.ignore_heartbeats import IgnoreHeartbeats
from reference_impl.bugs.ignore_leaves import IgnoreLeaves
from reference_impl.bugs.ignore_require_stable import IgnoreRequireStable
from reference_impl.bugs.ignore_rewinds import IgnoreRewinds
from reference_impl.bugs.keep_epochs import KeepEpochs
from reference_impl.bugs.keep_highest_commit import KeepHighestCommit
from reference_impl.bugs.keep_positions_of_deleted_topics import KeepPositionsOfDeletedTopics
from reference_impl.bugs.keep_session_positions import KeepSessionPositions
from reference_impl.bugs.keep_times_of_compressed import KeepTimesOfCompressed
from reference_impl.bugs.keep_torn_tail import KeepTornTail
from reference_impl.bugs.leave_partition_out import LeavePartitionOut
from reference_impl.bugs.look_up_later_times import LookUpLaterTimes
from reference_impl.bugs.look_up_newest_segment import LookUpNewestSegment
from reference_impl.bugs.lose_commits import LoseCommits
from reference_impl.bugs.lose_deletions import LoseDeletions
from reference_impl.bugs.lose_transactional_offsets import LoseTransactionalOffsets
from reference_impl.bugs.match_across_epochs import MatchAcrossEpochs
from reference_impl.bugs.match_first_sequences import MatchFirstSequences
from reference_impl.bugs.match_last_sequences import MatchLastSequences
from reference_impl.bugs.never_end_consumer_sessions import NeverEndConsumerSessions
from reference_impl.bugs.never_end_loaded_sessions import NeverEndLoadedSessions
from reference_impl.bugs.never_end_sessions import NeverEndSessions
from reference_impl.bugs.never_release import NeverRelease
from reference_impl.bugs.never_time_out import NeverTimeOut
from reference_impl.bugs.overlook_new_partitions import OverlookNewPartitions
from reference_impl.bugs.prolong_time_outs import ProlongTimeOuts
from reference_impl.bugs.readmit_fenced_producers import ReadmitFencedProducers
from reference_impl.bugs.readmit_foreign_producers import ReadmitForeignProducers
from reference_impl.bugs.remember_newest_batch import RememberNewestBatch
from reference_impl.bugs.reset_past_start import ResetPastStart
from reference_impl.bugs.reuse_producer_ids import ReuseProducerIds
from reference_impl.bugs.round_deletions_down import RoundDeletionsDown
from reference_impl.bugs.round_times import RoundTimes
from reference_impl.bugs.serve_undecided_records import ServeUndecidedRecords
from reference_impl.bugs.shift_cleaned_times import ShiftCleanedTimes
from reference_impl.bugs.skip_large_batches import SkipLargeBatches
from reference_impl.bugs.skip_segment_tails import SkipSegmentTails
from reference_impl.bugs.stale_snapshot import StaleSnapshot
from reference_impl.bugs.stamp_first_epoch import StampFirstEpoch
from reference_impl.bugs.stop_without_sync import StopWithoutSync
from reference_impl.bugs.tear_transactions import TearTransactions
from reference_impl.bugs.trust_failed_syncs import TrustFailedSyncs
from reference_impl.bugs.trust_index_after_crash import TrustIndexAfterCrash
from reference_impl.bugs.wait_for_the_gone import WaitForTheGone
from reference_impl.bugs.write_one_topic_of_a_commit import WriteOneTopicOfACommit
from reference_impl.bugs.write_outside_transactions import WriteOutsideTransactions

__all__ = ["BUGS", "CONFORMANCE", "Bug", "Kind"]

FLUSH_EACH = {"log.flush.interval.messages": "1"}
BUGS: dict[str, Bug] = {
    # --- where a reader begins --------------------------------------------------------------------
    "ignore-rewinds": Bug(IgnoreRewinds, Kind.START, ("poll_skips",), workload="seeks"),
    "keep-session-positions": Bug(
        KeepSessionPositions, Kind.START, ("poll_skips",), workload="seeks", client="reference"
    ),
    "reset-past-start": Bug(ResetPastStart, Kind.START, ("poll_skips",), workload="retention"),
    "look-up-later-times": Bug(LookUpLaterTimes, Kind.START, ("poll_skips",), workload="seeks"),
    "look-up-newest-segment": Bug(
        LookUpNewestSegment,
        Kind.START,
        ("poll_skips",),
        workload="seeks",
        config={"log.roll.ms": "1000"},
    ),
    "begin-after-committed": Bug(
        BeginAfterCommitted,
        Kind.START,
        ("group_delivery", "committed_offsets"),
        workload="groups-positions",
    ),
    "keep-highest-commit": Bug(
        KeepHighestCommit, Kind.START, ("committed_offsets",), workload="offsets"
    ),
    "begin-behind-undecided": Bug(
        BeginBehindUndecided,
        Kind.START,
        ("high_watermark",),
        workload="transactions",
        cases="test_latest_of_read_committed_is_the_last_stable_offset",
    ),
    "end-epochs-early": Bug(
        EndEpochsEarly, Kind.START, ("high_watermark",), workload="transactions"
    ),
    "expire-offsets-early": Bug(
        ExpireOffsetsEarly,
        Kind.START,
        ("committed_offsets",),
        workload="offsets",
        config={"offsets.retention.minutes": "2", "offsets.retention.check.interval.ms": "1000"},
    ),
    "skip-segment-tails": Bug(
        SkipSegmentTails,
        Kind.START,
        ("poll_skips", "offset_gaps"),
        workload="seeks",
        config={"log.roll.ms": "500"},
    ),
    "lose-commits": Bug(
        LoseCommits, Kind.START, ("committed_offsets",), workload="offsets", nemesis="kill"
    ),
    "lose-deletions": Bug(
        LoseDeletions, Kind.START, ("committed_offsets",), workload="offsets", nemesis="kill"
    ),
    "keep-positions-of-deleted-topics": Bug(
        KeepPositionsOfDeletedTopics, Kind.START, ("committed_offsets",), workload="recreate"
    ),
    "write-one-topic-of-a-commit": Bug(
        WriteOneTopicOfACommit,
        Kind.START,
        ("committed_offsets",),
        workload="offsets",
        nemesis="kill",
    ),
    "delete-neighbours": Bug(
        DeleteNeighbours,
        Kind.START,
        ("committed_offsets",),
        workload="offsets",
        nemesis="kill",
        config={"offsets.topic.num.partitions": "1"},
    ),
    # --- what a record is -------------------------------------------------------------------------
    "answer-with-another-partition": Bug(
        AnswerWithAnotherPartition, Kind.RECORD, ("phantom_records", "inconsistent_offsets")
    ),
    "round-times": Bug(
        RoundTimes,
        Kind.RECORD,
        ("phantom_records",),
        config={"log.message.timestamp.type": "CreateTime"},
    ),
    "keep-times-of-compressed": Bug(
        KeepTimesOfCompressed,
        Kind.RECORD,
        ("timestamp_types",),
        workload="appends-mixed",
        config={"log.message.timestamp.type": "LogAppendTime"},
    ),
    "drop-headers-in-recompression": Bug(
        DropHeadersInRecompression,
        Kind.RECORD,
        ("phantom_records",),
        workload="appends-mixed",
        config={"compression.type": "lz4"},
    ),
    "empty-nulls-in-recompression": Bug(
        EmptyNullsInRecompression,
        Kind.RECORD,
        ("phantom_records",),
        workload="appends-mixed",
        config={"compression.type": "zstd"},
    ),
    "stamp-first-epoch": Bug(
        StampFirstEpoch, Kind.RECORD, ("leader_epochs",), workload="transactions", nemesis="kill"
    ),
    "drop-headers-in-cleaning": Bug(
        DropHeadersInCleaning, Kind.RECORD, ("phantom_records",), workload="compaction"
    ),
    "shift-cleaned-times": Bug(
        ShiftCleanedTimes,
        Kind.RECORD,
        ("phantom_records", "inconsistent_offsets"),
        workload="compaction",
    ),
    "forget-metadata": Bug(ForgetMetadata, Kind.RECORD, ("committed_offsets",), workload="offsets"),
    "keep-torn-tail": Bug(
        KeepTornTail,
        Kind.RECORD,
        ("phantom_records", "lost_writes"),
        workload="appends-mixed",
        nemesis="torn-writes",
        config=FLUSH_EACH,
        client="reference",
    ),
    # --- liveness of groups -----------------------------------------------------------------------
    "admit-fenced-epochs": Bug(
        AdmitFencedEpochs, Kind.LIVENESS, (), cases="test_an_epoch_of_the_past_is_fenced"
    ),
    "never-end-sessions": Bug(
        NeverEndSessions, Kind.LIVENESS, ("group_liveness",), workload="groups", seconds_min=75
    ),
    "never-end-loaded-sessions": Bug(
        NeverEndLoadedSessions,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups",
        nemesis="kill-then-calm",
        seconds_min=90,
    ),
    "never-end-consumer-sessions": Bug(
        NeverEndConsumerSessions,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-consumer",
        seconds_min=75,
    ),
    "greet-the-dead": Bug(GreetTheDead, Kind.LIVENESS, (), cases="test_a_stranger_may_not_sync"),
    "wait-for-the-gone": Bug(
        WaitForTheGone, Kind.LIVENESS, ("group_liveness",), workload="groups", seconds_min=75
    ),
    "forget-a-member": Bug(
        ForgetAMember,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-positions",
        seconds_min=75,
        cases="test_the_leader_hands_out_the_assignments",
    ),
    "leave-partition-out": Bug(
        LeavePartitionOut,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-consumer",
        seconds_min=75,
    ),
    "overlook-new-partitions": Bug(
        OverlookNewPartitions,
        Kind.LIVENESS,
        ("group_liveness",),
        workload="groups-growing",
        seconds_min=75,
    ),
    "never-release": Bug(
        NeverRelease, Kind.LIVENESS, ("group_liveness",), workload="groups-consumer", seconds_min=75
    ),
    "ignore-heartbeats": Bug(
        IgnoreHeartbeats, Kind.LIVENESS, ("group_liveness",), workload="sessions"
    ),
    "ignore-consumer-heartbeats": Bug(
        IgnoreConsumerHeartbeats, Kind.LIVENESS, ("group_liveness",), workload="sessions"
    ),
    "ignore-leaves": Bug(IgnoreLeaves, Kind.LIVENESS, ("group_liveness",), workload="sessions"),
    "ignore-consumer-leaves": Bug(
        IgnoreConsumerLeaves, Kind.LIVENESS, ("group_liveness",), workload="sessions"
    ),
    # --- what happens rarely ----------------------------------------------------------------------
    "keep-epochs": Bug(
        KeepEpochs,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_the_next_owner_gets_the_next_epoch",
    ),
    "accept-zombie-writes": Bug(
        AcceptZombieWrites,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_an_older_epoch_is_fenced",
    ),
    "admit-fenced-producers": Bug(
        AdmitFencedProducers,
        Kind.RARE,
        ("fencing", "ends_honoured"),
        workload="zombies",
        cases="test_a_wrong_epoch_adds_nothing",
    ),
    "end-others-transactions": Bug(
        EndOthersTransactions,
        Kind.RARE,
        ("fencing", "ends_honoured"),
        workload="zombies",
        cases="test_an_old_epoch_ends_nothing",
    ),
    "abort-decided-commits": Bug(
        AbortDecidedCommits, Kind.RARE, ("ends_honoured", "lost_writes"), workload="transactions"
    ),
    "commit-decided-aborts": Bug(
        CommitDecidedAborts,
        Kind.RARE,
        ("ends_honoured", "aborted_reads", "dirty_reads"),
        workload="transactions",
    ),
    "tear-transactions": Bug(
        TearTransactions, Kind.RARE, ("torn_transactions", "ends_honoured"), workload="transactions"
    ),
    "forget-markers": Bug(
        ForgetMarkers,
        Kind.RARE,
        ("torn_transactions", "hanging_transactions", "ends_honoured"),
        workload="transactions",
    ),
    "never-time-out": Bug(
        NeverTimeOut,
        Kind.RARE,
        ("hanging_transactions",),
        workload="transactions",
        cases="test_a_transaction_that_lasts_too_long_is_aborted",
    ),
    "forget-time-outs": Bug(
        ForgetTimeOuts,
        Kind.RARE,
        ("hanging_transactions",),
        workload="transactions",
        nemesis="kill",
    ),
    "accept-stale-epochs": Bug(
        AcceptStaleEpochs,
        Kind.RARE,
        ("committed_offsets",),
        workload="groups-consumer-positions",
        cases="test_a_member_commits_in_its_epoch or test_an_older_epoch_commits",
    ),
    "readmit-fenced-producers": Bug(
        ReadmitFencedProducers,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_a_zombie_may_not_raise_its_epoch",
    ),
    "readmit-foreign-producers": Bug(
        ReadmitForeignProducers,
        Kind.RARE,
        ("fencing",),
        workload="zombies",
        cases="test_a_zombie_may_not_raise_its_epoch",
    ),
    "write-outside-transactions": Bug(
        WriteOutsideTransactions,
        Kind.RARE,
        ("ends_honoured", "torn_transactions", "hanging_transactions"),
        workload="zombies",
        cases="test_a_partition_must_be_added_first",
    ),
    "accept-old-markers": Bug(
        AcceptOldMarkers,
        Kind.RARE,
        ("fencing", "ends_honoured"),
        workload="zombies",
        cases="test_a_former_coordinator or test_a_marker_of_an_older_epoch",
    ),
    "accept-zombie-offsets": Bug(
        AcceptZombieOffsets,
        Kind.RARE,
        ("fencing", "ends_honoured", "committed_offsets"),
        workload="offsets-transactions",
        cases="test_a_fenced_producer_commits_no_offsets",
    ),
    "commit-aborted-offsets": Bug(
        CommitAbortedOffsets,
        Kind.RARE,
        ("ends_honoured", "committed_offsets"),
        workload="offsets-transactions",
        cases="test_an_abort_drops_the_offsets",
    ),
    "lose-transactional-offsets": Bug(
        LoseTransactionalOffsets,
        Kind.RARE,
        ("ends_honoured", "exactly_once", "committed_offsets"),
        workload="transform",
    ),
    "ignore-require-stable": Bug(
        IgnoreRequireStable,
        Kind.RARE,
        ("committed_offsets",),
        workload="offsets-transactions",
        cases="test_a_pending_offset_is_unstable",
    ),
    "accept-old-generations-in-transactions": Bug(
        AcceptOldGenerationsInTransactions,
        Kind.RARE,
        ("committed_offsets", "exactly_once"),
        workload="transform",
        cases="test_a_member_commits_in_its_generation",
    ),
    "answer-retries-with-newest": Bug(
        AnswerRetriesWithNewest, Kind.RARE, ("inconsistent_offsets",), nemesis="reset"
    ),
    "remember-newest-batch": Bug(RememberNewestBatch, Kind.RARE, ("duplicates",), nemesis="reset"),
    "match-first-sequences": Bug(
        MatchFirstSequences,
        Kind.RARE,
        ("inconsistent_offsets", "lost_writes"),
        workload="sequences",
    ),
    "match-last-sequences": Bug(
        MatchLastSequences, Kind.RARE, ("inconsistent_offsets", "lost_writes"), workload="sequences"
    ),
    "match-across-epochs": Bug(
        MatchAcrossEpochs, Kind.RARE, ("inconsistent_offsets", "lost_writes"), workload="zombies"
    ),
    "break-at-sequence-wrap": Bug(
        BreakAtSequenceWrap,
        Kind.RARE,
        ("idempotence",),
        workload="sequences",
        cases="test_the_sequence_wraps_to_zero",
    ),
    "reuse-producer-ids": Bug(
        ReuseProducerIds,
        Kind.RARE,
        ("fencing", "inconsistent_offsets", "idempotence"),
        workload="sequences",
        nemesis="kill",
    ),
    "skip-large-batches": Bug(SkipLargeBatches, Kind.RARE, ("poll_skips",), workload="seeks"),
    "stop-without-sync": Bug(
        StopWithoutSync, Kind.RARE, ("lost_writes",), nemesis="power-loss-when-shut"
    ),
    "trust-failed-syncs": Bug(
        TrustFailedSyncs, Kind.RARE, ("lost_writes",), nemesis="failed-syncs", config=FLUSH_EACH
    ),
    "acknowledge-before-flush": Bug(
        AcknowledgeBeforeFlush,
        Kind.RARE,
        ("lost_writes",),
        nemesis="power-loss-all",
        config=FLUSH_EACH,
    ),
    "trust-index-after-crash": Bug(
        TrustIndexAfterCrash,
        Kind.RARE,
        ("inconsistent_offsets",),
        nemesis="torn-writes",
        config={**FLUSH_EACH, "log.index.interval.bytes": "0"},
    ),
    # --- what a run must bring about --------------------------------------------------------------
    "acknowledge-before-append": Bug(
        AcknowledgeBeforeAppend,
        Kind.SHOWN,
        ("lost_writes", "inconsistent_offsets"),
        nemesis="kill",
        node=LateNode,
    ),
    "forget-producer-state-on-restart": Bug(
        ForgetProducerStateOnRestart, Kind.SHOWN, ("duplicates",), nemesis="kill"
    ),
    "forget-epochs-in-snapshots": Bug(
        ForgetEpochsInSnapshots,
        Kind.SHOWN,
        ("duplicates",),
        workload="sequences",
        nemesis="rolling-restart",
    ),
    "forget-open-transactions": Bug(
        ForgetOpenTransactions,
        Kind.SHOWN,
        ("aborted_reads", "dirty_reads"),
        workload="transactions",
        nemesis="rolling-restart",
    ),
    "stale-snapshot": Bug(
        StaleSnapshot, Kind.SHOWN, ("duplicates",), nemesis="kill", config={"log.roll.ms": "500"}
    ),
    "forget-producers-at-roll": Bug(
        ForgetProducersAtRoll,
        Kind.SHOWN,
        ("duplicates",),
        nemesis="reset",
        config={"log.roll.ms": "200"},
    ),
    "drop-unawaited-batches": Bug(
        DropUnawaitedBatches, Kind.SHOWN, ("delivery_semantics",), workload="appends-acks1"
    ),
    "hide-aborted-transactions": Bug(
        HideAbortedTransactions, Kind.SHOWN, ("aborted_reads",), workload="transactions"
    ),
    "forget-older-aborts": Bug(
        ForgetOlderAborts, Kind.SHOWN, ("aborted_reads",), workload="transactions"
    ),
    "serve-undecided-records": Bug(
        ServeUndecidedRecords, Kind.SHOWN, ("dirty_reads", "aborted_reads"), workload="transactions"
    ),
    "accept-old-generations": Bug(
        AcceptOldGenerations, Kind.SHOWN, ("committed_offsets",), workload="groups-positions"
    ),
    "admit-fenced-instances": Bug(
        AdmitFencedInstances, Kind.SHOWN, ("committed_offsets",), workload="groups-static-positions"
    ),
    "give-parts-twice": Bug(
        GivePartsTwice, Kind.SHOWN, ("committed_offsets",), workload="groups-positions"
    ),
    "give-before-released": Bug(
        GiveBeforeReleased, Kind.SHOWN, ("committed_offsets",), workload="groups-consumer-positions"
    ),
    "delete-records-too-far": Bug(
        DeleteRecordsTooFar, Kind.SHOWN, ("retention", "lost_writes"), workload="delete-records"
    ),
    "forget-deletions": Bug(ForgetDeletions, Kind.SHOWN, ("retention",), workload="delete-records"),
    "compact-newest-away": Bug(
        CompactNewestAway, Kind.SHOWN, ("compaction", "lost_writes"), workload="compaction"
    ),
    "compact-open-transactions": Bug(
        CompactOpenTransactions,
        Kind.SHOWN,
        ("compaction", "lost_writes"),
        workload="compaction-transactions",
    ),
    "compact-for-aborted": Bug(
        CompactForAborted,
        Kind.SHOWN,
        ("compaction", "lost_writes"),
        workload="compaction-transactions",
    ),
    # --- limits -----------------------------------------------------------------------------------
    "end-sessions-early": Bug(
        EndSessionsEarly, Kind.SLACK, ("group_liveness",), workload="sessions"
    ),
    "end-sessions-late": Bug(EndSessionsLate, Kind.SLACK, ("group_liveness",), workload="sessions"),
    "abort-half-way": Bug(AbortHalfWay, Kind.SLACK, ("fencing",), workload="transactions"),
    "prolong-time-outs": Bug(
        ProlongTimeOuts, Kind.SLACK, ("hanging_transactions",), workload="transactions"
    ),
    "delete-young-segments": Bug(
        DeleteYoungSegments, Kind.SLACK, ("retention",), workload="retention"
    ),
    "delete-a-little-early": Bug(
        DeleteALittleEarly, Kind.SLACK, ("retention",), workload="retention"
    ),
    "age-from-oldest-record": Bug(
        AgeFromOldestRecord, Kind.SLACK, ("retention",), workload="retention"
    ),
    "delete-one-segment-more": Bug(
        DeleteOneSegmentMore, Kind.SLACK, ("retention",), workload="retention-size"
    ),
    "delete-late": Bug(DeleteLate, Kind.SLACK, ("retention",), workload="retention"),
    "round-deletions-down": Bug(
        RoundDeletionsDown, Kind.SLACK, ("retention",), workload="delete-records"
    ),
    "drop-tombstones-early": Bug(
        DropTombstonesEarly, Kind.SLACK, ("compaction",), workload="compaction"
    ),
}
