"""The transaction coordinator of one partition of `__transaction_state`: the ids that it keeps.

Source: TransactionCoordinator.scala, TransactionStateManager.scala; KIP-98, KIP-360, KIP-588,
KIP-890. A change is written to `__transaction_state` before the coordinator acts upon it
(transaction_log.py). A decision in that log is carried out, by this leader or the next one.

Not modelled: two-phase commit (KIP-939).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.effects import Effect, Report, SetTimer
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.keyed_topic import KeyedTopic
from reference_impl.core.partitions.partition import Partition
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused, coordinator_error
from reference_impl.core.rules import Rules
from reference_impl.core.shards.shard import Shard
from reference_impl.core.storage import StorageError
from reference_impl.core.transactions.asking_leaders import let_leader_write
from reference_impl.core.transactions.ending import Ending, decide
from reference_impl.core.transactions.markers import MarkerWriter
from reference_impl.core.transactions.producer_ids import ProducerIds
from reference_impl.core.transactions.states import AT_REST, PREPARED, Move, State
from reference_impl.core.transactions.transaction import (
    EPOCH_PER_TRANSACTION,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Marker,
    Transaction,
)
from reference_impl.core.transactions.transaction_log import Saving, TransactionLog, values_in
from reference_impl.core.waiting.waits import Outbox, Replicated
from reference_impl.wire import ErrorCode, RecordBatch

TIMER = "transactions"
MARKERS = "markers"
MARKER_RETRY_MS, MARKER_RETRY_MAX_MS = 1000, 60_000
"""The first and the longest pause between attempts to write markers, in milliseconds. Each pause is
twice as long as the one before."""
DEFAULT_TIMEOUT_MS = 60_000
"""The milliseconds to wait for the replication of a tombstone, which has no timeout of its own (the
default of transaction.timeout.ms)."""
ProducerIdAndEpoch = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shared:
    """The parts of a broker that all its transaction coordinators use."""

    outbox: Outbox
    markers: MarkerWriter
    moment: Moment
    rules: Rules
    config: Callable[[], BrokerConfig]
    producer_ids: ProducerIds


class TransactionCoordinator(Shard):
    """The coordinator of the transactional ids of one partition of `__transaction_state`."""

    def __init__(self, topic: KeyedTopic, partition: Partition, shared: Shared) -> None:
        super().__init__(topic, partition, shared.rules)
        self.transactions: dict[str, Transaction] = {}
        """Transactional id -> the newest state that is replicated."""
        self.pending: dict[str, Saving] = {}
        """Transactional id -> the state that is written but not replicated yet
        (TransactionMetadata.pendingState)."""
        self.log, self._outbox = TransactionLog(topic, self.partition), shared.outbox
        self._markers, self._moment, self._rules = shared.markers, shared.moment, shared.rules
        self._config, self._producer_ids = shared.config, shared.producer_ids
        self._marked: dict[str, tuple[Transaction, set[PartitionKey]]] = {}
        """For decided transactions that are not completed yet: the partitions that already have the
        marker."""
        self._marker_retry_ms = MARKER_RETRY_MS

    # --- with the leadership, and with time ---------------------------------------------------

    def replay(self, batch: RecordBatch) -> None:
        """Apply one batch of the log: a null value removes its transactional id."""
        for name, value in values_in(batch):
            if value is None:
                self.transactions.pop(name, None)
            else:
                self.transactions[name] = self._rules.loaded(name, value)

    def loaded(self) -> Iterator[Effect]:
        """Start, in the background, to write the markers of transactions that the last leader had
        decided."""
        decided = self._rules.decided(self.transactions.values())
        self._outbox.post_each((each.transactional_id for each in decided), self.carry_out)
        return iter(())

    def unloaded(self) -> Iterator[Effect]:
        """Do nothing: each handler that waits for replication is refused by its own wait."""
        return iter(())

    def markers_are_due(self) -> None:
        """Try, in the background, to complete all decided transactions; double the next pause."""
        self._marker_retry_ms = min(2 * self._marker_retry_ms, MARKER_RETRY_MAX_MS)
        self._outbox.post_each(self._names(), self.carry_out)

    def _names(self) -> Iterator[str]:
        """Yield the transactional ids that are known now, but none after this shard is closed."""
        return (name for name in list(self.transactions) if not self.is_closed)

    def _post(self, what: str, handler: Iterator[Effect]) -> None:
        """Run a handler in the background, once per name and leadership: the leader epoch is part
        of the name, so that a handler left from a former leadership does not prevent it."""
        self._outbox.post(f"{what} in epoch {self.leader_epoch} of {self}", handler)

    def abort_timed_out(self) -> None:
        """Start to abort, in the background, the transactions past their timeout, so that a
        producer that went away cannot hold readers for ever (abortTimedOutTransactions). Those with
        a change under way are passed over."""
        self._outbox.post_each(self._names(), self._abort_if_late)

    def _abort_if_late(self, name: str) -> None:
        transaction = self.transactions.get(name)
        if transaction is None or name in self.pending:
            return
        if self._rules.has_timed_out(transaction, self._moment.now_ms):
            self._post(f"abort of {name}", self._abort(transaction))

    def _abort(self, transaction: Transaction) -> Iterator[Effect]:
        name = transaction.transactional_id
        try:
            yield from self._save(name, transaction.fenced(self._moment.now_ms))
        except Refused as refused:
            yield Report(f"the late transaction of {name} is not aborted yet: {refused}")
        else:
            self.carry_out(name)

    def expire(self) -> None:
        """Start to remove, in the background, the transactional ids that were not used for
        transactional.id.expiration.ms (KIP-98). Those with an open transaction, or a change under
        way, stay."""
        oldest_ms = self._moment.now_ms - self._config().number("transactional.id.expiration.ms")
        self._outbox.post_each(self._names(), lambda name: self._forget_if_old(name, oldest_ms))

    def _forget_if_old(self, name: str, oldest_ms: int) -> None:
        transaction = self.transactions.get(name)
        if transaction is None or name in self.pending:
            return
        if transaction.state in AT_REST and transaction.last_update_ms <= oldest_ms:
            self._post(f"end of {name}", self._forget(name))

    def _forget(self, name: str) -> Iterator[Effect]:
        try:
            yield from self._save(name, None)
        except Refused as refused:
            yield Report(f"the expired transactional id {name} is not removed yet: {refused}")

    # --- asked by handlers --------------------------------------------------------------------

    def find(self, transactional_id: str) -> Transaction | None:
        """Return the replicated state of a transactional id, or None if there is none. Raise
        Refused if this shard is closed."""
        self.partition()
        return self.transactions.get(transactional_id)

    def known(self, transactional_id: str, producer_id: int, epoch: int) -> Transaction:
        """Return the state of the producer's transactional id. Raise Refused if there is none, the
        producer is not its newest, or an earlier change of it is still under way."""
        transaction = self._named(transactional_id)
        self._rules.check_producer(transaction, producer_id, epoch)
        self._check_not_pending(transactional_id)
        return transaction

    def _check_not_pending(self, transactional_id: str) -> None:
        transaction = self.find(transactional_id)
        self._rules.check_not_pending(transactional_id, transaction, self.pending)

    def _named(self, transactional_id: str) -> Transaction:
        transaction = self.find(transactional_id)
        if transaction is None:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return transaction

    def begin_producer(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Iterator[Effect]:
        """Handle InitProducerId: fence the previous producer, and put the id and epoch of the new
        one into `transactions`. expected: the id and epoch with which a producer continues, or
        None. If a transaction is open, abort it and raise Refused(CONCURRENT_TRANSACTIONS): the
        client must ask again. Raise Refused also if the client is fenced itself, another change is
        under way, this broker has no producer id left, or the log does not take the change."""
        self._check_not_pending(transactional_id)
        transaction = self.find(transactional_id)
        if transaction is None:
            transaction = Transaction(
                transactional_id,
                self._producer_ids.take(),
                NO_EPOCH,
                timeout_ms,
                self._moment.now_ms,
            )
        self._rules.check_returning_id(transaction, expected)
        if transaction.state is State.ONGOING:
            # The client must ask again, and then gets an epoch above the one that fences here.
            yield from self._save(transactional_id, transaction.fenced(self._moment.now_ms))
            self.carry_out(transactional_id)
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        following = self._for_producer(transaction, timeout_ms, expected)
        yield from self._save(transactional_id, following)

    def _for_producer(
        self, transaction: Transaction, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Transaction:
        self._rules.check_returning_epoch(transaction, expected)
        now_ms = self._moment.now_ms
        current = transaction.producer_epoch
        is_exhausted = self._rules.needs_new_id(transaction)
        if is_exhausted and (expected is None or expected[1] == current):
            return transaction.with_new_producer_id(
                self._producer_ids.take(), timeout_ms, now_ms, same_producer=expected is not None
            )
        following = self._rules.next_epoch(transaction)
        if expected is None:
            return transaction.with_producer(following, NO_EPOCH, timeout_ms, now_ms)
        if current in (NO_EPOCH, expected[1]):
            return transaction.with_producer(following, current, timeout_ms, now_ms)
        # KIP-360: a retry of a call whose answer was lost gets the same answer.
        return transaction.with_producer(current, transaction.last_epoch, timeout_ms, now_ms)

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        partitions: frozenset[PartitionKey],
        client_version: int,
    ) -> Iterator[Effect]:
        """Add partitions to the transaction, and begin it if it is not open; write nothing if it
        has them all. Raise Refused if this producer may not, if a change is under way, or if the
        log does not take this one."""
        self._check_not_pending(transactional_id)
        transaction = self.known(transactional_id, producer_id, epoch)
        if transaction.state is State.ONGOING and partitions <= transaction.partitions:
            return
        following = self._rules.with_partitions(
            transaction, partitions, client_version, self._moment.now_ms
        )
        yield from self._save(transactional_id, following)

    def check_partition(
        self, transactional_id: str, producer_id: int, epoch: int, partition: PartitionKey
    ) -> None:
        """Raise Refused unless the partition is part of the producer's open transaction
        (KIP-890)."""
        transaction = self.known(transactional_id, producer_id, epoch)
        self._rules.check_takes_part(transaction, partition)

    def end(
        self, transactional_id: str, producer_id: int, epoch: int, *, commit: bool, version: int
    ) -> Generator[Effect, None, ProducerIdAndEpoch]:
        """Decide on the outcome of a transaction and write the decision, unless it was decided in
        the same way before. Return the producer's id and epoch from now on. Raise Refused if this
        producer may not end it, or not with this outcome, if another change is under way, or if the
        log does not take the decision. The caller must then call `carry_out`."""
        transaction = self._named(transactional_id)
        # [Modified in EndTxn v5: KIP-890] A client has its next epoch before the markers are
        # written, and may use it already: it must ask again, and is not fenced.
        if version >= EPOCH_PER_TRANSACTION:
            self._check_not_pending(transactional_id)
        self._rules.check_ending(transaction, producer_id, epoch, version)
        self._check_not_pending(transactional_id)
        if decide(transaction, producer_id, epoch, commit=commit, version=version) is Ending.DONE:
            return transaction.producer_id, transaction.producer_epoch
        next_producer_id = NO_PRODUCER_ID
        prepared_move = Move.COMMIT_DECIDED if commit else Move.ABORT_DECIDED
        # [New in EndTxn v5: KIP-890]
        if version >= 2 and self._rules.needs_new_id(transaction):
            next_producer_id = self._producer_ids.take()
        now_ms = self._moment.now_ms
        prepared = transaction.prepared(prepared_move, version, next_producer_id, now_ms)
        yield from self._save(transactional_id, prepared)
        completed = prepared.completed(now_ms)
        return completed.producer_id, completed.producer_epoch

    # --- carrying out -------------------------------------------------------------------------

    def carry_out(self, transactional_id: str) -> None:
        """Complete a decided transaction in the background, even if its client disconnects. Do
        nothing for any other."""
        transaction = self.transactions.get(transactional_id)
        if transaction is not None and transaction.state in PREPARED:
            self._post(f"markers of {transactional_id}", self._complete(transaction))

    def _complete(self, transaction: Transaction) -> Iterator[Effect]:
        """Write the markers of a decided transaction and, once they are replicated, the state that
        it is complete. If anything fails while this shard is open, set a timer to try again."""
        transactional_id = transaction.transactional_id
        marked = self._marked_of(transaction)
        failure: Refused | StorageError | None = None
        written: dict[PartitionKey, int] = {}
        elsewhere: dict[int, list[PartitionKey]] = {}
        for key in self._rules.unmarked(transaction, marked):
            leader = self._markers.leader(*key)
            if not self._rules.needs_marker(leader):
                marked.add(key)
                continue
            if leader is not None and leader != self._config().node_id:
                elsewhere.setdefault(leader, []).append(key)
                continue
            try:
                written[key] = yield from self._markers.mark(*key, self._marker(transaction))
            except (Refused, StorageError) as error:
                failure = failure or error  # continue with the other partitions
        for key, end_offset in written.items():
            try:
                if end_offset:
                    yield Replicated(*key, end_offset)
                marked.add(key)
            except Refused as refused:
                failure = failure or refused
        for node, keys in elsewhere.items():
            done, refused_there = yield from let_leader_write(
                node, keys, self._marker(transaction), self._config().number("request.timeout.ms")
            )
            marked |= done
            failure = failure or refused_there
        try:
            if failure is None:
                yield from self._save(transactional_id, transaction.completed(self._moment.now_ms))
                self._marked.pop(transactional_id, None)
                self._marker_retry_ms = MARKER_RETRY_MS
                return
        except Refused as refused:
            failure = refused
        if self.is_closed:
            return  # the next coordinator completes it
        yield Report(f"the transaction of {transactional_id} is not complete yet: {failure}")
        timer = SetTimer((TIMER, MARKERS), self._marker_retry_ms)
        self.own(timer)
        yield timer

    def _marked_of(self, transaction: Transaction) -> set[PartitionKey]:
        """Return the live set of partitions that have the marker of this decision already. It
        begins empty for each decision: the end of the transaction before may have been replicated
        only after this broker had given up waiting for it, so that its set was left behind."""
        decision, marked = self._marked.get(transaction.transactional_id, (None, set()))
        if decision is not transaction:
            marked = set()
            self._marked[transaction.transactional_id] = transaction, marked
        return marked

    def _marker(self, transaction: Transaction) -> Marker:
        return transaction.marker(self._rules.is_committed(transaction), self.leader_epoch)

    def _save(self, name: str, transaction: Transaction | None) -> Iterator[Effect]:
        """Append the new state of a transactional id to the log (None: a tombstone), and apply it
        once it is replicated. Raise Refused if the append fails, if the leadership ends, or if
        replication takes longer than the producer's transaction.timeout.ms: then the outcome is
        open, and later requests get CONCURRENT_TRANSACTIONS."""
        partition = self.log.append(name, transaction)
        saving = self.pending[name] = Saving(
            name, transaction, partition, partition.leader_epoch, partition.log.log_end_offset
        )
        if partition.high_watermark < saving.end_offset:
            # Apply it in the background: a client's own handler ends if the client disconnects.
            self._post(f"state of {name} at {saving.end_offset}", self._settle(saving))
            timeout_ms = DEFAULT_TIMEOUT_MS if transaction is None else transaction.timeout_ms
            try:
                yield Replicated(partition.topic, partition.index, saving.end_offset, timeout_ms)
                partition.check_still_leads(saving.leader_epoch)
            except Refused as refused:
                raise Refused(coordinator_error(refused.code)) from None
        self._apply(saving)

    def _settle(self, saving: Saving) -> Iterator[Effect]:
        """Once a change is replicated, apply it and carry out its decision. If this broker stops
        being the coordinator first, forget the change: the next coordinator follows its own log."""
        partition = saving.partition
        try:
            yield Replicated(partition.topic, partition.index, saving.end_offset)
            partition.check_still_leads(saving.leader_epoch)
        except Refused:
            if self.pending.get(saving.name) is saving:
                del self.pending[saving.name]
            return
        self._apply(saving)
        self.carry_out(saving.name)

    def _apply(self, saving: Saving) -> None:
        if self.pending.get(saving.name) is not saving:
            return
        del self.pending[saving.name]
        if saving.transaction is None:
            self.transactions.pop(saving.name, None)
        else:
            self.transactions[saving.name] = saving.transaction
