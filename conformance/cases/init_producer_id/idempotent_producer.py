"""An idempotent producer of which a case chooses every field (KIP-98)."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.case import expect
from conformance.wire import Topic, Wire, batch, eventually
from reference_impl.wire import ErrorCode, Struct


def init_producer_id(wire: Wire, version: int | None = None) -> Struct:
    """Return the answer to InitProducerId once the broker can give ids. A broker that has just
    started answers COORDINATOR_LOAD_IN_PROGRESS (14) until the controller has given it a block of
    ids (class RPCProducerIdManager; seen on Apache Kafka 4.3.1)."""
    answer = eventually(
        lambda: wire.call(
            "InitProducerId", version, transactional_id=None, transaction_timeout_ms=60_000
        ),
        lambda a: a.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        "InitProducerId is served",
    )
    expect(answer.error_code, ErrorCode.NONE, "InitProducerId error")
    return answer  # type: ignore[no-any-return]


@dataclass
class Producer:
    """An idempotent producer of one partition, whose every header field a case chooses."""

    wire: Wire
    topic: Topic
    version: int
    producer_id: int
    epoch: int = 0

    @staticmethod
    def new(wire: Wire, version: int) -> Producer:
        answer = init_producer_id(wire)
        return Producer(wire, wire.create_topic(), version, answer.producer_id)

    def send(self, sequence: int, count: int = 1, epoch: int | None = None) -> Struct:
        """Send `count` records from `sequence` on."""
        values = [b"%d" % (sequence + n) for n in range(count)]
        records = batch(
            *values,
            producer_id=self.producer_id,
            base_sequence=sequence,
            producer_epoch=self.epoch if epoch is None else epoch,
        )
        return self.wire.produce(self.topic, records.encode(), self.version)

    def accept(self, sequence: int, count: int = 1, epoch: int | None = None) -> int:
        """Send records that must be accepted. Return their base offset."""
        answer = self.send(sequence, count, epoch)
        expect(answer.error_code, ErrorCode.NONE, f"error for sequence {sequence}")
        return int(answer.base_offset)

    def refuse(
        self, code: ErrorCode, sequence: int, count: int = 1, epoch: int | None = None
    ) -> None:
        """Send records that must be refused with this error and not appended."""
        end = self.wire.end_offset(self.topic)
        answer = self.send(sequence, count, epoch)
        expect(answer.error_code, code, f"error for sequence {sequence}")
        expect(self.wire.end_offset(self.topic), end, "end offset afterwards")
