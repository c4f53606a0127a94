"""Short ways to make a log, fill it and read it back."""

from __future__ import annotations

import uuid
from typing import Any

from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import AppendResult, PartitionLog
from reference_impl.core.log.recovery.recovery import RecoverySteps
from reference_impl.core.rules import Rules
from reference_impl.core.storage import MemoryStorage, Storage
from reference_impl.wire.batches.records import (
    BatchHeader,
    Record,
    RecordBatch,
    batches,
    read_header,
)

RULES = Rules()
TOPIC_ID = uuid.UUID(int=7)
DATA = "data"
DIRECTORY = f"{DATA}/orders-0"


def batch(*values: bytes, timestamp_ms: int = 1000, **fields: Any) -> bytearray:
    """Encode one batch; record i is i milliseconds younger than the first."""
    records = [Record(value, timestamp_delta=index) for index, value in enumerate(values)]
    return bytearray(RecordBatch(records, base_timestamp=timestamp_ms, **fields).encode())


def header_of(data: bytes | bytearray) -> BatchHeader:
    """Return the header of one batch."""
    return read_header(data)


def open_log(
    storage: Storage,
    config: LogConfig | None = None,
    *,
    data_directory: str = DATA,
    clean_shutdown: bool = False,
    now_ms: int = 0,
    steps: RecoverySteps = RULES,
    **offsets: Any,
) -> PartitionLog:
    """Create orders-0, or open it again."""
    return PartitionLog.open(
        storage,
        data_directory,
        "orders",
        0,
        TOPIC_ID,
        config or LogConfig(),
        now_ms,
        clean_shutdown=clean_shutdown,
        steps=steps,
        **offsets,
    )


def append(
    log: PartitionLog, data: bytearray, *, leader_epoch: int = 0, now_ms: int = 0
) -> AppendResult:
    """Append, and advance the high watermark as a single node does."""
    result = log.append(data, read_header(data), leader_epoch, now_ms)
    log.high_watermark = log.log_end_offset
    return result


def values(
    log: PartitionLog, offset: int | None = None, max_bytes: int = 10_000
) -> list[bytes | None]:
    """Return all values from an offset on, fetched as a consumer does."""
    found: list[bytes | None] = []
    position = log.log_start_offset if offset is None else offset
    while position < log.log_end_offset:
        data = log.read(position, max_bytes).records
        assert data, f"nothing at {position}, before the log end {log.log_end_offset}"
        for _, start, _ in batches(data):
            one, _ = RecordBatch.decode(data, start)
            found += [record.value for at, record in one.offsets() if at >= position]
            position = one.base_offset + (one.last_offset_delta or 0) + 1
    return found


def small_segments(segment_bytes: int = 500, **fields: Any) -> LogConfig:
    """Return a configuration with segments that a handful of records fill, and a dense index."""
    return LogConfig(internal_segment_bytes=segment_bytes, index_interval_bytes=100, **fields)


def filled(storage: MemoryStorage, count: int, config: LogConfig | None = None) -> PartitionLog:
    """Return a log of `count` batches of one record: value, offset and timestamp go 0, 1, 2…"""
    log = open_log(storage, config)
    for number in range(count):
        append(log, batch(b"%d" % number, timestamp_ms=number))
    return log


ONE = len(batch(b"0"))
"""Bytes of a batch as `filled` writes them, with one digit."""
