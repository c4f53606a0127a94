"""The producer: `step(event)` returns the effects for its host, in order.

Source: KafkaProducer.java and the main loop of Sender.java. Each step ends with `_run`, which
continues everything that can continue now; so no part needs to know which others wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reference_impl.client import calls
from reference_impl.client.cluster.coordinators import Coordinators
from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.config import producer_config
from reference_impl.client.errors import ClientError, IllegalState, SendError, TimedOut
from reference_impl.client.kernel import Chance
from reference_impl.client.machine import Machine
from reference_impl.client.producing.accumulator import (
    Accumulator,
    PendingSend,
    ProducerIdAndEpoch,
    estimated_size,
)
from reference_impl.client.producing.idempotence import Idempotence
from reference_impl.client.producing.partitioners import (
    Partitioner,
    RoundRobinPartitioner,
    StickyPartitioner,
)
from reference_impl.client.producing.sender import Sender
from reference_impl.client.producing.sequences import Sequences
from reference_impl.client.producing.transactions.states import State
from reference_impl.client.producing.transactions.transactions import Transactions
from reference_impl.client.rules import CORRECT, ClientRules
from reference_impl.client.values import ProducerRecord, TopicPartition
from reference_impl.wire import HEADER_BYTES


@dataclass(slots=True)
class WaitingSend:
    """A record that waits for room in the buffer, or for the metadata of its topic."""

    call_id: int
    record: ProducerRecord
    deadline_ms: int


class Producer(Machine):
    """The producer as a state machine: it takes the application's calls and the brokers' answers,
    and returns effects. Raise ConfigError for a configuration that cannot be used."""

    noun = "producer"
    time_limit = "max.block.ms"
    unbounded = (calls.Send, calls.Flush, calls.Close)
    """The calls whose time is limited in another way: that of records by `delivery.timeout.ms`
    (KafkaProducer.java)."""

    def __init__(
        self, config: Mapping[str, Any], chance: Chance, rules: ClientRules = CORRECT
    ) -> None:
        super().__init__(producer_config(config), chance, rules)
        self._metadata = Metadata(
            self._kernel, self._network, self._config, allow_auto_topic_creation=True
        )
        self._accumulator = Accumulator(
            self._kernel,
            self._config["batch.size"],
            self._config["linger.ms"],
            self._config["buffer.memory"],
        )
        self._sequences = Sequences(rules) if self._config["enable.idempotence"] else None
        self._transactions: Transactions | None = None
        self._idempotence: Idempotence | None = None
        if self._sequences is not None and self._config["transactional.id"]:
            coordinators = Coordinators(self._kernel, self._network, self._config)
            self._transactions = Transactions(
                self._kernel, self._network, self._config, self._sequences, coordinators
            )
        elif self._sequences is not None:
            self._idempotence = Idempotence(
                self._kernel, self._network, self._config, self._sequences
            )
        self._sender = Sender(
            self._kernel,
            self._network,
            self._metadata,
            self._config,
            self._accumulator,
            self._sequences,
            self._transactions,
            self._settled,
        )
        self._partitioners: dict[str, Partitioner] = {}
        self._waiting: list[WaitingSend] = []
        self._unsettled: set[int] = set()
        self._flushes: dict[int, set[int]] = {}
        """Number of a Flush call -> the sends that it still waits for."""
        self._asking_partitions: dict[int, str] = {}
        self._performers = {
            calls.Send: self._send,
            calls.Flush: lambda call_id, _: self._flush(call_id),
            calls.PartitionsFor: self._partitions_for,
            calls.InitTransactions: lambda call_id, _: self._need_transactions().init(call_id),
            calls.BeginTransaction: self._begin,
            calls.SendOffsetsToTransaction: self._send_offsets,
            calls.CommitTransaction: lambda call_id, _: self._need_transactions().commit(call_id),
            calls.AbortTransaction: lambda call_id, _: self._need_transactions().abort(call_id),
            calls.Close: self._close,
        }

    @property
    def transaction_state(self) -> State | None:
        """The state of the transaction, or None without a transactional.id."""
        return self._transactions.state if self._transactions is not None else None

    @property
    def identity(self) -> ProducerIdAndEpoch:
        """Return the producer's id and epoch, -1 each where it has none."""
        return self._sequences.writer if self._sequences is not None else ProducerIdAndEpoch()

    # --- calls --------------------------------------------------------------------------------

    def _need_transactions(self) -> Transactions:
        if self._transactions is None:
            raise IllegalState("transactions need the configuration transactional.id")
        return self._transactions

    def _begin(self, call_id: int, _: calls.BeginTransaction) -> None:
        self._need_transactions().begin()
        self._kernel.complete(call_id)

    def _send_offsets(self, call_id: int, call: calls.SendOffsetsToTransaction) -> None:
        self._need_transactions().send_offsets(call_id, call.offsets, call.group)

    def _send(self, call_id: int, call: calls.Send) -> None:
        record = call.record
        if self._transactions is not None:
            self._transactions.check_in_transaction("send")
        size = HEADER_BYTES + estimated_size(record)
        for name in ("max.request.size", "buffer.memory"):
            if size > self._config[name]:
                sentence = f"the record takes up to {size} bytes, more than"
                error = ClientError("MESSAGE_TOO_LARGE", f"{sentence} {name}={self._config[name]}")
                self._spoil_transaction(error)
                raise SendError(error, attempts=0)
        self._metadata.want(record.topic)
        self._unsettled.add(call_id)
        deadline_ms = self._kernel.monotonic_ms + self._config["max.block.ms"]
        self._waiting.append(WaitingSend(call_id, record, deadline_ms))

    def _flush(self, call_id: int) -> None:
        if self._unsettled:
            self._flushes[call_id] = set(self._unsettled)
        else:
            self._kernel.complete(call_id)

    def _partitions_for(self, call_id: int, call: calls.PartitionsFor) -> None:
        self._metadata.want(call.topic)
        self._asking_partitions[call_id] = call.topic

    def _close(self, call_id: int, call: calls.Close) -> None:
        self._closing = call_id
        if self._transactions is not None and self._transactions.state in (
            State.IN_TRANSACTION,
            State.ABORTABLE_ERROR,
        ):
            self._transactions.abort(None)
        self._kernel.after(call.timeout_ms, ("close",), self._closed)

    # --- what may go on now -------------------------------------------------------------------

    def _run(self) -> None:
        self._sender.expire()
        if self._transactions is not None and self._transactions.drops_unsent:
            error = self._transactions.error or ClientError(
                "TRANSACTION_ABORTED", "the record was not sent: its transaction was aborted"
            )
            self._drop_unsent(error)
            if self._transactions.state == State.FATAL_ERROR:
                self._sender.fail_all(error)
        self._admit()
        has_incomplete = bool(self._accumulator.incomplete or self._waiting)
        if self._transactions is not None:
            self._look_for_gaps(self._transactions)
            self._transactions.run(has_incomplete)
        if self._idempotence is not None:
            self._idempotence.run(has_incomplete)
            if self._idempotence.error is not None:
                self._drop_unsent(self._idempotence.error)
        self._sender.run(self._is_urgent())
        self._answer_partitions()
        if self._closing is not None and self._may_close():
            self._closed()

    def _is_urgent(self) -> bool:
        """Return whether records must be sent now, without waiting for `linger.ms`."""
        is_ending = self._transactions is not None and self._transactions.is_ending
        lacks_memory = any(
            not self._accumulator.has_room(estimated_size(waiting.record))
            for waiting in self._waiting[:1]
        )
        return bool(self._flushes) or self._closing is not None or is_ending or lacks_memory

    def _look_for_gaps(self, transactions: Transactions) -> None:
        """If the outcome of a batch is unknown, so that sequence numbers may have a gap, let the
        transaction fail; its abort repairs that."""
        if self._sequences is not None and self._sequences.gaps():
            transactions.problem(
                ClientError("OUT_OF_ORDER_SEQUENCE_NUMBER", "the outcome of a batch is unknown")
            )

    def _drop_unsent(self, error: ClientError) -> None:
        waiting, self._waiting = self._waiting, []
        for send in waiting:
            self._refuse(send, error)
        self._sender.fail_unsent(error)

    def _admit(self) -> None:
        """Move waiting records into the accumulator, in the order of their arrival, if their topic
        is known and there is room. Fail those whose time is up or whose topic cannot be used."""
        still_waiting: list[WaitingSend] = []
        for position, send in enumerate(self._waiting):
            topic = self._metadata.topic(send.record.topic)
            if self._kernel.monotonic_ms >= send.deadline_ms:
                what = (
                    "its partitions are not known yet or there was no room in buffer.memory"
                    if topic
                    else "its topic is not known"
                )
                self._refuse(send, TimedOut(f"max.block.ms has passed and {what}"))
            elif refusal := self._metadata.refusal(
                send.record.topic, f"sending to {send.record.topic}"
            ):
                self._refuse(send, refusal)
            elif topic is None or not topic.leaders:
                still_waiting.append(send)
            elif self._accumulator.has_room(estimated_size(send.record)):
                self._accept(send, sorted(topic.leaders))
            else:
                still_waiting += self._waiting[position:]  # later sends must not overtake this one
                break
        self._waiting = still_waiting
        if still_waiting:
            wait_ms = still_waiting[0].deadline_ms - self._kernel.monotonic_ms
            self._kernel.after(wait_ms, ("waiting sends",), lambda: None)
        else:
            self._kernel.cancel(("waiting sends",))

    def _accept(self, send: WaitingSend, partitions: list[int]) -> None:
        record = send.record
        partitioner = self._partitioner(record.topic)
        index = record.partition
        if index is None:
            available = [
                each
                for each in partitions
                if self._metadata.leader(TopicPartition(record.topic, each)) is not None
            ]
            index = partitioner.partition(record.key, len(partitions), available)
        elif index not in partitions:
            sentence = f"{record.topic} has no partition {index}; it has 0 to {len(partitions) - 1}"
            self._refuse(send, ClientError("UNKNOWN_PARTITION", sentence))
            return
        partition = TopicPartition(record.topic, index)
        if self._transactions is not None:
            self._transactions.joins(partition)
        timestamp_ms = self._kernel.now_ms if record.timestamp_ms is None else record.timestamp_ms
        self._accumulator.append(
            partition,
            PendingSend(send.call_id, record, timestamp_ms),
            is_transactional=self._transactions is not None,
        )
        partitioner.appended(index, estimated_size(record))

    def _spoil_transaction(self, error: ClientError) -> None:
        """Leave only the abort to an open transaction, which lacks a record (KafkaProducer.doSend);
        no sequence number was spent on it."""
        if self._transactions is not None:
            self._transactions.problem(error, spends_epoch=False)

    def _refuse(self, send: WaitingSend, error: ClientError) -> None:
        self._spoil_transaction(error)
        self._kernel.fail(send.call_id, SendError(error, attempts=0))
        self._settled(send.call_id)

    def _partitioner(self, topic: str) -> Partitioner:
        if topic not in self._partitioners:
            self._partitioners[topic] = (
                RoundRobinPartitioner()
                if self._config["partitioner.class"]
                else StickyPartitioner(
                    self._kernel.chance,
                    self._config["batch.size"],
                    self._config["partitioner.ignore.keys"],
                )
            )
        return self._partitioners[topic]

    def _settled(self, call_id: int) -> None:
        self._unsettled.discard(call_id)
        for flush, waits_for in list(self._flushes.items()):
            waits_for.discard(call_id)
            if not waits_for:
                del self._flushes[flush]
                self._kernel.complete(flush)

    def _answer_partitions(self) -> None:
        for call_id, name in list(self._asking_partitions.items()):
            refusal = self._metadata.refusal(name, f"asking for topic {name}")
            if refusal is not None:
                self._kernel.fail(call_id, refusal)
            elif self._metadata.partitions(name):
                self._kernel.complete(call_id, self._metadata.partitions(name))
            if not self._kernel.is_open(call_id):
                del self._asking_partitions[call_id]

    # --- the end ------------------------------------------------------------------------------

    def _may_close(self) -> bool:
        if self._accumulator.incomplete or self._waiting:
            return False
        return self._transactions is None or not self._transactions.is_ending

    def _closed(self) -> None:
        """Complete the close, because nothing is in flight or no time is left: fail all that is
        still open, and drop the timers."""
        error = ClientError("PRODUCER_CLOSED", "the producer was closed before this was done")
        self._drop_unsent(error)
        self._sender.fail_all(error)
        self._kernel.cancel_all()
        self._is_closed = True
        if self._closing is not None:
            self._kernel.complete(self._closing)
        self._kernel.fail_all(error)
