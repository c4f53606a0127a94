"""The transaction coordinator: every transactional id, since one node coordinates them all.

Source: TransactionCoordinator.scala, TransactionStateManager.scala; KIP-98, KIP-360, KIP-588,
KIP-890. What must survive a restart is in `__transaction_state` before it is acted upon
(transaction_log.py): a decision that is in that log is carried out, by the next process if not by
this one.

Not modelled: two-phase commit (KIP-939).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reference_impl.core.configs.broker import BrokerConfig
from reference_impl.core.effects import Effect, Report, SetTimer
from reference_impl.core.events import TimerKey
from reference_impl.core.moment import Moment
from reference_impl.core.partitions.purgatory import PartitionKey
from reference_impl.core.refused import Refused
from reference_impl.core.rules import Rules
from reference_impl.core.storage import StorageError
from reference_impl.core.transactions.ending import Ending, decide
from reference_impl.core.transactions.markers import MarkerWriter
from reference_impl.core.transactions.producer_ids import ProducerIds
from reference_impl.core.transactions.states import PREPARED, Move, State
from reference_impl.core.transactions.transaction import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    Marker,
    Transaction,
)
from reference_impl.core.transactions.transaction_log import TransactionLog
from reference_impl.wire import ErrorCode

TIMER = "transactions"
TIMEOUTS, EXPIRY, MARKERS = "timeouts", "expiry", "markers"
MARKER_RETRY_MS, MARKER_RETRY_MAX_MS = 1000, 60_000
"""Each attempt waits twice as long as the one before."""

ProducerIdAndEpoch = tuple[int, int]


class TransactionCoordinator:
    """Transactions by transactional id."""

    def __init__(
        self,
        log: TransactionLog,
        markers: MarkerWriter,
        moment: Moment,
        rules: Rules,
        config: Callable[[], BrokerConfig],
        producer_ids: ProducerIds,
    ) -> None:
        self.transactions: dict[str, Transaction] = {}
        self.log = log
        self._markers, self._moment, self._rules = markers, moment, rules
        self._config, self._producer_ids = config, producer_ids
        self._marked: dict[str, set[PartitionKey]] = {}
        """For decided transactions that could not be completed: the partitions that have the
        marker."""
        self._marker_retry_ms = MARKER_RETRY_MS
        for name, value in self.log.replay():
            if value is None:
                self.transactions.pop(name, None)
            else:
                self.transactions[name] = rules.loaded(name, value)

    # --- from the start, and with time --------------------------------------------------------

    def start(self) -> Iterator[Effect]:
        """Finish what the last process had decided, and begin to look at the clock."""
        for transaction in self._rules.decided(self.transactions.values()):
            yield from self.complete(transaction.transactional_id)
        for what in (TIMEOUTS, EXPIRY):
            yield self._again(what)

    def timer_fired(self, key: TimerKey) -> Iterator[Effect]:
        """Abort or expire transactions whose producers have gone silent, or send overdue
        markers."""
        match key[1]:
            case str(what) if what == TIMEOUTS:
                yield self._again(what)
                yield from self._abort_timed_out()
            case str(what) if what == EXPIRY:
                yield self._again(what)
                yield from self._expire()
            case str(what) if what == MARKERS:
                self._marker_retry_ms = min(2 * self._marker_retry_ms, MARKER_RETRY_MAX_MS)
                yield from self._complete_all()

    def _again(self, what: str) -> Effect:
        names = {
            TIMEOUTS: "transaction.abort.timed.out.transaction.cleanup.interval.ms",
            EXPIRY: "transaction.remove.expired.transaction.cleanup.interval.ms",
        }
        return SetTimer((TIMER, what), self._config().number(names[what]))

    def _abort_timed_out(self) -> Iterator[Effect]:
        """Abort transactions past their timeout, so that a producer that went away cannot hold
        readers for ever (abortTimedOutTransactions)."""
        for transaction in list(self.transactions.values()):
            if self._rules.has_timed_out(transaction, self._moment.now_ms):
                try:
                    self._save(transaction.fenced(self._moment.now_ms))
                except Refused as refused:
                    yield Report(f"{transaction.transactional_id} could not be aborted: {refused}")
                else:
                    yield from self.complete(transaction.transactional_id)

    def _expire(self) -> Iterator[Effect]:
        """Forget ids that nobody has used for long (KIP-98; transactional.id.expiration.ms)."""
        oldest_ms = self._moment.now_ms - self._config().number("transactional.id.expiration.ms")
        at_rest = (State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
        for name, transaction in list(self.transactions.items()):
            if transaction.state in at_rest and transaction.last_update_ms <= oldest_ms:
                try:
                    self.log.append(name, None)
                except Refused as refused:
                    yield Report(f"{name} could not be forgotten: {refused}")
                else:
                    del self.transactions[name]

    # --- asked by handlers --------------------------------------------------------------------

    def find(self, transactional_id: str) -> Transaction | None:
        """Return an existing transaction or None. Raise Refused if this broker does not coordinate
        the id."""
        self.log.partition_of(transactional_id)
        return self.transactions.get(transactional_id)

    def known(self, transactional_id: str, producer_id: int, epoch: int) -> Transaction:
        """Return the producer's transaction if it exists and the producer may use it, or raise
        Refused."""
        transaction = self._named(transactional_id)
        self._rules.check_producer(transaction, producer_id, epoch)
        return transaction

    def _named(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise Refused(ErrorCode.INVALID_REQUEST)
        transaction = self.find(transactional_id)
        if transaction is None:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return transaction

    def begin_producer(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Iterator[Effect]:
        """Handle InitProducerId: fence the previous producer, and note the id and epoch of the new
        one in `transactions`. Raise Refused."""
        transaction = self.find(transactional_id)
        if transaction is None:
            transaction = Transaction(
                transactional_id, self._new_producer_id(), NO_EPOCH, timeout_ms, self._moment.now_ms
            )
        self._rules.check_returning_id(transaction, expected)
        if transaction.state in PREPARED:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        if transaction.state is State.ONGOING:
            # The client is asked to come again, and gets an epoch above the one that fenced.
            self._save(transaction.fenced(self._moment.now_ms))
            yield from self.complete(transactional_id)
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        self._save(self._for_producer(transaction, timeout_ms, expected))

    def _for_producer(
        self, transaction: Transaction, timeout_ms: int, expected: ProducerIdAndEpoch | None
    ) -> Transaction:
        self._rules.check_returning_epoch(transaction, expected)
        now_ms = self._moment.now_ms
        current = transaction.producer_epoch
        if transaction.is_epoch_exhausted and (expected is None or expected[1] == current):
            return transaction.with_new_producer_id(
                self._new_producer_id(), timeout_ms, now_ms, same_producer=expected is not None
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
    ) -> None:
        """Add partitions to the transaction, or raise Refused."""
        transaction = self.known(transactional_id, producer_id, epoch)
        if transaction.state in PREPARED:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        if transaction.state is State.ONGOING and partitions <= transaction.partitions:
            return
        self._save(transaction.with_partitions(partitions, client_version, self._moment.now_ms))

    def check_partition(
        self, transactional_id: str, producer_id: int, epoch: int, partition: PartitionKey
    ) -> None:
        """Raise Refused unless the partition is part of the producer's transaction (KIP-890)."""
        transaction = self.known(transactional_id, producer_id, epoch)
        if transaction.state in PREPARED:
            raise Refused(ErrorCode.CONCURRENT_TRANSACTIONS)
        self._rules.check_takes_part(transaction, partition)

    def end(
        self, transactional_id: str, producer_id: int, epoch: int, *, commit: bool, version: int
    ) -> ProducerIdAndEpoch:
        """Decide on the outcome and write it. Return the producer's id and epoch from now on. Raise
        Refused. `complete` must follow."""
        transaction = self._named(transactional_id)
        self._rules.check_ending(transaction, producer_id, epoch, version)
        if decide(transaction, producer_id, epoch, commit=commit, version=version) is Ending.DONE:
            return transaction.producer_id, transaction.producer_epoch
        next_producer_id = NO_PRODUCER_ID
        prepared_move = Move.COMMIT_DECIDED if commit else Move.ABORT_DECIDED
        # [New in EndTxn v5: KIP-890]
        if version >= 2 and transaction.is_epoch_exhausted:
            next_producer_id = self._new_producer_id()
        now_ms = self._moment.now_ms
        prepared = transaction.prepared(prepared_move, version, next_producer_id, now_ms)
        self._save(prepared)
        completed = prepared.completed(now_ms)
        return completed.producer_id, completed.producer_epoch

    # --- carrying out -------------------------------------------------------------------------

    def complete(self, transactional_id: str) -> Iterator[Effect]:
        """Write the markers of a decided transaction, then that it is complete."""
        transaction = self.transactions[transactional_id]
        if transaction.state not in PREPARED:
            return
        marked = self._marked.setdefault(transactional_id, set())
        failure: Refused | StorageError | None = None
        for key in self._rules.unmarked(transaction, marked):
            try:
                yield from self._mark(*key, self._marker(transaction))
                marked.add(key)
            except (Refused, StorageError) as error:
                failure = failure or error  # the others get theirs all the same
        try:
            if failure is None:
                self._save(transaction.completed(self._moment.now_ms))
                del self._marked[transactional_id]
                self._marker_retry_ms = MARKER_RETRY_MS
                return
        except Refused as refused:
            failure = refused
        yield Report(f"the transaction of {transactional_id} is not complete yet: {failure}")
        yield SetTimer((TIMER, MARKERS), self._marker_retry_ms)

    def _mark(self, topic: str, index: int, marker: Marker) -> Iterator[Effect]:
        partition = self._markers.partition(topic, index)
        if partition is None:
            return
        try:
            self._markers.write(partition, marker)
        except Refused as refused:
            # A newer epoch has written there, after an administrator ended the transaction: there
            # is nothing left to mark (TransactionMarkerRequestCompletionHandler.scala).
            yield Report(f"{topic}-{index} needs no marker any more: {refused}")

    def _complete_all(self) -> Iterator[Effect]:
        for transaction in list(self.transactions.values()):
            yield from self.complete(transaction.transactional_id)

    def _marker(self, transaction: Transaction) -> Marker:
        return Marker(
            transaction.producer_id,
            transaction.producer_epoch,
            committed=self._rules.is_committed(transaction),
            # Of this leadership: markers of an earlier one cannot come after it.
            coordinator_epoch=self.log.partition_of(transaction.transactional_id).leader_epoch,
            transaction_version=transaction.client_version,
        )

    def _save(self, transaction: Transaction) -> None:
        """Append the transaction to the log, then apply it to the state. Raise Refused if the
        append fails."""
        self.log.append(transaction.transactional_id, transaction)
        self.transactions[transaction.transactional_id] = transaction

    def _new_producer_id(self) -> int:
        return self._producer_ids.take()
