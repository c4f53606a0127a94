"""A transactional producer whose every request a case chooses (KIP-98, KIP-890), and a reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.case import expect
from conformance.clients.members import NOT_YET, TRANSACTION, beside, coordinator
from conformance.target.settings import require_transaction_timeout
from conformance.wire import Connection, Topic, Wire, batch, eventually, part
from reference_impl.wire import TRANSACTIONAL_BIT, ErrorCode, RecordBatch, Struct

READ_COMMITTED = 1
BUSY = NOT_YET | {ErrorCode.CONCURRENT_TRANSACTIONS}
"""Errors that mean that the coordinator is loading, or still writing the markers of the previous
transaction."""
EXPLICIT = {"AddPartitionsToTxn": 3, "Produce": 11, "EndTxn": 4, "TxnOffsetCommit": 4}
"""API -> the newest version of clients that add partitions to a transaction explicitly (before
KIP-890, part 2)."""


@dataclass
class Producer:
    """A transactional producer; it remembers its producer id, epoch and sequence numbers."""

    wire: Wire
    transactional_id: str
    connection: Connection
    producer_id: int = -1
    epoch: int = -1
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)

    @staticmethod
    def of(wire: Wire, transactional_id: str = "") -> Producer:
        """Return a producer that is connected to its coordinator and has not sent InitProducerId.
        Without a transactional id it gets a new one. Raise Unsupported if the target has no
        transactions."""
        wire.version("EndTxn")
        wire.version("AddPartitionsToTxn")
        name = transactional_id or wire.new_name("transactional")
        return Producer(wire, name, wire.connect(address=coordinator(wire, name, TRANSACTION)))

    @staticmethod
    def ready(wire: Wire, transactional_id: str = "", timeout_ms: int = 60_000) -> Producer:
        """Return a producer that may begin a transaction."""
        producer = Producer.of(wire, transactional_id)
        producer.init(timeout_ms=timeout_ms)
        return producer

    def another(self) -> Producer:
        """Return a second producer with the same coordinator that may begin a transaction."""
        return Producer.ready(self.wire, beside(self.wire, self.transactional_id, TRANSACTION))

    def try_to_init(self, version: int | None = None, **changed: Any) -> Struct:
        """Send InitProducerId (by default the newest version), repeat it while the coordinator is
        busy, and return the response, whatever it says; do not adopt its id. Raise Deviation if it
        stays busy, and Unsupported if the broker does not allow the usual time-out."""
        fields: dict[str, Any] = {
            "transactional_id": self.transactional_id,
            "transaction_timeout_ms": 60_000,
        }
        version = self.wire.version("InitProducerId") if version is None else version
        answer = eventually(
            lambda: self.connection.call("InitProducerId", version, **(fields | changed)),
            lambda answer: answer.error_code not in BUSY,
            "InitProducerId is served",
        )
        if "transaction_timeout_ms" not in changed:
            self._check_timeout(answer, fields["transaction_timeout_ms"])
        return answer  # type: ignore[no-any-return]

    def _check_timeout(self, answer: Struct, timeout_ms: int) -> None:
        """Raise Unsupported if InitProducerId was refused because of the broker's limit."""
        if answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            require_transaction_timeout(self.wire, timeout_ms)

    def init(self, version: int | None = None, *, timeout_ms: int = 60_000) -> Struct:
        """Send InitProducerId, which must succeed; adopt the id and epoch, begin all sequences with
        0, and return the response. Raise Unsupported if the broker does not allow this time-out."""
        answer = self.try_to_init(version, transaction_timeout_ms=timeout_ms)
        self._check_timeout(answer, timeout_ms)
        expect(answer.error_code, ErrorCode.NONE, "InitProducerId error")
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()
        return answer

    def explicit(self, api: str) -> int:
        return self.wire.version(api, 0, EXPLICIT[api])

    def try_to_add(
        self, topic: Topic, *partitions: int, version: int | None = None, **changed: Any
    ) -> dict[int, int]:
        """Send AddPartitionsToTxn v0-3, repeat it while the coordinator is busy, and return
        partition -> error code. Raise Deviation if it stays busy."""
        version = self.explicit("AddPartitionsToTxn") if version is None else version
        entry = part(
            "AddPartitionsToTxn",
            "AddPartitionsToTxnTopic",
            name=topic.name,
            partitions=list(partitions),
        )
        fields: dict[str, Any] = {
            "v3_and_below_transactional_id": self.transactional_id,
            "v3_and_below_producer_id": self.producer_id,
            "v3_and_below_producer_epoch": self.epoch,
            "v3_and_below_topics": [entry],
        } | {f"v3_and_below_{name}": value for name, value in changed.items()}
        answer = eventually(
            lambda: self.connection.call("AddPartitionsToTxn", version, **fields),
            lambda a: not BUSY & set(errors_of_added(a).values()),
            "AddPartitionsToTxn is served",
        )
        return errors_of_added(answer)

    def add(self, topic: Topic, *partitions: int, version: int | None = None) -> None:
        """Send AddPartitionsToTxn for these partitions, by default for 0, which must succeed."""
        partitions = partitions or (0,)
        errors = self.try_to_add(topic, *partitions, version=version)
        expect(errors, dict.fromkeys(partitions, 0), "AddPartitionsToTxn errors")

    def try_to_send(
        self,
        topic: Topic,
        *values: bytes,
        partition: int = 0,
        version: int | None = None,
        sequence: int | None = None,
        transactional: bool = True,
    ) -> int:
        """Produce one batch of the transaction, again while the coordinator is busy; return the
        error code. Raise Deviation if it stays busy. version: None stands for the newest one before
        transactions v2 (EXPLICIT). sequence: None stands for the next one of the partition, which
        rises with a success."""
        version = self.explicit("Produce") if version is None else version
        at = self.sequences.get((topic.name, partition), 0) if sequence is None else sequence
        records = batch(
            *values,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=at,
            attributes=TRANSACTIONAL_BIT if transactional else 0,
        )
        answer = eventually(
            lambda: self.wire.produce(
                topic,
                records.encode(),
                version,
                partition=partition,
                transactional_id=self.transactional_id,
            ),
            lambda a: a.error_code not in BUSY,
            "Produce is served",
        )
        if answer.error_code == ErrorCode.NONE:
            self.sequences[topic.name, partition] = at + len(values)
        return int(answer.error_code)

    def send(
        self, topic: Topic, *values: bytes, partition: int = 0, version: int | None = None
    ) -> None:
        """Produce one batch of the transaction, which must succeed."""
        error = self.try_to_send(topic, *values, partition=partition, version=version)
        expect(error, ErrorCode.NONE, "Produce error")

    def add_and_send(self, topic: Topic, *values: bytes, partition: int = 0) -> None:
        """Add the partition to the transaction, then produce, as clients did before KIP-890."""
        self.add(topic, partition)
        self.send(topic, *values, partition=partition)

    def try_to_end(self, commit: bool, version: int | None = None, **changed: Any) -> Struct:
        """Send EndTxn, by default in the newest version before transactions v2, repeat it while the
        coordinator is busy, and return the response, whatever else it says. Raise Deviation if it
        stays busy."""
        version = self.explicit("EndTxn") if version is None else version
        fields: dict[str, Any] = {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "committed": commit,
        }
        return eventually(  # type: ignore[no-any-return]
            lambda: self.connection.call("EndTxn", version, **(fields | changed)),
            lambda answer: answer.error_code not in BUSY,
            "EndTxn is served",
        )

    def end(self, commit: bool, version: int | None = None) -> None:
        """Send EndTxn, which must succeed; adopt the epoch that it returns from v5 on."""
        version = self.explicit("EndTxn") if version is None else version
        answer = self.try_to_end(commit, version)
        expect(answer.error_code, ErrorCode.NONE, "EndTxn error")
        if version >= 5:
            if (answer.producer_id, answer.producer_epoch) != (self.producer_id, self.epoch):
                self.sequences.clear()
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def commit(self, version: int | None = None) -> None:
        self.end(True, version)

    def abort(self, version: int | None = None) -> None:
        self.end(False, version)


