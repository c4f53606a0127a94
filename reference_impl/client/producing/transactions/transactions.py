"""Transactions on the side of their producer.

Source: KIP-98, Transactional Guarantees; KIP-360 (epoch bump after an abort), KIP-447 (offsets are
fenced by the group's generation), KIP-588 (a time-out is abortable), KIP-890 (partitions take part
by being written to, and each transaction has its own epoch); TransactionManager.java.

One request is in flight at a time. `_next_question` shows their order: coordinator, identity,
partitions, offsets, end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_impl.client.cluster.coordinators import Coordinators, Key, KeyType, OneAfterAnother
from reference_impl.client.cluster.network import Network
from reference_impl.client.config import Config
from reference_impl.client.errors import (
    COORDINATOR_MOVED,
    FATAL_IN_TRANSACTION,
    ClientError,
    IllegalState,
    Refusal,
    is_retriable,
)
from reference_impl.client.kernel import Kernel
from reference_impl.client.producing.accumulator import ProducerIdAndEpoch
from reference_impl.client.producing.sequences import Sequences
from reference_impl.client.producing.transactions.partitions import TransactionPartitions
from reference_impl.client.producing.transactions.requests import (
    ADD_PARTITIONS_AGAIN_MS,
    Fields,
    PendingOffsets,
    add_partitions,
    commit_offsets,
)
from reference_impl.client.producing.transactions.states import Move, State, next_state
from reference_impl.client.values import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from reference_impl.wire import ApiKey, ErrorCode, Struct

Question = Callable[[], None]


class Transactions:
    """The transactional side of a producer: its state, and the requests to coordinators that lead
    from one state to the next."""

    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        config: Config,
        sequences: Sequences,
        coordinators: Coordinators,
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._sequences = sequences
        self._id: str = config["transactional.id"]
        self._key: Key = (KeyType.TRANSACTION, self._id)
        self._timeout_ms: int = config["transaction.timeout.ms"]
        self._questions = OneAfterAnother(kernel, config, coordinators, self._not_found)
        self.state = State.UNINITIALIZED
        self.error: ClientError | None = None
        """The error that led to ABORTABLE_ERROR or FATAL_ERROR."""
        self.is_v2 = False
        """Whether this transaction uses transaction version 2, as determined at its beginning."""
        self._has_begun = False
        """Whether the coordinator may know of this transaction, so that it needs EndTxn."""
        self._partitions = TransactionPartitions()
        self._offsets: list[PendingOffsets] = []
        self._is_epoch_spent = False
        self._waiting_calls: list[int] = []

    # --- what the application asks ------------------------------------------------------------

    def init(self, call_id: int) -> None:
        """Handle InitTransactions; a second call during the first waits with it. Raise IllegalState
        if the producer was initialized before."""
        if self.state != State.INITIALIZING:
            self._move(Move.INIT)
        self._waiting_calls.append(call_id)

    def begin(self) -> None:
        """Handle BeginTransaction, which sends nothing yet. Raise IllegalState if a transaction is
        open, or InitTransactions is not done; after a fatal error, raise that error."""
        self._move(Move.BEGIN)
        self.is_v2 = self._network.has_transactions_v2

    def commit(self, call_id: int) -> None:
        """Handle CommitTransaction; a second call during the first waits with it. Raise the error
        of a transaction that can only be aborted, or IllegalState if none is open."""
        if self.state == State.ABORTABLE_ERROR and self.error is not None:
            raise self.error
        if self.state != State.COMMITTING_TRANSACTION:
            self._move(Move.COMMIT)
        self._waiting_calls.append(call_id)

    def abort(self, call_id: int | None) -> None:
        """Handle AbortTransaction, and drop the partitions and offsets that the coordinator does
        not know of yet. call_id: None if no caller waits. Raise IllegalState if no transaction is
        open."""
        if self.state != State.ABORTING_TRANSACTION:
            self._move(Move.ABORT)
            self._partitions.drop_wanted()
            self._drop_offsets(ClientError("TRANSACTION_ABORTED", "the transaction was aborted"))
        if call_id is not None:
            self._waiting_calls.append(call_id)

    def send_offsets(
        self,
        call_id: int,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
    ) -> None:
        """Handle SendOffsetsToTransaction: queue the offsets to be sent to their group's
        coordinator; without any the call is complete. Raise an error unless a transaction is
        open."""
        self.check_in_transaction("send_offsets_to_transaction")
        if not offsets:
            self._kernel.complete(call_id)
            return
        self._offsets.append(PendingOffsets(call_id, offsets, group))

    def check_in_transaction(self, doing: str) -> None:
        """Raise the error of the transaction, or IllegalState, unless one is open to write in.
        doing: the call, for the message."""
        if self.state == State.IN_TRANSACTION:
            return
        if self.error is not None and self.state in (State.ABORTABLE_ERROR, State.FATAL_ERROR):
            raise self.error
        raise IllegalState(
            f"{doing} needs a transaction, but the producer is in state {self.state}"
        )

    def _move(self, move: Move) -> None:
        if self.state == State.FATAL_ERROR and self.error is not None:
            raise self.error
        self.state = next_state(self.state, move)

    # --- what the sender asks -----------------------------------------------------------------

    @property
    def is_ending(self) -> bool:
        """Return whether gathered records must be sent without lingering."""
        return self.state in (State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION)

    @property
    def drops_unsent(self) -> bool:
        """Return whether unsent records are dropped, as they would be aborted."""
        return self.state in (State.ABORTING_TRANSACTION, State.ABORTABLE_ERROR, State.FATAL_ERROR)

    def joins(self, partition: TopicPartition) -> None:
        """Add the partition to the transaction: by the first batch (KIP-890), or else by
        AddPartitionsToTxn."""
        if self.is_v2:
            # The leader adds it when the first batch comes (KIP-890).
            self._partitions.add(partition)
            self._has_begun = True
        else:
            self._partitions.want(partition)

    def may_send(self, partition: TopicPartition) -> bool:
        """Return whether the partition is part of the transaction, so that a marker will end what
        is written there."""
        return self.state != State.FATAL_ERROR and partition in self._partitions

    # --- what goes wrong ----------------------------------------------------------------------

    def problem(self, error: ClientError, *, spends_epoch: bool = True) -> None:
        """Note an error: from now on an open transaction can only be aborted, and its waiting calls
        fail. If the error is fatal, the producer can only be closed. spends_epoch: whether sequence
        numbers are in doubt, so that they start over after the abort."""
        if error.fatal:
            self.fail_for_good(error)
            return
        self._is_epoch_spent = self._is_epoch_spent or spends_epoch
        if self._kernel.rules.must_abort(self.state):
            self._move(Move.PROBLEM)
            self.error = error
            self._drop_offsets(error)
            self._fail_calls(error)

    def fail_for_good(self, error: ClientError) -> None:
        """Enter the fatal state, mark the error as fatal, and fail all pending calls with it: the
        producer can only be closed afterwards."""
        if self.state == State.FATAL_ERROR:
            return
        self.state = next_state(self.state, Move.FATAL_ERROR)
        error.fatal = True
        self.error = error
        self._drop_offsets(error)
        self._fail_calls(error)

    def _drop_offsets(self, error: ClientError) -> None:
        pending, self._offsets = self._offsets, []
        for offsets in pending:
            self._kernel.fail(offsets.call_id, error)

    def _fail_calls(self, error: ClientError) -> None:
        calls, self._waiting_calls = self._waiting_calls, []
        for call_id in calls:
            self._kernel.fail(call_id, error)

    # --- one question after the other ---------------------------------------------------------

    def run(self, has_incomplete: bool) -> None:
        """Send the next request to a coordinator, unless one is in flight or none is needed.
        has_incomplete: whether some records of the transaction are neither acknowledged nor failed
        yet."""
        while not self._questions.is_busy:
            question = self._next_question(has_incomplete)
            if question is None:
                return
            question()  # sends a request, or changes the state

    def _next_question(self, has_incomplete: bool) -> Question | None:
        match self.state:
            case State.INITIALIZING:
                return self._init_producer_id
            case State.IN_TRANSACTION | State.COMMITTING_TRANSACTION if self._partitions.are_coming:
                return self._add_partitions
            case State.IN_TRANSACTION | State.COMMITTING_TRANSACTION if self._offsets:
                return self._add_offsets
            case State.ABORTING_TRANSACTION if self._partitions.are_asked_for:
                return self._add_partitions  # a lost request may have added them, so end them, too
            case State.COMMITTING_TRANSACTION | State.ABORTING_TRANSACTION if not has_incomplete:
                return self._end
        return None

    def _not_found(self, key: Key, error: ClientError) -> None:
        if key == self._key or error.fatal:
            self.fail_for_good(error)
        else:
            self.problem(error, spends_epoch=False)

    def _is_good(self, code: int, doing: str, key: Key | None = None) -> bool:
        """Return True if an answer has no error. Otherwise repeat the request, abort or give up, as
        the error demands, and return False. key: the coordinator that answered, None for that of
        the transaction."""
        if code == ErrorCode.NONE:
            self._questions.backoff.succeed()
            return True
        if code in COORDINATOR_MOVED:
            self._questions.ask_elsewhere(key or self._key)
        elif is_retriable(code) or code == ErrorCode.CONCURRENT_TRANSACTIONS:
            self._questions.pause(self._questions.backoff.fail())
        elif code in FATAL_IN_TRANSACTION or self.state in (
            State.INITIALIZING,
            State.ABORTING_TRANSACTION,
        ):
            self.fail_for_good(Refusal(code, doing, fatal=True))
        else:
            self.problem(Refusal(code, doing))
        return False

    # --- identity -----------------------------------------------------------------------------

    def _init_producer_id(self) -> None:
        # [New in v3: KIP-360] Saying who we are raises our own epoch without fencing ourselves.
        writer = self._sequences.writer if self._is_epoch_spent else ProducerIdAndEpoch()
        fields: Fields = {
            "transactional_id": self._id,
            "transaction_timeout_ms": self._timeout_ms,
            "producer_id": writer.producer_id,
            "producer_epoch": writer.epoch,
        }

        def answered(answer: Struct) -> None:
            if self._is_good(answer.error_code, "initializing transactions"):
                self._become(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
                self._move(Move.IDENTITY_COMES)
                self._complete_calls()

        version_min = 3 if writer.is_valid else 0
        self._questions.ask(
            self._key, ApiKey.INIT_PRODUCER_ID, fields, answered, version_min=version_min
        )

    def _become(self, writer: ProducerIdAndEpoch) -> None:
        self._sequences.become(writer)
        self._is_epoch_spent = False

    def _complete_calls(self) -> None:
        calls, self._waiting_calls = self._waiting_calls, []
        for call_id in calls:
            self._kernel.complete(call_id)

    # --- partitions and offsets ---------------------------------------------------------------

    def _writer_fields(self) -> Fields:
        writer = self._sequences.writer
        return {
            "transactional_id": self._id,
            "producer_id": writer.producer_id,
            "producer_epoch": writer.epoch,
        }

    def _add_partitions(self) -> None:
        fields = add_partitions(self._writer_fields(), self._partitions.ask())
        # Version 4 and above are for brokers only (AddPartitionsToTxnRequest.json).
        self._questions.ask(
            self._key, ApiKey.ADD_PARTITIONS_TO_TXN, fields, self._partitions_added, version_max=3
        )

    def _partitions_added(self, answer: Struct) -> None:
        codes = [
            row.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for row in topic.results_by_partition
        ]
        if ErrorCode.CONCURRENT_TRANSACTIONS in codes and self._partitions.is_first_question:
            self._questions.pause(ADD_PARTITIONS_AGAIN_MS)
            return
        bad = [code for code in codes if code not in (0, ErrorCode.OPERATION_NOT_ATTEMPTED)]
        if bad and self.state == State.ABORTING_TRANSACTION and not is_retriable(bad[0]):
            self._partitions.refused()  # so there is less to abort
            return
        if self._is_good(bad[0] if bad else 0, "adding partitions to the transaction"):
            self._partitions.agreed()
            self._has_begun = True
        elif self.state == State.ABORTABLE_ERROR:
            self._partitions.refused()  # the broker has refused: nothing was added

    def _add_offsets(self) -> None:
        pending = self._offsets[0]
        if self.is_v2 or pending.is_group_added:
            self._commit_offsets(pending)
            return

        def answered(answer: Struct) -> None:
            if self._is_good(answer.error_code, "adding offsets to the transaction"):
                pending.is_group_added = self._has_begun = True

        fields = self._writer_fields() | {"group_id": pending.group.group_id}
        self._questions.ask(self._key, ApiKey.ADD_OFFSETS_TO_TXN, fields, answered)

    def _commit_offsets(self, pending: PendingOffsets) -> None:
        key: Key = (KeyType.GROUP, pending.group.group_id)
        self._has_begun = True
        fields = commit_offsets(self._writer_fields(), pending)
        # [New in v5: KIP-890] The group's coordinator adds itself to the transaction.
        version_min, version_max = (5, 5) if self.is_v2 else (0, 4)

        def answered(answer: Struct) -> None:
            codes = [row.error_code for topic in answer.topics for row in topic.partitions]
            code = next((code for code in codes if code), 0)
            doing = "committing offsets in the transaction"
            if self._is_good(code, doing, key) and self._offsets:
                self._kernel.complete(self._offsets.pop(0).call_id)

        self._questions.ask(
            key,
            ApiKey.TXN_OFFSET_COMMIT,
            fields,
            answered,
            version_min=version_min,
            version_max=version_max,
        )

    # --- the end ------------------------------------------------------------------------------

    def _end(self) -> None:
        if not self._has_begun:
            self._ended()
            return
        commits = self._kernel.rules.commits(self.state)
        fields = self._writer_fields() | {"committed": commits}
        version_min, version_max = (5, 1 << 15) if self.is_v2 else (0, 4)

        def answered(answer: Struct) -> None:
            doing = "committing the transaction" if commits else "aborting the transaction"
            if not self._is_good(answer.error_code, doing):
                return
            # [New in v5: KIP-890] Every transaction has an epoch of its own.
            if answer.producer_id >= 0:
                self._become(ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch))
            self._ended()

        self._questions.ask(
            self._key,
            ApiKey.END_TXN,
            fields,
            answered,
            version_min=version_min,
            version_max=version_max,
        )

    def _ended(self) -> None:
        self._partitions.clear()
        self._has_begun = False
        self.error = None
        if self._is_epoch_spent and self.state == State.ABORTING_TRANSACTION:
            self._move(Move.EPOCH_IS_SPENT)  # the call to abort also waits for the new epoch
        else:
            self._move(Move.ENDED)
            self._complete_calls()
