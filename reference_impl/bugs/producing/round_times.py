"""In one batch of ten the timestamps are rounded down to whole seconds."""

from __future__ import annotations

from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import RecordBatch, read_header

EVERY = 10
SECOND_MS = 1_000


class RoundTimes(Rules):
    """Real-world kin: stores that keep times in seconds, and give them back in milliseconds.

    Breaks:     with message.timestamp.type=CreateTime a record must keep its producer's time
                (KIP-32).
    Caught by:  workload appends, any nemesis or none, config
                log.message.timestamp.type=CreateTime, checker phantom_records (altered: the
                timestamps of producers that set them).
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._batches = 0

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Return the batch; one in ten has a base timestamp rounded down to the second."""
        batch = super().validated_batch(partition, data, now_ms)
        self._batches += 1
        if self._batches % EVERY:
            return batch
        whole, _ = RecordBatch.decode(batch.data)
        whole.base_timestamp -= whole.base_timestamp % SECOND_MS
        whole.max_timestamp = None  # of the records as they are now
        rounded = bytearray(whole.encode())
        return ValidatedBatch(rounded, read_header(rounded))
