"""The coordinator's state of one transactional id, as an immutable value; each change creates a new
one.

Source: TransactionMetadata.java (the prepare… methods); KIP-98, KIP-360 (a producer that continues
after an error), KIP-588, KIP-890 (transaction version 2: each transaction has its own epoch).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.transactions.states import Move, State, next_state

NO_PRODUCER_ID = NO_EPOCH = NO_TIME = -1
EPOCH_MAX = 2**15 - 1
EPOCH_LAST = EPOCH_MAX - 1
"""The last epoch that a producer can get; the one above is reserved for fencing."""
CLASSIC, EPOCH_PER_TRANSACTION = 0, 2
"""The two kinds of client protocol, as levels of the feature transaction.version."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """The state of one transactional id: its producer, and its newest transaction. The coordinator
    holds one for each id and writes it to `__transaction_state`."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    last_update_ms: int
    state: State = State.EMPTY
    last_epoch: int = NO_EPOCH
    """The epoch before the current one, if the same producer had it, so that its retries are
    recognised. As in Kafka, it is not in the log."""
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """The producer id to use from the end of this transaction on, because the current one has no
    epochs left."""
    partitions: frozenset[PartitionKey] = frozenset()
    start_ms: int = NO_TIME
    client_version: int = CLASSIC

    @property
    def is_epoch_exhausted(self) -> bool:
        """Return whether the producer id has no epochs left, so that the next producer needs
        another id."""
        return self.producer_epoch >= EPOCH_LAST

    @property
    def bumps_epoch(self) -> bool:
        """Return whether ending this transaction bumps the epoch (KIP-890)."""
        return self.client_version >= EPOCH_PER_TRANSACTION

    def with_producer(
        self, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int
    ) -> Transaction:
        """Return the state after a producer begins or continues under this epoch: EMPTY, without
        partitions (prepareIncrementProducerEpoch). last_epoch: the epoch from which the producer
        has continued, NO_EPOCH for a new producer. Raise ValueError unless the id is at rest
        (AT_REST)."""
        return replace(
            self,
            state=next_state(self.state, Move.PRODUCER_COMES),
            producer_epoch=epoch,
            last_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=NO_TIME,
            last_update_ms=now_ms,
        )

    def with_new_producer_id(
        self, producer_id: int, timeout_ms: int, now_ms: int, *, same_producer: bool
    ) -> Transaction:
        """Return the state with another producer id, whose epochs begin at 0
        (prepareProducerIdRotation). same_producer: whether the producer itself continues, so that
        its last epoch is kept, by which its retries are recognised. Raise ValueError as
        `with_producer` does."""
        last_epoch = self.producer_epoch if same_producer else NO_EPOCH
        begun = self.with_producer(0, last_epoch, timeout_ms, now_ms)
        return replace(begun, producer_id=producer_id, previous_producer_id=self.producer_id)

    def with_partitions(
        self, partitions: frozenset[PartitionKey], client_version: int, now_ms: int
    ) -> Transaction:
        """Return the state with these partitions added (prepareAddPartitions). The first ones begin
        the transaction: its start time is then now_ms. Raise ValueError if the outcome of the
        transaction is decided and not yet carried out."""
        is_first = self.state is not State.ONGOING
        return replace(
            self,
            state=next_state(self.state, Move.PARTITIONS_ADDED),
            partitions=self.partitions | partitions,
            start_ms=now_ms if is_first else self.start_ms,
            client_version=client_version,
            last_update_ms=now_ms,
        )

    def prepared(
        self, move: Move, client_version: int, next_producer_id: int, now_ms: int
    ) -> Transaction:
        """Return the state after the outcome is decided (prepareAbortOrCommit). move: which
        outcome. next_producer_id: the id to use from the end on, or NO_PRODUCER_ID to keep the
        current one. For clients with an epoch per transaction, the epoch is one higher. Raise
        ValueError if the state does not allow the move."""
        decided = replace(
            self,
            state=next_state(self.state, move),
            # An abort without a transaction has a start time, too.
            start_ms=self.start_ms if self.state is State.ONGOING else now_ms,
            client_version=client_version,
            next_producer_id=next_producer_id,
            last_update_ms=now_ms,
        )
        # [New in EndTxn v5: KIP-890]
        if decided.bumps_epoch:
            return replace(
                decided, producer_epoch=self.producer_epoch + 1, last_epoch=self.producer_epoch
            )
        return decided

    def fenced(self, now_ms: int) -> Transaction:
        """Return the state in which the coordinator aborts the open transaction under the next
        epoch, which no producer has, so that its producer can write no more
        (prepareFenceProducerEpoch, then ABORT). As in Kafka, this is done as for the newest
        clients, whatever the client's protocol: the epoch before is remembered, and the producer
        may continue from it (KIP-360)."""
        return self.prepared(Move.ABORT_DECIDED, EPOCH_PER_TRANSACTION, NO_PRODUCER_ID, now_ms)

    def completed(self, now_ms: int) -> Transaction:
        """Return the state after every marker is written (prepareComplete): without partitions, and
        with the next producer id, at epoch 0, if one was set aside. Raise ValueError unless the
        outcome is decided."""
        done = replace(
            self,
            state=next_state(self.state, Move.MARKERS_WRITTEN),
            partitions=frozenset(),
            last_update_ms=now_ms,
        )
        if self.next_producer_id == NO_PRODUCER_ID:
            return done
        return replace(
            done,
            producer_id=self.next_producer_id,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            producer_epoch=0,
        )

    def marker(self, committed: bool, coordinator_epoch: int) -> Marker:
        """Return the marker that ends the transaction. coordinator_epoch: the leader epoch of the
        coordinator's partition, so that leaders can refuse markers of an earlier leadership."""
        return Marker(
            self.producer_id,
            self.producer_epoch,
            committed,
            coordinator_epoch,
            transaction_version=self.client_version,
        )


@dataclass(frozen=True, slots=True)
class Marker:
    """The marker that ends one transaction in each of its partitions: COMMIT if `committed`, else
    ABORT."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int
