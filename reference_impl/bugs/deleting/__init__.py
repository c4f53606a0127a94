"""Bugs in the rules of `core/rules/deleting.py`: retention, DeleteRecords, compaction."""

from __future__ import annotations

from reference_impl.bugs.bug import Bug, Kind
from reference_impl.bugs.deleting.age_from_oldest_record import AgeFromOldestRecord
from reference_impl.bugs.deleting.compact_for_aborted import CompactForAborted
from reference_impl.bugs.deleting.compact_newest_away import CompactNewestAway
from reference_impl.bugs.deleting.compact_open_transactions import CompactOpenTransactions
from reference_impl.bugs.deleting.delete_a_little_early import DeleteALittleEarly
from reference_impl.bugs.deleting.delete_late import DeleteLate
from reference_impl.bugs.deleting.delete_one_segment_more import DeleteOneSegmentMore
from reference_impl.bugs.deleting.delete_records_too_far import DeleteRecordsTooFar
from reference_impl.bugs.deleting.delete_young_segments import DeleteYoungSegments
from reference_impl.bugs.deleting.drop_headers_in_cleaning import DropHeadersInCleaning
from reference_impl.bugs.deleting.drop_tombstones_early import DropTombstonesEarly
from reference_impl.bugs.deleting.expire_offsets_early import ExpireOffsetsEarly
from reference_impl.bugs.deleting.forget_deletions import ForgetDeletions
from reference_impl.bugs.deleting.restart_logs import RestartLogs
from reference_impl.bugs.deleting.round_deletions_down import RoundDeletionsDown
from reference_impl.bugs.deleting.shift_cleaned_times import ShiftCleanedTimes

__all__ = ["DELETING_BUGS"]

DELETING_BUGS: dict[str, Bug] = {
    "expire-offsets-early": Bug(
        ExpireOffsetsEarly,
        Kind.START,
        ("committed_offsets",),
        workload="offsets",
        config={"offsets.retention.minutes": "2", "offsets.retention.check.interval.ms": "1000"},
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
    "delete-records-too-far": Bug(
        DeleteRecordsTooFar, Kind.SHOWN, ("retention", "lost_writes"), workload="delete-records"
    ),
    "forget-deletions": Bug(ForgetDeletions, Kind.SHOWN, ("retention",), workload="delete-records"),
    "restart-logs": Bug(
        RestartLogs, Kind.SHOWN, ("lost_writes", "inconsistent_offsets"), workload="delete-records"
    ),
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
