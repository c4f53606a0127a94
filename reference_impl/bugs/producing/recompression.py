"""The common base of the bugs of recompression: batches that the broker has compressed again."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.wire import Record, RecordBatch, read_header

CODEC_BITS = 7


def rewritten(
    sent: memoryview | bytearray, batch: ValidatedBatch, change: Callable[[Record], Record]
) -> ValidatedBatch:
    """Return the batch with `change` applied to each record, or the batch itself if it still has
    the codec with which its producer sent it."""
    if read_header(sent).attributes & CODEC_BITS == batch.header.attributes & CODEC_BITS:
        return batch
    whole, _ = RecordBatch.decode(batch.data)
    whole.records = [change(record) for record in whole.records]
    data = bytearray(whole.encode())
    return ValidatedBatch(data, read_header(data))
