"""One batch in ten gets the broker's time, although the producer's was to be kept."""

from __future__ import annotations

from reference_impl.core.batch_validation import ValidatedBatch
from reference_impl.core.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import read_header, set_timestamps

EVERY = 10


class StampAppendTimes(Rules):
    """Real-world kin: a topic setting that is read from the broker's defaults on one path.

    Breaks:     with message.timestamp.type=CreateTime a record keeps its producer's time (KIP-32).
    Caught by:  workload appends, any nemesis or none, config
                log.message.timestamp.type=CreateTime, checker phantom_records (altered: timestamp
                or its type).
    Within:     one run of 10 seconds.
    """

    def __init__(self) -> None:
        self._batches = 0

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Put the append time in."""
        batch = super().validated_batch(partition, data, now_ms)
        self._batches += 1
        if self._batches % EVERY == 0:
            set_timestamps(batch.data, 0, len(batch.data), now_ms, log_append_time=True)
            return ValidatedBatch(batch.data, read_header(batch.data))
        return batch
