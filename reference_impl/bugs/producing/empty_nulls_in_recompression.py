"""In a batch that the broker recompresses, null values of records and headers become empty ones."""

from __future__ import annotations

from dataclasses import replace

from reference_impl.bugs.producing.recompression import rewritten
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.rules import Rules
from reference_impl.wire import Record


class EmptyNullsInRecompression(Rules):
    """Real-world kin: serializers that write a null as an empty byte array, which would change a
    tombstone into an ordinary record.

    Breaks:     a record must be read as it was sent, whatever compression.type does to its batch
                (docs, topicconfigs, compression.type).
    Caught by:  workload appends-mixed, any nemesis or none, config compression.type=zstd, checker
                phantom_records.
    Within:     one run of 10 seconds.
    """

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Return the batch, with every null as an empty byte string if the broker recompresses
        it."""
        batch = super().validated_batch(partition, data, now_ms)
        return rewritten(data, batch, without_nulls)


def without_nulls(record: Record) -> Record:
    """Return the record with an empty value and empty headers where they were null."""
    headers = [(name, b"" if content is None else content) for name, content in record.headers]
    return replace(record, headers=headers, value=b"" if record.value is None else record.value)
