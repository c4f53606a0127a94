"""Read a partition record by record."""

from __future__ import annotations

from typing import NamedTuple

from reference_impl.robustness.conversation import Conversation
from reference_impl.robustness.kills.station import Broken
from reference_impl.wire import ErrorCode, RecordBatch


class Stored(NamedTuple):
    """One record as the log stores it."""

    offset: int
    key: bytes | None
    value: bytes | None


def read_partition(link: Conversation, topic: str, partition: int = 0) -> list[Stored]:
    """Read all data records from the beginning to the high watermark. Raise Broken if a fetch has
    an error or the log ends elsewhere."""
    found: list[Stored] = []
    offset = 0
    while True:
        row = link.fetch(topic, offset, partition)
        if row.error_code:
            raise Broken(f"Fetch of {topic} at {offset}: {ErrorCode(row.error_code).name}")
        if not row.records:
            if offset != row.high_watermark:
                raise Broken(
                    f"{topic} is read up to offset {offset}, not to its high watermark"
                    f" {row.high_watermark}"
                )
            return found
        position = 0
        while position < len(row.records):
            batch, position = RecordBatch.decode(row.records, position)
            found += [
                Stored(at, record.key, record.value)
                for at, record in batch.offsets()
                if not batch.is_control
            ]
            offset = batch.base_offset + (batch.last_offset_delta or 0) + 1
