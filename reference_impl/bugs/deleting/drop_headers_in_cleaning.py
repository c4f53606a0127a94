"""A record that the cleaner copies into a new batch loses its headers, unless it is a tombstone."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.rules import Rules
from reference_impl.wire.batches.records import Record


class DropHeadersInCleaning(Rules):
    """Real-world kin: cleaners that rebuild records from key, value and time.

    Breaks:     compaction may keep a record or remove it, but must never change it
                (design#compaction).
    Caught by:  workload compaction, any nemesis or none, checker phantom_records (altered: headers,
                if the workload sends some).
    Within:     one run of 20 seconds.
    """

    def cleaned(self, record: Record, moved_ms: int) -> Record:
        """Return the record without its headers, unless it is a tombstone."""
        kept = super().cleaned(record, moved_ms)
        return kept if record.value is None else replace(kept, headers=[])
