"""The idempotent producer: ids, epochs, sequences (KIP-98)."""

from __future__ import annotations

import time

import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.init_producer_id.idempotent_producer import Producer, init_producer_id
from conformance.cases.list_offsets.test_delete_records import delete_records
from conformance.clients.producers import described_producers, state_of
from conformance.clients.transactions import Producer as Transactional
from conformance.clients.transactions import wait_until_ended
from conformance.target.examination import Examined
from conformance.target.restarts import restarting
from conformance.target.variants import SHORT_LIVED
from conformance.wire import Wire, batch, eventually
from reference_impl.wire import ErrorCode

V2 = (3, 13)
EXPIRATION_S = int(SHORT_LIVED["producer.id.expiration.ms"]) / 1000
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@case("IDEM-01", "InitProducerId", spec="KIP-98, InitProducerId; KIP-730")
def test_each_call_gives_a_new_producer_id(wire: Wire, version: int) -> None:
    """InitProducerId without transactional id gives a producer id of its own to each caller, with
    epoch 0."""
    answers = [init_producer_id(wire, version) for _ in range(3)]
    expect([a.producer_epoch for a in answers], [0, 0, 0], "epochs")
    ids = [a.producer_id for a in answers]
    expect_that(len(set(ids)) == 3 and min(ids) >= 0, "producer ids", "distinct, >= 0", ids)


@case("IDEM-02", "Produce", versions=V2, spec="KIP-98, Idempotent Producer Guarantees")
def test_sequences_that_follow_each_other_are_appended(wire: Wire, version: int) -> None:
    """Batches whose sequences follow each other from 0 are appended one after another."""
    producer = Producer.new(wire, version)
    bases = [producer.accept(0, 2), producer.accept(2, 3), producer.accept(5)]
    expect(bases, [0, 2, 5], "base offsets")


@case(
    "IDEM-03",
    "Produce",
    versions=V2,
    spec="KIP-98, Idempotent Producer Guarantees; ProducerStateEntry.findDuplicateBatch",
)
def test_a_retried_batch_returns_the_first_offset(wire: Wire, version: int) -> None:
    """A batch sent again (same producer id, epoch, sequence) is answered with its first offset,
    not appended twice. The log start offset (v5+) is the partition's, as in every answer."""
    producer = Producer.new(wire, version)
    producer.accept(0)
    first = producer.accept(1, 2)
    deleted = delete_records(wire, producer.topic, 1, wire.version("DeleteRecords"))
    expect(deleted.error_code, ErrorCode.NONE, "DeleteRecords error")
    again = producer.send(1, 2)
    expect((again.error_code, again.base_offset), (0, first), "(error, base offset) of the retry")
    if version >= 5:
        expect(again.log_start_offset, 1, "log start offset")
    kept = [r.value for b in wire.batches(producer.topic, 1) for r in b.records]
    expect(kept, [b"1", b"2"], "records")


@case(
    "IDEM-03",
    "Produce",
    versions=V2,
    spec="KIP-98, Idempotent Producer Guarantees; KIP-32; class UnifiedLog, append",
)
def test_a_retry_gets_the_append_time_of_the_first(wire: Wire, version: int) -> None:
    """On a topic with message.timestamp.type=LogAppendTime the retry of a batch is answered with
    the append time of the first."""
    topic = wire.create_topic(config={"message.timestamp.type": "LogAppendTime"})
    producer = Producer(wire, topic, version, init_producer_id(wire).producer_id)
    first, again = producer.send(0), producer.send(0)
    expect((first.error_code, again.error_code), (0, 0), "errors")
    expect(again.log_append_time_ms, first.log_append_time_ms, "append time of the retry")


@case(
    "IDEM-06",
    "Produce",
    versions=(5, 13),
    spec="ProduceResponse.json, field LogStartOffset; ReplicaManager.appendToLocalLog",
)
def test_beside_a_gap_stands_the_log_start(wire: Wire, version: int) -> None:
    """Beside OUT_OF_ORDER_SEQUENCE_NUMBER (45) the log start offset is the partition's: by it a
    producer tells records that were deleted from records that were lost."""
    producer = Producer.new(wire, version)
    producer.accept(0, 2)
    deleted = delete_records(wire, producer.topic, 1, wire.version("DeleteRecords"))
    expect(deleted.error_code, ErrorCode.NONE, "DeleteRecords error")
    answer = producer.send(9)
    expect((answer.error_code, answer.log_start_offset), (OUT_OF_ORDER, 1), "(error, log start)")