def errors_of_added(answer: Struct) -> dict[int, int]:
    """Return partition -> error code from a response to AddPartitionsToTxn v0-3 about one topic."""
    return {
        p.partition_index: p.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for p in topic.results_by_partition
    }


def wait_until_ended(wire: Wire, topic: Topic, partition: int = 0) -> None:
    """Wait until a partition has no open transaction, that is, until the markers are written and
    its last stable offset is its high watermark. Raise Deviation if that takes too long."""
    eventually(
        lambda: wire.fetch(topic, 0, partition=partition, isolation_level=READ_COMMITTED),
        lambda p: p.error_code == 0 and p.last_stable_offset == p.high_watermark,
        f"the transactions in {topic.name} end",
    )


def committed_values(
    wire: Wire, topic: Topic, partition: int = 0, *, version: int | None = None
) -> list[bytes | None]:
    """Return the values (None: null) that a read_committed consumer delivers from offset 0 to the
    last stable offset (KIP-98, Consumer): skip a producer's batches between an aborted
    transaction's first offset and its ABORT marker."""
    offset, values = 0, list[bytes | None]()
    while True:
        answer = wire.fetch(
            topic, offset, version, partition=partition, isolation_level=READ_COMMITTED
        )
        expect(answer.error_code, ErrorCode.NONE, "Fetch error")
        batches = batches_of(answer)
        if not batches:
            return values
        aborted = sorted(answer.aborted_transactions or [], key=lambda a: a.first_offset)
        skipped: set[int] = set()
        for found in batches:
            last = found.base_offset + int(found.last_offset_delta or 0)
            while aborted and aborted[0].first_offset <= last:
                skipped.add(aborted.pop(0).producer_id)
            if found.is_control:
                skipped.discard(found.producer_id)
            elif not (found.attributes & TRANSACTIONAL_BIT and found.producer_id in skipped):
                values += [record.value for record in found.records]
            offset = last + 1


def batches_of(answer: Struct) -> list[RecordBatch]:
    """Return the batches of the partition in a Fetch response."""
    return decoded(bytes(answer.records or b""))


def decoded(records: bytes) -> list[RecordBatch]:
    """Return the batches in these bytes."""
    at, found = 0, []
    while at < len(records):
        one, at = RecordBatch.decode(records, at)
        found.append(one)
    return found
