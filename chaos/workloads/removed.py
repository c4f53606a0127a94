"""Find out whether brokers have removed any record. If not, the run shows nothing about retention
or compaction. The start, the end and the offsets of the final raw read show that."""

from __future__ import annotations

from collections.abc import Iterable

from chaos.values.protocols import Record

WHOLE = "read_all"


def nothing_deleted(records: Iterable[Record]) -> str | None:
    """Return a sentence if no record was deleted from the start of any log, so that the run proves
    nothing about retention, else None."""
    starts = [record.extra["log_start"] or 0 for record in records if _is_summary(record)]
    if any(starts):
        return None
    return (
        "no broker deleted a record, so the run says nothing about retention; use a longer"
        " --seconds"
    )


def nothing_cleaned(records: Iterable[Record]) -> str | None:
    """Return a sentence if compaction removed no record, so that the run proves nothing about
    compaction, else None."""
    offsets = found = 0
    for record in records:
        if _is_summary(record):
            offsets += (record.extra["high_watermark"] or 0) - (record.extra["log_start"] or 0)
        elif record.offset is not None and record.extra.get("replica") is None:
            found += 1
    if found < offsets:
        return None
    return (
        "compaction removed no record, so the run says nothing about compaction; use a longer"
        " --seconds"
    )


def _is_summary(record: Record) -> bool:
    """Return whether the row describes a leader's whole log instead of one record."""
    return record.extra.get("f") == WHOLE and record.extra.get("replica") is None