@case("IDEM-04", "Produce", versions=V2, spec="ProducerStateEntry, NUM_BATCHES_TO_RETAIN")
def test_each_of_the_last_five_batches_can_be_retried(wire: Wire, version: int) -> None:
    """The last five batches are all known: a retry of any gets its own first offset."""
    producer = Producer.new(wire, version)
    offsets = [producer.accept(n) for n in range(6)]
    again = [producer.accept(n) for n in range(1, 6)]
    expect(again, offsets[1:], "base offsets of the retries")
    expect(wire.end_offset(producer.topic), 6, "end offset")


@case("IDEM-05", "Produce", versions=V2, spec="class ProducerAppendInfo", priority="P1")
def test_an_older_batch_is_not_appended_again(wire: Wire, version: int) -> None:
    """A retry of the sixth-last batch is no longer known as one: OUT_OF_ORDER_SEQUENCE_NUMBER
    (45), and never a second append."""
    producer = Producer.new(wire, version)
    for n in range(6):
        producer.accept(n)
    producer.refuse(OUT_OF_ORDER, 0)


@case("IDEM-06", "Produce", versions=V2, spec="ProducerAppendInfo.checkSequence")
def test_a_gap_in_the_sequence_is_refused(wire: Wire, version: int) -> None:
    """A sequence that does not follow the last one gets OUT_OF_ORDER_SEQUENCE_NUMBER (45), and the
    right one is still accepted afterwards."""
    producer = Producer.new(wire, version)
    producer.accept(0, 3)
    producer.refuse(OUT_OF_ORDER, 5)
    expect(producer.accept(3), 3, "base offset of the right sequence")


@case("IDEM-07", "Produce", versions=V2, spec="ProducerAppendInfo.checkSequence", priority="P1")
def test_an_overlapping_range_is_refused(wire: Wire, version: int) -> None:
    """A batch that overlaps an earlier one without being it gets
    OUT_OF_ORDER_SEQUENCE_NUMBER (45)."""
    producer = Producer.new(wire, version)
    producer.accept(0, 3)
    for sequence, count in ((1, 4), (1, 2), (2, 1), (0, 2), (0, 4)):
        producer.refuse(OUT_OF_ORDER, sequence, count)


@case("IDEM-08", "Produce", versions=V2, spec="ProducerAppendInfo.checkSequence", priority="P1")
def test_an_unknown_producer_may_begin_anywhere(wire: Wire, version: int) -> None:
    """The first batch of a producer that the partition does not know may have any sequence."""
    producer = Producer.new(wire, version)
    expect(producer.accept(17), 0, "base offset")
    expect(producer.accept(18), 1, "base offset of the next")


@case("IDEM-09", "Produce", versions=V2, spec="KIP-360; ProducerAppendInfo.checkProducerEpoch")
def test_an_older_epoch_is_fenced(wire: Wire, version: int) -> None:
    """A batch of an older epoch than the partition has seen gets INVALID_PRODUCER_EPOCH (47)."""
    producer = Producer.new(wire, version)
    producer.accept(0, epoch=1)
    producer.refuse(ErrorCode.INVALID_PRODUCER_EPOCH, 1, epoch=0)


@case("IDEM-10", "Produce", versions=V2, spec="ProducerAppendInfo.checkSequence", priority="P1")
def test_a_new_epoch_begins_at_sequence_zero(wire: Wire, version: int) -> None:
    """A new epoch must begin with sequence 0: otherwise OUT_OF_ORDER_SEQUENCE_NUMBER (45)."""
    producer = Producer.new(wire, version)
    producer.accept(0)
    producer.refuse(OUT_OF_ORDER, 1, epoch=1)
    expect(producer.accept(0, epoch=1), 1, "base offset of the new epoch's first batch")


@case("IDEM-12", "Produce", versions=V2, spec="ProducerAppendInfo.inSequence", priority="P1")
def test_the_sequence_wraps_to_zero(wire: Wire, version: int) -> None:
    """After sequence 2147483647 comes 0; any other gets OUT_OF_ORDER_SEQUENCE_NUMBER (45)."""
    producer = Producer.new(wire, version)
    producer.accept(2**31 - 2, 2)
    expect(producer.accept(0), 2, "base offset behind the wrap")
    producer.refuse(OUT_OF_ORDER, 2)


