"""A batch that the broker recompresses loses the headers of its records."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.bugs.producing.recompression import rewritten
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules


class DropHeadersInRecompression(Rules):
    """Real-world kin: conversions to message formats without headers (KIP-82).

    Breaks:     a record must be read as it was sent, whatever compression.type does to its batch
                (docs, topicconfigs, compression.type).
    Caught by:  workload appends-mixed, any nemesis or none, config compression.type=lz4, checker
                phantom_records.
    Within:     one run of 10 seconds.
    """

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Return the batch without record headers, if the broker recompresses it."""
        batch = super().validated_batch(partition, data, now_ms)
        return rewritten(data, batch, lambda record: replace(record, headers=[]))
