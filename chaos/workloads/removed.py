"""Find out whether brokers removed anything at all; otherwise the run shows nothing about removal.
The final read of the leaders shows it: where it began and ended, and what it found between."""

from __future__ import annotations

from collections.abc import Iterable

from chaos.values.protocols import Record

WHOLE = "read_all"


def nothing_deleted(records: Iterable[Record]) -> str | None:
    """Return why a run shows nothing about deletion from the start of logs, or None."""
    starts = [record.extra["log_start"] or 0 for record in records if _is_summary(record)]
    if any(starts):
        return None
    return "no broker deleted anything: the run shows nothing of retention"


def nothing_cleaned(records: Iterable[Record]) -> str | None:
    """Return why a run shows nothing about compaction (no offset is without its record), or
    None."""
    offsets = found = 0
    for record in records:
        if _is_summary(record):
            offsets += (record.extra["high_watermark"] or 0) - (record.extra["log_start"] or 0)
        elif record.offset is not None and record.extra.get("replica") is None:
            found += 1
    if found < offsets:
        return None
    return "no broker cleaned anything: the run shows nothing of compaction"


def _is_summary(record: Record) -> bool:
    """Return whether the record is a statement about a leader's log as a whole."""
    return record.extra.get("f") == WHOLE and record.extra.get("replica") is None