@case(
    "IDEM-14",
    "Produce",
    versions=V2,
    spec="class ProducerStateManager",
    priority="P1",
    requires=["restart"],
)
def test_a_retry_is_known_after_a_restart(wire: Wire, version: int, examined: Examined) -> None:
    """After kill -9 and restart a retry of the last batch is still answered with its first offset,
    not appended twice."""
    producer = Producer.new(wire, version)
    producer.accept(0)
    first = producer.accept(1, 2)
    with restarting(wire, producer.topic):
        examined.kill_and_restart()
    answer = producer.send(1, 2)
    expect((answer.error_code, answer.base_offset), (ErrorCode.NONE, first), "(error, base offset)")
    expect(wire.end_offset(producer.topic), 3, "end offset")


@case("IDEM-11", "Produce", versions=V2, spec="ProducerAppendInfo.checkSequence", priority="P1")
def test_a_new_epoch_starts_the_sequence_again(wire: Wire, version: int) -> None:
    """A batch of a newer epoch with sequence 0 is accepted; from then on the sequence counts within
    that epoch, others get OUT_OF_ORDER_SEQUENCE_NUMBER (45), and the older epoch
    INVALID_PRODUCER_EPOCH (47)."""
    producer = Producer.new(wire, version)
    producer.accept(0, 3)
    expect([producer.accept(0, epoch=4), producer.accept(1, epoch=4)], [3, 4], "base offsets")
    producer.refuse(OUT_OF_ORDER, 3, epoch=4)
    producer.refuse(ErrorCode.INVALID_PRODUCER_EPOCH, 3, epoch=0)


@case(
    "IDEM-13",
    "Produce",
    versions=V2,
    spec="KIP-98, Idempotent Producer Guarantees; KAFKA-5494",
    priority="P1",
)
def test_what_follows_a_refused_batch_is_refused(wire: Wire, version: int) -> None:
    """If the third of five batches in flight gets MESSAGE_TOO_LARGE (10), the two after it get
    OUT_OF_ORDER_SEQUENCE_NUMBER (45) until a third batch is sent that fits, and then are accepted
    in order."""
    producer = Producer(
        wire,
        wire.create_topic(config={"max.message.bytes": "1000"}),
        version,
        init_producer_id(wire).producer_id,
    )
    connection = wire.connect_to_leader(producer.topic)
    for sequence in range(5):
        value = b"x" * 2000 if sequence == 2 else b"%d" % sequence
        records = batch(
            value, producer_id=producer.producer_id, producer_epoch=0, base_sequence=sequence
        )
        body = wire.produce_request(producer.topic, records.encode())
        connection.send("Produce", version, body)
    answers = [connection.receive("Produce", version)[1] for _ in range(5)]
    errors = [a.responses[0].partition_responses[0].error_code for a in answers]
    expect(errors, [0, 0, ErrorCode.MESSAGE_TOO_LARGE, OUT_OF_ORDER, OUT_OF_ORDER], "errors")
    expect([producer.accept(n) for n in (2, 3, 4)], [2, 3, 4], "base offsets in order")
    expect(wire.values(producer.topic), [b"%d" % n for n in range(5)], "records")


@case(
    "IDEM-15",
    "Produce",
    versions=V2,
    spec="KIP-854; producer.id.expiration.ms",
    priority="P1",
    config=SHORT_LIVED,
)
def test_an_idle_producer_is_forgotten(wire: Wire, version: int) -> None:
    """A producer that has written nothing for producer.id.expiration.ms is no longer known in the
    partition: it may go on with any sequence, and its records stay."""
    producer = Producer.new(wire, version)
    producer.accept(0, 2)
    eventually(
        lambda: described_producers(wire, producer.topic),
        lambda found: not found,
        "the producer is forgotten",
    )
    expect(producer.accept(17), 2, "base offset of sequence 17")
    expect(wire.values(producer.topic), [b"0", b"1", b"17"], "records")


