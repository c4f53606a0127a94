"""Bugs in the rules of `core/rules/reading.py`: fetches, look-ups of offsets, isolation levels."""

from __future__ import annotations

from reference_impl.bugs.bug import Bug, Kind
from reference_impl.bugs.reading.answer_below_start import AnswerBelowStart
from reference_impl.bugs.reading.answer_with_another_partition import AnswerWithAnotherPartition
from reference_impl.bugs.reading.begin_after_committed import BeginAfterCommitted
from reference_impl.bugs.reading.begin_behind_undecided import BeginBehindUndecided
from reference_impl.bugs.reading.end_epochs_early import EndEpochsEarly
from reference_impl.bugs.reading.forget_metadata import ForgetMetadata
from reference_impl.bugs.reading.forget_older_aborts import ForgetOlderAborts
from reference_impl.bugs.reading.hide_aborted_transactions import HideAbortedTransactions
from reference_impl.bugs.reading.ignore_rewinds import IgnoreRewinds
from reference_impl.bugs.reading.keep_session_positions import KeepSessionPositions
from reference_impl.bugs.reading.look_up_closed_segments import LookUpClosedSegments
from reference_impl.bugs.reading.look_up_later_times import LookUpLaterTimes
from reference_impl.bugs.reading.look_up_newest_segment import LookUpNewestSegment
from reference_impl.bugs.reading.reset_past_start import ResetPastStart
from reference_impl.bugs.reading.serve_undecided_records import ServeUndecidedRecords
from reference_impl.bugs.reading.skip_large_batches import SkipLargeBatches
from reference_impl.bugs.reading.skip_segment_tails import SkipSegmentTails
from reference_impl.bugs.reading.stop_at_segments import StopAtSegments

__all__ = ["READING_BUGS"]

READING_BUGS: dict[str, Bug] = {
    "ignore-rewinds": Bug(IgnoreRewinds, Kind.START, ("poll_skips",), workload="seeks"),
    "keep-session-positions": Bug(
        KeepSessionPositions, Kind.START, ("poll_skips",), workload="seeks", client="reference"
    ),
    "answer-below-start": Bug(
        AnswerBelowStart,
        Kind.START,
        ("retention",),
        workload="delete-records",
        cases="test_an_offset_below_the_log_start",
    ),
    "reset-past-start": Bug(ResetPastStart, Kind.START, ("poll_skips",), workload="retention"),
    "stop-at-segments": Bug(
        StopAtSegments, Kind.LIVENESS, ("readable_partitions",), config={"log.roll.ms": "2000"}
    ),
    "look-up-closed-segments": Bug(
        LookUpClosedSegments, Kind.START, ("poll_skips",), workload="seeks"
    ),
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
    "skip-segment-tails": Bug(
        SkipSegmentTails,
        Kind.START,
        ("poll_skips", "offset_gaps"),
        workload="seeks",
        config={"log.roll.ms": "500"},
    ),
    "answer-with-another-partition": Bug(
        AnswerWithAnotherPartition, Kind.RECORD, ("phantom_records", "inconsistent_offsets")
    ),
    "forget-metadata": Bug(ForgetMetadata, Kind.RECORD, ("committed_offsets",), workload="offsets"),
    "skip-large-batches": Bug(SkipLargeBatches, Kind.RARE, ("poll_skips",), workload="seeks"),
    "hide-aborted-transactions": Bug(
        HideAbortedTransactions, Kind.SHOWN, ("aborted_reads",), workload="transactions"
    ),
    "forget-older-aborts": Bug(
        ForgetOlderAborts, Kind.SHOWN, ("aborted_reads",), workload="transactions"
    ),
    "serve-undecided-records": Bug(
        ServeUndecidedRecords, Kind.SHOWN, ("dirty_reads", "aborted_reads"), workload="transactions"
    ),
}
