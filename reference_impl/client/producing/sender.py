"""Take batches out of the accumulator, send them to the leaders, and settle the answered ones.

Source: Sender.java, ProduceRequest.json, ProduceResponse.json; KIP-91 (delivery.timeout.ms bounds
everything that happens to a record), KIP-98 (order of retries).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from reference_impl.client.cluster.metadata import Metadata
from reference_impl.client.cluster.network import Network, Node
from reference_impl.client.config import Config
from reference_impl.client.errors import (
    STALE_METADATA,
    ClientError,
    Refusal,
    SendError,
    TimedOut,
    is_retriable,
)
from reference_impl.client.kernel import Kernel
from reference_impl.client.producing.accumulator import Accumulator, Batch
from reference_impl.client.producing.idempotence import may_send_again
from reference_impl.client.producing.sequences import Sequences
from reference_impl.client.producing.transactions.transactions import Transactions
from reference_impl.client.values import RecordMetadata
from reference_impl.links.kernel import Backoff
from reference_impl.links.link import Failure
from reference_impl.wire import (
    ZERO_UUID,
    ApiKey,
    Compression,
    ErrorCode,
    Struct,
    request_definition,
)

VERSION_WITH_TOPIC_NAMES = 12
VERSION_BEFORE_TRANSACTIONS_V2 = 11
"""The last version of Produce before transactions v2: from version 12 on, a batch adds its
partition to the transaction (KIP-890)."""

Asked = dict[tuple[Any, int], Batch]
"""(topic name or id, partition) as in the answer -> the batch in the request."""


class Sender:
    """Takes batches out of the accumulator, sends them to the leaders, and completes or fails the
    calls that wait for their records."""

    def __init__(
        self,
        kernel: Kernel,
        network: Network,
        metadata: Metadata,
        config: Config,
        accumulator: Accumulator,
        sequences: Sequences | None,
        transactions: Transactions | None,
        on_settled: Callable[[int], None],
    ) -> None:
        self._kernel = kernel
        self._network = network
        self._metadata = metadata
        self._accumulator = accumulator
        self._sequences = sequences
        self._transactions = transactions
        self._on_settled = on_settled
        self._acks: int = config["acks"]
        self._retries: int = config["retries"]
        self._compression = Compression[config["compression.type"].upper()]
        self._request_timeout_ms: int = config["request.timeout.ms"]
        self._delivery_timeout_ms: int = config["delivery.timeout.ms"]
        self._max_request_size: int = config["max.request.size"]
        self._max_in_flight: int = config["max.in.flight.requests.per.connection"]
        self._transactional_id: str | None = config["transactional.id"]
        self._backoff = Backoff(kernel, config["retry.backoff.ms"], config["retry.backoff.max.ms"])
        self._in_flight: dict[int, int] = {}
        """Broker id -> the number of its Produce requests in flight."""

    # --- sending ------------------------------------------------------------------------------

    def run(self, is_urgent: bool) -> None:
        """Send everything that may be sent now, and set a timer for the rest. is_urgent: whether to
        send without lingering."""
        while ready := self._take_ready(is_urgent):
            for node, batches in ready:
                self._send(node, batches)

    def _take_ready(self, is_urgent: bool) -> list[tuple[Node, list[Batch]]]:
        """Take the batches that may be sent now, at most one of each partition. Return (leader,
        batches) for one request to each broker, and set a timer for the other batches."""
        requests: dict[int, tuple[Node, list[Batch]]] = {}
        sizes: dict[int, int] = {}
        wait_ms = self._delivery_timeout_ms
        for queue in list(self._accumulator.queues.values()):
            leader = self._metadata.leader(queue[0].partition)
            if leader is None:
                self._metadata.refresh()
                continue
            node = leader[0]
            queue_wait_ms = self._accumulator.wait_ms(queue, is_urgent=is_urgent)
            if queue_wait_ms > 0:
                wait_ms = min(wait_ms, queue_wait_ms)
                continue
            size = sizes.get(node.id, 0) + queue[0].size
            fits = size <= self._max_request_size or node.id not in sizes
            if fits and self._may_send(queue, node):
                sizes[node.id] = size
                requests.setdefault(node.id, (node, []))[1].append(self._take(queue))
        self._wake_after(wait_ms)
        return list(requests.values())

    def _may_send(self, queue: deque[Batch], node: Node) -> bool:
        if self._in_flight.get(node.id, 0) >= self._max_in_flight:
            return False
        first = queue[0]
        if self._transactions is not None and not self._transactions.may_send(first.partition):
            return False
        return self._sequences is None or self._sequences.may_send(first)

    def _take(self, queue: deque[Batch]) -> Batch:
        batch = self._accumulator.take(queue)
        if not queue:
            del self._accumulator.queues[batch.partition]
        if self._sequences is not None:
            self._sequences.assign(batch)
        return batch

    def _wake_after(self, wait_ms: int) -> None:
        deadline_ms = self._accumulator.earliest_deadline(self._delivery_timeout_ms)
        if deadline_ms is None:
            self._kernel.cancel(("sender",))
            return
        wait_ms = min(wait_ms, max(0, deadline_ms - self._kernel.monotonic_ms))
        self._kernel.after(wait_ms, ("sender",), lambda: None)  # the step itself runs it

    def _send(self, node: Node, batches: list[Batch]) -> None:
        of = request_definition(ApiKey.PRODUCE)
        asked: Asked = {}
        topics: dict[str, list[Struct]] = {}
        ids = {}
        for batch in batches:
            name, index = batch.partition
            topic = self._metadata.topic(name)
            ids[name] = topic.topic_id if topic is not None else ZERO_UUID
            asked[name, index] = asked[ids[name], index] = batch
            data = of.struct(
                "PartitionProduceData", index=index, records=batch.encode(self._compression)
            )
            topics.setdefault(name, []).append(data)
        body = of.new(
            transactional_id=self._transactional_id,
            acks=self._acks,
            timeout_ms=self._request_timeout_ms,
            topic_data=[
                of.struct("TopicProduceData", name=name, topic_id=ids[name], partition_data=rows)
                for name, rows in topics.items()
            ],
        )
        self._in_flight[node.id] = self._in_flight.get(node.id, 0) + 1
        self._network.ask(
            node,
            ApiKey.PRODUCE,
            body,
            lambda answer: self._answered(node, batches, asked, answer),
            lambda failure: self._failed(node, batches, failure),
            version_max=self._version_max(ZERO_UUID in ids.values()),
            expects_answer=self._acks != 0,
        )

    def _version_max(self, lacks_topic_id: bool) -> int:
        if self._transactions is not None and not self._transactions.is_v2:
            return VERSION_BEFORE_TRANSACTIONS_V2
        return VERSION_WITH_TOPIC_NAMES if lacks_topic_id else 1 << 15

    # --- answers ------------------------------------------------------------------------------

    def _failed(self, node: Node, batches: list[Batch], failure: Failure) -> None:
        self._in_flight[node.id] -= 1
        if failure.is_unsupported:
            for batch in batches:
                self._fail(batch, ClientError("UNSUPPORTED_VERSION", failure.reason))
            return
        self._metadata.refresh()  # the broker may be gone, and its partitions led elsewhere
        for batch in batches:
            if not failure.was_sent:
                batch.attempts -= 1
            self._refused(batch, ErrorCode.NETWORK_EXCEPTION, detail=failure.reason)

    def _answered(self, node: Node, batches: list[Batch], asked: Asked, answer: Struct) -> None:
        self._in_flight[node.id] -= 1
        if self._acks == 0:
            for batch in batches:
                self._succeed(batch, -1, -1)
            return
        for topic in answer.responses:
            for row in topic.partition_responses:
                found = asked.get((topic.name or topic.topic_id, row.index))
                if found is not None and not found.is_done:
                    self._partition_answered(found, row)
        for batch in batches:
            if batch.is_in_flight and not batch.is_done:
                detail = "the broker's answer lacks the partition"
                self._refused(batch, ErrorCode.NETWORK_EXCEPTION, detail=detail)

    def _partition_answered(self, batch: Batch, row: Struct) -> None:
        batch.is_in_flight = False
        code = row.error_code
        if code == ErrorCode.NONE:
            self._succeed(batch, row.base_offset, row.log_append_time_ms)
        elif code == ErrorCode.MESSAGE_TOO_LARGE and len(batch.sends) > 1:
            parts = self._accumulator.split(batch)
            if self._sequences is not None:
                self._sequences.replace(batch, parts)
        else:
            self._refused(batch, code, row.log_start_offset, row.error_message or "")

    def _succeed(self, batch: Batch, base_offset: int, log_append_time_ms: int) -> None:
        if batch.is_done:
            return  # its time was up before the answer came
        if self._sequences is not None:
            self._sequences.acknowledged(batch, base_offset)
        self._accumulator.settled(batch)
        for index, send in enumerate(batch.sends):
            offset = self._kernel.rules.offset_of(base_offset, index)
            timestamp_ms = log_append_time_ms if log_append_time_ms >= 0 else send.timestamp_ms
            self._kernel.complete(
                send.call_id, RecordMetadata(*batch.partition, offset, timestamp_ms)
            )
            self._on_settled(send.call_id)

    def _refused(
        self, batch: Batch, code: int, log_start_offset: int = -1, detail: str = ""
    ) -> None:
        """Queue the batch to be sent again if that makes sense and `retries` allows it, else fail
        it. It succeeds if the code says that it is in the log."""
        batch.is_in_flight = False
        if batch.is_done:
            return
        if self._kernel.rules.is_acknowledged(code):
            self._succeed(batch, -1, -1)
            return
        if code in STALE_METADATA:
            self._metadata.refresh()
        if self._sequences is None:
            makes_sense = is_retriable(code)
        else:
            is_transactional = self._transactions is not None
            makes_sense = may_send_again(
                self._sequences, batch, code, log_start_offset, is_transactional
            )
        if makes_sense and batch.attempts <= self._retries:
            delay_ms = self._backoff.delay_ms(max(0, batch.attempts - 1))
            self._accumulator.put_back(batch, delay_ms)
            return
        error = Refusal(code, f"sending to {batch.partition}", detail=detail)
        self._fail(batch, error, is_unresolved=makes_sense)

    # --- failing ------------------------------------------------------------------------------

    def expire(self) -> None:
        """Fail every batch whose delivery timeout has passed (KIP-91), whether it is queued or in
        flight."""
        for batch in list(self._accumulator.incomplete):
            age_ms = self._kernel.monotonic_ms - batch.created_ms
            if age_ms >= self._delivery_timeout_ms:
                sentence = (
                    f"sending to {batch.partition}: not acknowledged within"
                    f" delivery.timeout.ms={self._delivery_timeout_ms} and {batch.attempts}"
                    " attempts"
                )
                self._fail(batch, TimedOut(sentence), is_unresolved=batch.attempts > 0)

    def fail_unsent(self, error: ClientError) -> None:
        """Fail the batches that are not in flight and have no sequence number, because their
        transaction is aborted or the producer cannot send."""
        for batch in self._accumulator.unsent():
            self._settle_as_failed(batch, error)

    def fail_all(self, error: ClientError) -> None:
        """Fail every batch, because the client ends without waiting for answers."""
        for batch in list(self._accumulator.incomplete):
            self._settle_as_failed(batch, error)

    def _fail(self, batch: Batch, error: ClientError, *, is_unresolved: bool = False) -> None:
        sequences, transactions = self._sequences, self._transactions
        if sequences is not None and batch.has_sequence:
            if is_unresolved:
                sequences.leave_unresolved(batch)
            elif transactions is None:
                sequences.want_new_epoch(batch.partition)  # later batches would leave a gap
        self._settle_as_failed(batch, error)
        if transactions is not None:
            transactions.problem(error)

    def _settle_as_failed(self, batch: Batch, error: ClientError) -> None:
        if self._sequences is not None:
            self._sequences.forget(batch)
        self._accumulator.settled(batch)
        for send in batch.sends:
            self._kernel.fail(send.call_id, SendError(error, batch.attempts))
            self._on_settled(send.call_id)
