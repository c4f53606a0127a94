"""The decisions on which safety rests, each with a name and its source, all in this file.

Read it as the list of invariants. A planted bug (`reference_impl/bugs`) is a subclass of Rules
which overrides one decision, mostly one method; the rest of the broker cannot tell the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reference_impl.core import batch_validation
from reference_impl.core.batch_validation import ValidatedBatch
from reference_impl.core.groups.classic_group import ClassicGroup, Member
from reference_impl.core.groups.consumer.commits import Committer
from reference_impl.core.groups.consumer.group import ConsumerGroup
from reference_impl.core.groups.consumer.member import (
    JOIN_EPOCH,
    ConsumerMember,
    TopicIdPartition,
    is_subset,
)
from reference_impl.core.log import AppendResult
from reference_impl.core.log.batch_filter import Care
from reference_impl.core.log.recovery import Beliefs
from reference_impl.core.log.transaction_index import AbortedTransaction
from reference_impl.core.parking import PartitionKey
from reference_impl.core.partition import Partition
from reference_impl.core.refused import Refused
from reference_impl.core.transactions.markers import Marker
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import (
    EPOCH_LAST,
    EPOCH_PER_TRANSACTION,
    NO_EPOCH,
    Transaction,
)
from reference_impl.wire import ErrorCode

if TYPE_CHECKING:
    from reference_impl.core.groups.group_log import GroupLog, KeyValue

ACKS_ALL = -1
READ_COMMITTED = 1


class Rules:
    """How a correct broker decides."""

    def validated_batch(
        self, partition: Partition, data: memoryview | bytearray, now_ms: int
    ) -> ValidatedBatch:
        """Only a whole, uncorrupted batch of data enters a log. Source: LogValidator.java."""
        return batch_validation.validated(data, partition.config, now_ms)

    def check_enough_replicas(self, partition: Partition, acks: int) -> None:
        """acks=all is refused before the append when the ISR is too small.

        Of a partition with fewer replicas than min.insync.replicas all replicas are enough.
        Source: Partition.java, appendRecordsToLeader and effectiveMinIsr.
        """
        needed = min(partition.config.min_insync_replicas, len(partition.state.replicas))
        if acks == ACKS_ALL and len(partition.state.isr) < needed:
            raise Refused(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {list(partition.state.isr)} is insufficient to"
                f" satisfy the min.isr requirement of {needed} for"
                f" partition {partition.topic}-{partition.index}",
            )

    def duplicate_of(self, partition: Partition, batch: ValidatedBatch) -> AppendResult | None:
        """A batch sent again gets the first answer, not a second copy (KIP-98; the last five)."""
        first = partition.log.producer_state.duplicate_of(batch.header)
        if first is None:
            return None
        # Kafka puts the batch's timestamp where the append time belongs (UnifiedLog.append).
        return AppendResult(
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
        entry = partition.log.producer_state.entry(batch.header.producer_id)
        is_open = entry is not None and entry.current_txn_first_offset is not None
        if is_open and not batch.header.is_transactional:
            # ProducerAppendInfo.appendDataBatch: the marker would end what is no part of it.
            raise Refused(ErrorCode.INVALID_TXN_STATE)

    def append(self, partition: Partition, batch: ValidatedBatch, now_ms: int) -> AppendResult:
        """What is acknowledged is in the log, and synced where `flush.messages` asks for it: the
        append happens before the answer is made.
        """
        return partition.append(batch, now_ms)

    def may_acknowledge(self, partition: Partition, acks: int, last_offset: int) -> bool:
        """acks=all waits until the whole ISR has the record (design#replication)."""
        return acks != ACKS_ALL or partition.high_watermark > last_offset

    def restores_producer_state(self) -> bool:
        """A restarted leader still knows which batches it has (KIP-98; ProducerStateManager)."""
        return True

    def replays_after_snapshot(self) -> bool:
        """A snapshot of the producers is as old as its segment: what the log has after it counts,
        too (ProducerStateManager.truncateAndReload, UnifiedLog.rebuildProducerState).
        """
        return True

    def checks_batches_after_crash(self) -> bool:
        """A batch stays in the log only with the CRC that it was written with; the rest of the
        tail is torn, and cut off (LogSegment.recover).
        """
        return True

    def rebuilds_indexes_after_crash(self) -> bool:
        """An index may be on the medium where its log is not, and tells then of batches which are
        not there: after a crash it is written anew from the log (LogLoader.recoverLog).
        """
        return True

    def beliefs(self) -> Beliefs:
        """What the log asks when it is opened (`core/log/recovery.py`)."""
        return Beliefs(
            self.restores_producer_state(),
            self.replays_after_snapshot(),
            self.checks_batches_after_crash(),
            self.rebuilds_indexes_after_crash(),
        )

    # --- what is deleted ----------------------------------------------------------------------

    def delete_records(self, partition: Partition, before: int) -> int:
        """What lies below the offset goes, and nothing else; answers the log start (KIP-107)."""
        return partition.log.delete_records_before(before)

    def has_expired(self, age_ms: int, retention_ms: int) -> bool:
        """A segment goes when its newest record is older than `retention.ms`, and no sooner.

        Source: UnifiedLog.java, deleteRetentionMsBreachedSegments.
        """
        return age_ms > retention_ms

    def keeps_newest_of_key(self) -> bool:
        """Only a newer record of the same key takes one away (design#compaction)."""
        return True

    def waits_for_delete_horizon(self) -> bool:
        """A tombstone stays for `delete.retention.ms` after it was cleaned first, so that who reads
        the log from its start meanwhile is told (KIP-534; Cleaner.java, shouldRetainRecord).
        """
        return True

    def spares_open_transactions(self) -> bool:
        """What is not decided replaces nothing: cleaning ends at the last stable offset.

        Source: LogCleanerManager.java, cleanableOffsets.
        """
        return True

    def care(self) -> Care:
        """What the cleaner heeds (`core/log/compaction.py`)."""
        return Care(
            self.keeps_newest_of_key(),
            self.waits_for_delete_horizon(),
            self.spares_open_transactions(),
        )

    # --- consumer groups ----------------------------------------------------------------------

    def part_of(self, member: Member, given_out: Mapping[str, bytes]) -> bytes:
        """Each member gets the part that the leader gave it: no two read the same partition.

        Source: GroupMetadataManager.java, setAndPersistAssignment (classicGroupSync).
        """
        return given_out.get(member.member_id, b"")

    def check_committing_member(self, group: ClassicGroup, committer: Committer) -> None:
        """Who commits is a member, and was not replaced under its group.instance.id (KIP-345)."""
        group.checked_member(committer.member_id, committer.instance_id)

    def check_generation(self, group: ClassicGroup, committer: Committer) -> None:
        """Who missed a generation may commit over what its successor has read since.

        Source: ClassicGroup.java, validateOffsetCommit.
        """
        if committer.epoch != group.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)

    def write_commits(
        self,
        log: GroupLog,
        group_id: str,
        records: Sequence[KeyValue],
        writer: tuple[int, int] | None,
    ) -> int:
        """A commit is in `__consumer_offsets` before it is answered; its offset there (KIP-98)."""
        return log.append(group_id, records, writer)

    def is_released(
        self, group: ConsumerGroup, member_id: str, partition: TopicIdPartition
    ) -> bool:
        """A partition is given to a member only when no other may still be reading it.

        Source: KIP-848, Reconciliation of the group; CurrentAssignmentBuilder.java.
        """
        return group.owners.get(partition, member_id) == member_id

    def check_member_epoch(
        self, member: ConsumerMember, epoch: int, reported: set[TopicIdPartition] | None
    ) -> None:
        """Who missed an epoch reads what it may have lost, so it must begin anew (KIP-848).

        The previous epoch is accepted, in case that the answer was lost, from a member that claims
        nothing beyond what it has. Source: throwIfConsumerGroupMemberEpochIsInvalid.
        """
        if epoch in (JOIN_EPOCH, member.epoch):
            return
        is_retry = epoch == member.previous_epoch and epoch < member.epoch
        if is_retry and is_subset(reported, member.assigned):
            return
        kind = "greater" if epoch > member.epoch else "smaller"
        raise Refused(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {kind} member epoch ({epoch}) than the one known by"
            f" the group coordinator ({member.epoch}). The member must abandon all its partitions"
            " and rejoin.",
        )

    def check_commit_epoch(
        self, member: ConsumerMember, epoch: int, partition: TopicIdPartition
    ) -> None:
        """A member commits for what it reads: since its epoch nobody else had the partition.

        Source: ConsumerGroup.java (validateOffsetCommit); KIP-848, KIP-1251 (an older epoch will do
        from the one on in which the member got the partition).
        """
        since = member.assignment_epoch(partition)
        is_since_then = since is not None and since <= epoch < member.epoch
        if epoch != member.epoch and not is_since_then:
            is_classic = member.classic is not None
            raise Refused(
                ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH
            )

    # --- transactions -------------------------------------------------------------------------

    def check_producer(self, transaction: Transaction, producer_id: int, epoch: int) -> None:
        """Only the newest producer of a transactional id may act in its name (KIP-98; KIP-588)."""
        if transaction.producer_id != producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.producer_epoch != epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_returning_id(
        self, transaction: Transaction, expected: tuple[int, int] | None
    ) -> None:
        """A producer that goes on after an error must still be the one of this id (KIP-360).

        Source: TransactionCoordinator.scala, prepareInitProducerIdTransit (isValidProducerId).
        """
        if expected is None or transaction.producer_epoch == NO_EPOCH:
            return
        producer_id, epoch = expected
        is_retry_of_rotation = (
            producer_id == transaction.previous_producer_id and epoch >= EPOCH_LAST
        )
        if producer_id != transaction.producer_id and not is_retry_of_rotation:
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_returning_epoch(
        self, transaction: Transaction, expected: tuple[int, int] | None
    ) -> None:
        """... with the current epoch, or the one before, in a retry (KIP-360).

        Source: TransactionMetadata.java, prepareIncrementProducerEpoch.
        """
        current = transaction.producer_epoch
        if expected is None or current == NO_EPOCH:
            return
        if expected[1] not in (current, transaction.last_epoch):
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_takes_part(self, transaction: Transaction, partition: PartitionKey) -> None:
        """Nothing is written outside of an open transaction, where no marker would end it
        (KIP-890, part 1)."""
        if transaction.state is not State.ONGOING or partition not in transaction.partitions:
            raise Refused(ErrorCode.TRANSACTION_ABORTABLE)

    def check_marker(self, partition: Partition, marker: Marker) -> None:
        """A marker ends the producer's newest transaction, and comes from the newest coordinator.

        Source: ProducerAppendInfo.java (checkProducerEpoch, checkCoordinatorEpoch); KIP-98,
        KIP-890 (a marker has an epoch of its own, unless it is a repeated one).
        """
        entry = partition.log.producer_state.entry(marker.producer_id)
        if entry is None:
            return
        is_old = marker.producer_epoch < entry.producer_epoch
        if marker.transaction_version >= EPOCH_PER_TRANSACTION:
            is_open = entry.current_txn_first_offset is not None
            is_old = is_old or (is_open and marker.producer_epoch == entry.producer_epoch)
        if is_old:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise Refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED)

    def check_offset_writer(self, partition: Partition, producer_id: int, epoch: int) -> None:
        """A fenced producer commits no offsets (KIP-98; ProducerAppendInfo.checkProducerEpoch)."""
        entry = partition.log.producer_state.entry(producer_id)
        if entry is not None and epoch < entry.producer_epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)

    def completes_decided_transactions(self) -> bool:
        """What was decided before a crash is carried out after it (KIP-98)."""
        return True

    def has_timed_out(self, transaction: Transaction, now_ms: int) -> bool:
        """A transaction that takes too long is aborted (KIP-98; transaction.timeout.ms)."""
        return (
            transaction.state is State.ONGOING
            and transaction.start_ms + transaction.timeout_ms < now_ms
        )

    def readable_end(self, partition: Partition, isolation_level: int) -> int:
        """read_committed ends where the first undecided transaction begins (KIP-98, LSO)."""
        if isolation_level == READ_COMMITTED:
            return partition.log.last_stable_offset
        return partition.high_watermark

    def aborted_transactions(
        self, partition: Partition, from_offset: int, end_offset: int
    ) -> list[AbortedTransaction]:
        """read_committed is told what it must leave out (KIP-98)."""
        return partition.log.aborted_transactions(from_offset, end_offset)
