"""The leader does not apply LogAppendTime to compressed batches."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.core.partitions.batch_validation import ValidatedBatch, validated
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import Compression, read_header


class KeepTimesOfCompressed(Rules):
    """Real-world kin: leaders that set timestamps only in the records that they must read anyway.

    Breaks:     with message.timestamp.type=LogAppendTime a record must have the time at which its
                leader appended it, and say so (KIP-32).
    Caught by:  workload appends-mixed, any nemesis or none, config
                log.message.timestamp.type=LogAppendTime, checker timestamp_types.
    Within:     one run of 20 seconds.
    """

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Set the append time only in batches that are not compressed."""
        if read_header(data).compression is Compression.NONE:
            return super().validated_batch(partition, data, now_ms)
        as_created = replace(partition.config, message_timestamp_type="CreateTime")
        return validated(data, as_created, now_ms)