@case(
    "IDEM-15",
    "Produce",
    versions=V2,
    spec="KIP-854; class ProducerStateManager, removeExpiredProducers",
    priority="P1",
    config=SHORT_LIVED,
)
def test_a_producer_that_goes_on_is_remembered(wire: Wire, version: int) -> None:
    """A producer is idle since its last batch, not since its first: as long as it writes within
    producer.id.expiration.ms, a gap in its sequence gets OUT_OF_ORDER_SEQUENCE_NUMBER (45)."""
    producer, sequence = Producer.new(wire, version), 0
    begun = time.monotonic()
    while time.monotonic() < begun + 2 * EXPIRATION_S:
        written = time.monotonic()
        producer.accept(sequence)
        time.sleep(EXPIRATION_S / 8)
        code = producer.send(sequence + 17).error_code
        if time.monotonic() < written + EXPIRATION_S:  # else it was idle, on a slow machine
            expect(code, OUT_OF_ORDER, f"error of a gap, {written - begun:.1f} s after the first")
        sequence += 18 if code == ErrorCode.NONE else 1


@case(
    "IDEM-15",
    "EndTxn",
    versions=(0, 4),
    spec="KIP-854; class ProducerStateManager, isProducerExpired",
    priority="P1",
    config=SHORT_LIVED,
)
def test_a_producer_in_a_transaction_is_not_forgotten(wire: Wire, version: int) -> None:
    """A producer whose transaction is open is known however long it writes nothing: an idle one
    that wrote after it is forgotten first, and once its transaction is committed, readers of
    committed records get past it."""
    topic, open_one = wire.create_topic(), Transactional.ready(wire)
    open_one.add(topic)
    open_one.send(topic, b"a")
    idle = Producer(wire, topic, wire.version("Produce"), init_producer_id(wire).producer_id)
    idle.accept(0)
    eventually(
        lambda: [each.producer_id for each in described_producers(wire, topic)],
        lambda found: idle.producer_id not in found,
        "the idle producer is forgotten",
    )
    state_of(wire, topic, open_one)  # is there
    open_one.commit(version=version)
    wait_until_ended(wire, topic)
    expect(wire.fetch(topic, 0).last_stable_offset, 3, "last stable offset")


@case("IDEM-16", "Produce", versions=V2, spec="KIP-360; KAFKA-7190", priority="P1")
def test_a_producer_outlives_its_records(wire: Wire, version: int) -> None:
    """After DeleteRecords has removed all records of a producer its next sequence is accepted, and
    a retry of the last batch is still answered with its first offset."""
    producer = Producer.new(wire, version)
    producer.accept(0, 3)
    deleted = delete_records(wire, producer.topic, 3, wire.version("DeleteRecords"))
    expect((deleted.error_code, deleted.low_watermark), (0, 3), "DeleteRecords")
    expect(producer.accept(0, 3), 0, "base offset of the retry")
    expect(producer.accept(3), 3, "base offset of the next sequence")


@case(
    "IDEM-18",
    "InitProducerId",
    versions=(3, 6),
    spec="KIP-360; class TransactionCoordinator, handleInitProducerId",
    priority="P2",
)
def test_without_a_transactional_id_nothing_is_resumed(wire: Wire, version: int) -> None:
    """Without transactional id the producer id and epoch of the request (v3+) are ignored: the
    answer has a new producer id, with epoch 0."""
    known = init_producer_id(wire)
    answer = wire.call(
        "InitProducerId",
        version,
        transactional_id=None,
        transaction_timeout_ms=60_000,
        producer_id=known.producer_id,
        producer_epoch=3,
    )
    expect((answer.error_code, answer.producer_epoch), (0, 0), "(error, epoch)")
    expect_that(
        answer.producer_id > -1 and answer.producer_id != known.producer_id,
        "producer id",
        f"another one than {known.producer_id}",
        answer.producer_id,
    )


@pytest.mark.parametrize(
    ("producer_id", "epoch"), [(7, -1), (-1, 3)], ids=["without-epoch", "without-producer-id"]
)
@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
@case(
    "IDEM-19",
    "InitProducerId",
    versions=(3, 6),
    spec="KIP-360; class KafkaApis, handleInitProducerIdRequest",
    priority="P2",
)
def test_producer_id_and_epoch_are_given_together(
    wire: Wire, version: int, transactional: bool, producer_id: int, epoch: int
) -> None:
    """A producer id without epoch, or an epoch without producer id (v3+), gets INVALID_REQUEST
    (42), and neither in the answer (-1)."""
    answer = wire.call(
        "InitProducerId",
        version,
        transactional_id=wire.new_name("transactional") if transactional else None,
        transaction_timeout_ms=60_000,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    expect(
        (answer.error_code, answer.producer_id, answer.producer_epoch),
        (ErrorCode.INVALID_REQUEST, -1, -1),
        "(error, producer id, epoch)",
    )
