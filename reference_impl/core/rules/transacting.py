"""A transaction coordinator's decisions, and those of a leader that writes its markers."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence, Set

from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.groups.pending_offsets import PendingOffsets
from reference_impl.core.log.directories.checkpoints import TopicPartition
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused
from reference_impl.core.transactions.ending import check_ending_producer
from reference_impl.core.transactions.states import PREPARED, State
from reference_impl.core.transactions.transaction import (
    EPOCH_LAST,
    EPOCH_PER_TRANSACTION,
    NO_EPOCH,
    Marker,
    Transaction,
)
from reference_impl.core.transactions.transaction_log import transaction_from
from reference_impl.wire import ErrorCode, Struct


class Transacting:
    """Decisions on which producers are fenced, which partitions take part in a transaction, and how
    it ends."""

    def check_producer(self, transaction: Transaction, producer_id: int, epoch: int) -> None:
        """Raise Refused unless this is the newest producer of the transactional id (KIP-98;
        KIP-588).
        """
        if transaction.producer_id != producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.producer_epoch != epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_not_pending(
        self, transactional_id: str, transaction: Transaction | None, pending: Container[str]
    ) -> None:
        """Raise Refused(CONCURRENT_TRANSACTIONS) while the newest state of a transactional id is
        not replicated: that state may still be lost, and the one before it is no longer in force.
        Raise it, too, while the markers of a decided transaction are being written.

        Source: TransactionMetadata.java, pendingTransitionInProgress, prepareComplete.
        """
        is_decided = transaction is not None and transaction.state in PREPARED
        if is_decided or transactional_id in pending:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)

    def check_returning_id(
        self, transaction: Transaction, expected: tuple[int, int] | None
    ) -> None:
        """Raise Refused for a producer that continues after an error, but whose transactional id
        belongs to another producer id by now, unless it repeats the request that brought the new
        one (KIP-360).

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
        """Raise Refused for a producer that continues after an error, but whose epoch is neither
        the current one nor, in a retry, the one before (KIP-360).

        Source: TransactionMetadata.java, prepareIncrementProducerEpoch.
        """
        current = transaction.producer_epoch
        if expected is None or current == NO_EPOCH:
            return
        if expected[1] not in (current, transaction.last_epoch):
            raise Refused(ErrorCode.PRODUCER_FENCED)

    def check_takes_part(self, transaction: Transaction, partition: PartitionKey) -> None:
        """Raise Refused(TRANSACTION_ABORTABLE) for a batch whose partition is not part of an open
        transaction: no marker would end what it begins (KIP-890, part 1).
        """
        if transaction.state is not State.ONGOING or partition not in transaction.partitions:
            raise Refused(ErrorCode.TRANSACTION_ABORTABLE)

    def check_not_ended(self, last_marker_before: int, last_marker: int) -> None:
        """Raise Refused(INVALID_TXN_STATE) for a batch if a marker has ended its transaction in the
        partition while the coordinator was being asked, so that the offset of the producer's newest
        marker has changed: the batch would begin a transaction that no marker ends.

        Source: UnifiedLog.java, hasInvalidOngoingTransaction; VerificationGuard.java (KIP-890).
        """
        if last_marker != last_marker_before:
            raise Refused(ErrorCode.INVALID_TXN_STATE)

    def check_marker(self, partition: Partition, marker: Marker) -> None:
        """Raise Refused for a marker of an older producer epoch, or of an older coordinator.

        Source: ProducerAppendInfo.java (checkProducerEpoch, checkCoordinatorEpoch); KIP-98, KIP-890
        (with transaction version 2, a marker must have a higher epoch than the producer's, unless
        it is a repetition).
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
        """Raise Refused for offsets that a fenced producer commits (KIP-98;
        ProducerAppendInfo.checkProducerEpoch).
        """
        entry = partition.log.producer_state.entry(producer_id)
        if entry is not None and epoch < entry.producer_epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)

    def decided(self, transactions: Iterable[Transaction]) -> Sequence[Transaction]:
        """Return the transactions whose markers must be written after a restart: all that were
        decided before it (KIP-98; TransactionStateManager.loadTransactionMetadata).
        """
        return [each for each in transactions if each.state in PREPARED]

    def loaded(self, transactional_id: str, value: Struct) -> Transaction:
        """Return a transaction with the state and the start time that the log has: its timeout
        continues across a restart (KIP-98; TransactionStateManager.loadTransactionMetadata).
        """
        return transaction_from(transactional_id, value)

    def with_partitions(
        self, transaction: Transaction, added: Set[PartitionKey], client_version: int, now_ms: int
    ) -> Transaction:
        """Return the transaction with these partitions added. Its time-out still counts from its
        beginning, so that no producer can keep readers waiting for longer (KIP-98;
        TransactionMetadata.prepareAddPartitions).
        """
        return transaction.with_partitions(frozenset(added), client_version, now_ms)

    def has_timed_out(self, transaction: Transaction, now_ms: int) -> bool:
        """Return whether a transaction must be aborted because it has lasted longer than its
        producer's transaction.timeout.ms (KIP-98).
        """
        return (
            transaction.state is State.ONGOING
            and transaction.start_ms + transaction.timeout_ms < now_ms
        )

    def next_epoch(self, transaction: Transaction) -> int:
        """Return the producer epoch for InitProducerId to answer: above the last one, so that the
        previous producer is fenced (KIP-98; TransactionMetadata.prepareIncrementProducerEpoch).
        """
        return transaction.producer_epoch + 1

    def needs_new_id(self, transaction: Transaction) -> bool:
        """Return whether the next producer gets another producer id: only if the present one has
        no epochs left, since an epoch of another id fences nobody (KIP-98;
        TransactionMetadata.isProducerEpochExhausted)."""
        return transaction.is_epoch_exhausted

    def check_ending(
        self, transaction: Transaction, producer_id: int, epoch: int, version: int
    ) -> None:
        """Raise Refused for an EndTxn whose sender is not the producer of the transaction (KIP-98;
        KIP-588). Source: TransactionCoordinator.scala, endTransaction.
        """
        check_ending_producer(transaction, producer_id, epoch, version)

    # --- how it ends --------------------------------------------------------------------------

    def is_committed(self, transaction: Transaction) -> bool:
        """Return whether a decided transaction gets COMMIT markers: True only if the decision was
        to commit (KIP-98; TransactionMarkerChannelManager)."""
        return transaction.state is State.PREPARE_COMMIT

    def unmarked(
        self, transaction: Transaction, marked: Collection[PartitionKey]
    ) -> Sequence[PartitionKey]:
        """Return the partitions of a decided transaction that still need a marker, sorted: all
        except those in `marked` (KIP-98)."""
        return sorted(transaction.partitions.difference(marked))

    def needs_marker(self, leader: int | None) -> bool:
        """Return whether a partition of a decided transaction needs the marker: each one that
        exists, also while nobody leads it (-1; KIP-98). leader: None if the partition is deleted.
        """
        return leader is not None

    def newer_pending(
        self, pending: CommittedOffset | None, commit: CommittedOffset
    ) -> CommittedOffset:
        """Return the offset of a partition that counts if its transaction commits, after the
        transaction has sent another one: the later, even if it is smaller (KIP-98;
        OffsetMetadataManager.replay).
        """
        return commit

    def offset_in_force(
        self, known: CommittedOffset | None, pending: CommittedOffset, *, committed: bool
    ) -> CommittedOffset | None:
        """Return the committed offset of a partition after a transaction with a pending offset has
        ended: the pending one if the transaction committed and no plain commit was written after
        it, else the one known before, which may be None (KIP-98;
        OffsetMetadataManager.replayEndTransactionMarker)."""
        if committed and (known is None or known.log_offset < pending.log_offset):
            return pending
        return known

    def unstable(self, pending: PendingOffsets, group_id: str) -> Sequence[TopicPartition]:
        """Return the partitions for which OffsetFetch with `require_stable` returns an error
        instead of an offset, because an open transaction may change it (KIP-447).
        """
        return pending.of(group_id)
