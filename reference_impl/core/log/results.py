"""What appending and reading answer."""

from __future__ import annotations

from dataclasses import dataclass


class OffsetOutOfRange(Exception):
    """The offset is below the log start or above the log end (error OFFSET_OUT_OF_RANGE)."""

    def __init__(self, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(
            f"offset {offset} is not in the log, which has {log_start_offset} to {log_end_offset}"
        )
        self.offset = offset


@dataclass(frozen=True, slots=True)
class AppendResult:
    """What the answer to a produce says of one partition."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int


@dataclass(frozen=True, slots=True)
class ReadResult:
    """Whole batches; `first_offset` is that of the first batch, -1 where there is none."""

    records: bytes
    first_offset: int
