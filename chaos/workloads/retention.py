"""Retention: appends to topics whose records soon go, by their age and by the log's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.protocols import Record
from chaos.workloads.appends import Appends
from chaos.workloads.removed import nothing_deleted

RETENTION_MS = 5_000
SEGMENT_MS = 2_500
"""Longer than any slack that a judge leaves: who deletes a segment too early is seen."""


class Retention(Appends):
    """Appends to a log whose records go after five seconds: from its start, and no sooner.

    Spec: topic configuration, retention.ms, segment.ms; LogManager, cleanupLogs.
    """

    name = topic = "retention"
    config: Mapping[str, str] = {
        "log.retention.check.interval.ms": "1000",
        "log.initial.task.delay.ms": "1000",  # by default half a minute after every start
    }
    judged_by = ("retention", *Appends.judged_by)
    topic_config: Mapping[str, str] = {
        "cleanup.policy": "delete",
        "retention.ms": str(RETENTION_MS),
        "segment.ms": str(SEGMENT_MS),
    }
    partitions = 4
    from_log_start = True

    def why_nothing_shown(self, records: Sequence[Record]) -> str | None:
        return nothing_deleted(records)
