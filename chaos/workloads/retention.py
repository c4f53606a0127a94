"""Retention: appends to topics whose records are soon deleted, by age or by the size of the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.values.protocols import Record
from chaos.workloads.appends import Appends
from chaos.workloads.removed import nothing_deleted

RETENTION_MS = 8_000
SEGMENT_MS = 2_500
CHECK_MS = 200
"""The interval in milliseconds at which brokers look for expired segments. The checker tolerates a
twentieth of the retention time; this interval, and that at which clients ask for log starts, is
shorter, so that a slightly early deletion is noticed."""
RETENTION_BYTES = 20_000
QUICK_CHECKS: Mapping[str, str] = {
    "log.retention.check.interval.ms": str(CHECK_MS),
    "log.initial.task.delay.ms": "1000",  # by default half a minute after every start
}


class Retention(Appends):
    """Append to a log whose records must be deleted eight seconds after they were written, from the
    log's start, not earlier and not much later.

    A process asks the leader for the log start all the time. Spec: topic configuration,
    retention.ms, segment.ms; LogManager, cleanupLogs.
    """

    name = topic = "retention"
    config = QUICK_CHECKS
    judged_by = ("retention", "high_watermark", *Appends.judged_by)
    topic_config: Mapping[str, str] = {
        "cleanup.policy": "delete",
        "retention.ms": str(RETENTION_MS),
        "segment.ms": str(SEGMENT_MS),
    }
    partitions = 4
    from_log_start = True
    processes = Appends.processes + 1

    def why_nothing_shown(self, records: Sequence[Record]) -> str | None:
        return nothing_deleted(records)


class RetentionBySize(Retention):
    """Append to a log that keeps at least 20,000 bytes: no segment may be deleted if fewer bytes
    would remain.

    Spec: topic configuration, retention.bytes; UnifiedLog, deleteRetentionSizeBreachedSegments.
    """

    name = topic = "retention-size"
    topic_config: Mapping[str, str] = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": str(RETENTION_BYTES),
        "segment.ms": "500",
    }
