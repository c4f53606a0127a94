"""The results of appending and reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class OffsetOutOfRange(Exception):
    """Raised for an offset below the log start or above the log end (for DeleteRecords: above the
    high watermark); answered by the error OFFSET_OUT_OF_RANGE."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(
            f"offset {offset} is not in the log, which has {log_start_offset} to {log_end_offset}"
        )
        self.offset = offset


class AppendResult(NamedTuple):
    """The offsets of an appended batch or, for a retry, those of its first copy (KIP-98), as the
    Produce response contains them. `log_append_time_ms` is -1 if the producer's timestamps are
    kept."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Whole batches as bytes. `first_offset` is that of the first batch, -1 if there is none."""

    records: bytes
    first_offset: int
