"""Short ways to fill a compacted log, clean it and read back what is left."""

from __future__ import annotations

from typing import Any

from reference_impl.core.log.cleaning.compaction import clean, cleanable
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.log.tests.helpers import RULES, append
from reference_impl.core.storage import Storage
from reference_impl.wire.batches.records import Record, RecordBatch

COMPACT = LogConfig(
    cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.01, delete_retention_ms=1000
)
KeyValue = tuple[bytes, bytes | None]


def put(log: PartitionLog, *pairs: KeyValue, at_ms: int = 1000, **fields: Any) -> int:
    """Append one batch and return its base offset."""
    records = [Record(value, key) for key, value in pairs]
    data = RecordBatch(records, base_timestamp=at_ms, **fields).encode()
    return append(log, bytearray(data), now_ms=at_ms).base_offset


def clean_all(storage: Storage, log: PartitionLog, cleaned_to: int = 0, now_ms: int = 5000) -> int:
    """Clean what may be cleaned, due or not. Return the offset up to which the log is clean."""
    *slices, done = clean(storage, cleanable(log, cleaned_to, now_ms, RULES), now_ms, RULES)
    assert set(slices) <= {None}
    assert done is not None
    return done


def batches_of(log: PartitionLog) -> list[RecordBatch]:
    """Return every batch that is left in the log."""
    return [RecordBatch.decode(data)[0] for data in log.batches()]


def left(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    """Return (offset, key, value) of every data record that is left."""
    return [
        (offset, record.key, record.value)
        for batch in batches_of(log)
        if not batch.is_control
        for offset, record in batch.offsets()
    ]
