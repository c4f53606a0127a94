"""A leader's decisions about a batch before it appends and acknowledges it."""

from __future__ import annotations

from collections.abc import Callable

from reference_impl.core.log import AppendResult
from reference_impl.core.partitions import batch_validation
from reference_impl.core.partitions.batch_validation import ValidatedBatch
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.wire import ErrorCode, Struct

ACKS_ALL = -1


class Producing:
    """Decisions on validation, deduplication, sequence numbers and acknowledgement."""

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Return the batch as it enters the log: whole, uncorrupted, with key, value, headers and
        time as sent, whatever its compression. Raise Refused if it is not valid. Source:
        LogValidator.java."""
        return batch_validation.validated(data, partition.config, now_ms)

    def check_enough_replicas(self, partition: Partition, acks: int) -> None:
        """Raise Refused(NOT_ENOUGH_REPLICAS) before an append with acks=all if the ISR is smaller
        than min.insync.replicas. Source: Partition.java, appendRecordsToLeader."""
        if acks != ACKS_ALL:
            return
        needed = partition.min_isr
        if len(partition.state.isr) < needed:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {list(partition.state.isr)} is insufficient to"
                f" satisfy the min.isr requirement of {needed} for"
                f" partition {partition.topic}-{partition.index}",
            )

    def reserve_producer_ids(self, write: Callable[[list[Struct]], object], block: Struct) -> None:
        """Write the record that allocates a block of producer ids before the first id is assigned,
        so that no id is assigned again after a restart (KIP-730; ProducerIdControlManager.java).
        """
        write([block])

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> AppendResult | None:
        """Return the result of the first append if a producer sends a batch again, else None: a
        retry must not be appended a second time (KIP-98; the last five batches of a producer are
        known)."""
        first = partition.log.producer_state.duplicate_of(batch.header)
        if first is None:
            return None
        # Kafka puts the batch's timestamp where the append time belongs (UnifiedLog.append).
        return AppendResult(
            first.first_offset, first.last_offset, first.timestamp, partition.log.log_start_offset
        )

    def check_sequence(self, partition: Partition, batch: ValidatedBatch) -> None:
        """Raise Refused for a batch that is out of its producer's sequence, of an old producer
        epoch, or not transactional although the producer has an open transaction.

        Source: KIP-98; ProducerAppendInfo.java (checkProducerEpoch, checkSequence).
        """
        entry = partition.log.producer_state.entry(batch.header.producer_id)
        if entry is None:
            return  # the first of this producer, or one without sequences
        code = partition.log.producer_state.check_sequence(batch.header)
        if code is not ErrorCode.NONE:
            raise Refused(
                code,
                f"A batch of producer {batch.header.producer_id}, epoch"
                f" {batch.header.producer_epoch}, sequence {batch.header.base_sequence}, does not"
                f" follow what {partition.topic}-{partition.index} has of it.",
            )
        is_open = entry.current_txn_first_offset is not None
        if is_open and not batch.header.is_transactional:
            # The marker would include a batch that is not transactional
            # (ProducerAppendInfo.appendDataBatch).
            raise Refused(ErrorCode.INVALID_TXN_STATE)

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """Append the batch before its answer is made, so that what is acknowledged is in the log,
        and is synced if `flush.messages` requires that."""
        return partition.append(batch.data, batch.header, now_ms)

    def may_acknowledge(self, partition: Partition, acks: int, last_offset: int) -> bool:
        """Return whether a record may be acknowledged; with acks=all, only when the whole ISR has
        it (design#replication).
        """
        return acks != ACKS_ALL or partition.high_watermark > last_offset

    def check_replicas_remain(self, partition: Partition) -> None:
        """Raise Refused after an append with acks=all when the ISR has become too small meanwhile:
        the batch is on fewer replicas than min.insync.replicas requires (Partition.java,
        checkEnoughReplicasReachOffset).
        """
        if len(partition.state.isr) < partition.min_isr:
            raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    def high_watermark(self, partition: Partition) -> int:
        """Return the offset below which every replica that is or may be in the ISR has the log. It
        never goes back, and does not advance while the ISR is smaller than min.insync.replicas
        (KIP-966; Partition.java, maybeIncrementLeaderHW)."""
        if len(partition.state.isr) < partition.min_isr:
            return partition.high_watermark
        return max(partition.high_watermark, min(partition.ends_that_count()))
