"""The decisions on which safety rests, each with a name and its source, all in this file.

Read it as the list of invariants. A planted bug (`reference_impl/bugs`) is a subclass of Rules
which overrides exactly one of them; the rest of the broker cannot tell the difference.
"""

from __future__ import annotations

from reference_impl.core import batch_validation
from reference_impl.core.batch_validation import ValidatedBatch
from reference_impl.core.partition import Appended, Partition
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode

ACKS_ALL = -1


class Rules:
    """How a correct broker decides."""

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Only a whole, uncorrupted batch of data enters a log. Source: LogValidator.java."""
        return batch_validation.validated(data, partition.config, now_ms)

    def check_enough_replicas(self, partition: Partition, acks: int) -> None:
        """acks=all is refused before the append when the ISR is too small.

        Source: Partition.java, appendRecordsToLeader; topic config min.insync.replicas.
        """
        if acks == ACKS_ALL and len(partition.state.isr) < partition.config.min_insync_replicas:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {list(partition.state.isr)} is insufficient to"
                f" satisfy the min.isr requirement of {partition.config.min_insync_replicas} for"
                f" partition {partition.topic}-{partition.index}",
            )

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> Appended | None:
        """A batch sent again gets the first answer, not a second copy (KIP-98; the last five)."""
        first = partition.log.producer_state.duplicate_of(batch.header)
        if first is None:
            return None
        # Kafka puts the batch's timestamp where the append time belongs (UnifiedLog.append).
        return Appended(
            first.first_offset, first.last_offset, first.timestamp, partition.log.log_start_offset
        )

    def check_sequence(self, partition: Partition, batch: ValidatedBatch) -> None:
        """A producer's batches enter in its order, without gaps, under its newest epoch.

        Source: KIP-98; ProducerAppendInfo.java (checkProducerEpoch, checkSequence).
        """
        code = partition.log.producer_state.check_sequence(batch.header)
        if code is not ErrorCode.NONE:
            raise Refused(
                code,
                f"Sequence {batch.header.base_sequence} of producer {batch.header.producer_id},"
                f" epoch {batch.header.producer_epoch}, does not follow what"
                f" {partition.topic}-{partition.index} has of it.",
            )

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> Appended:
        """What is acknowledged is in the log: the append happens before the answer is made."""
        return partition.append(batch, now_ms)

    def may_acknowledge(self, partition: Partition, acks: int, last_offset: int) -> bool:
        """acks=all waits until the whole ISR has the record (design#replication)."""
        return acks != ACKS_ALL or partition.high_watermark > last_offset

    def restores_producer_state(self) -> bool:
        """A restarted leader still knows which batches it has (KIP-98; ProducerStateManager)."""
        return True
