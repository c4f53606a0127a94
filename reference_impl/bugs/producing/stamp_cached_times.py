"""The leader takes append times from clocks that it reads only every two seconds."""

from __future__ import annotations

from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import read_header

KEPT_MS = 2_000


class StampCachedTimes(Rules):
    """Real-world kin: servers in which every thread keeps the time of its last look at the clock.

    Breaks:     with message.timestamp.type=LogAppendTime a record must have the time at which its
                leader appended it (KIP-32), so that times do not go back along a log.
    Caught by:  workload appends, any nemesis or none, config
                log.message.timestamp.type=LogAppendTime, checker timestamp_types.
    Within:     one run of 20 seconds.
    """

    def __init__(self) -> None:
        self._read_ms: dict[int, int] = {}
        """Producer id -> the time for its batches, for KEPT_MS at most."""

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Validate the batch at the time that was read for its producer, which may be old."""
        producer_id = read_header(data).producer_id
        kept_ms = self._read_ms.get(producer_id, 0)
        if not kept_ms <= now_ms < kept_ms + KEPT_MS:
            kept_ms = self._read_ms[producer_id] = now_ms
        return super().validated_batch(partition, data, kept_ms)
