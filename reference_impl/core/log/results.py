"""The results of appending and reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class OffsetOutOfRange(Exception):
    """The offset is below the log start or above the log end (error OFFSET_OUT_OF_RANGE)."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(
            f"offset {offset} is not in the log, which has {log_start_offset} to {log_end_offset}"
        )
        self.offset = offset


class AppendResult(NamedTuple):
    """The place of a batch, or that of its first copy if it is a retry (KIP-98), as the Produce
    response says it. `log_append_time_ms` is -1 where the producer's timestamps stay."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Whole batches; `first_offset` is that of the first batch, -1 where there is none."""

    records: bytes
    first_offset: int
