"""The markers that end transactions in their partitions: who may write them, and how many."""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.cases.transactions.markers import write_marker
from conformance.clients.producers import state_of
from conformance.clients.transactions import (
    READ_COMMITTED,
    Producer,
    committed_values,
    wait_until_ended,
)
from conformance.wire import Wire
from reference_impl.wire import ControlRecordType, ErrorCode, control_type

SPEC = "KIP-98, WriteTxnMarkersRequest"


@case(
    "TXN-47", "WriteTxnMarkers", spec="class KafkaApis, handleWriteTxnMarkersRequest", priority="P1"
)
def test_a_marker_for_an_unknown_partition_is_refused(wire: Wire, version: int) -> None:
    """A marker for a partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3)."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    code = write_marker(wire, topic, (producer.producer_id, producer.epoch), version, partition=9)
    expect(code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")


@case(
    "TXN-48",
    "WriteTxnMarkers",
    spec="class ProducerAppendInfo, checkCoordinatorEpoch",
    priority="P1",
)
def test_a_former_coordinator_writes_no_marker(wire: Wire, version: int) -> None:
    """Once a coordinator of a later epoch has written a marker, one of an earlier epoch gets
    TRANSACTION_COORDINATOR_FENCED (52), and nothing is appended; DescribeProducers names the later
    epoch."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add_and_send(topic, b"a")
    name = (producer.producer_id, producer.epoch)
    expect(write_marker(wire, topic, name, version, coordinator_epoch=9), 0, "error, epoch 9")
    end = wire.end_offset(topic)
    code = write_marker(wire, topic, name, version, coordinator_epoch=8)
    expect(code, ErrorCode.TRANSACTION_COORDINATOR_FENCED, "error, epoch 8")
    expect(wire.end_offset(topic), end, "end offset afterwards")
    expect(state_of(wire, topic, producer).coordinator_epoch, 9, "coordinator epoch told")


@case(
    "TXN-49", "WriteTxnMarkers", spec="class ProducerAppendInfo, checkProducerEpoch", priority="P1"
)
def test_a_marker_of_an_older_epoch_is_refused(wire: Wire, version: int) -> None:
    """A marker of an older producer epoch than the partition has seen gets
    INVALID_PRODUCER_EPOCH (47); the transaction of the newer epoch stays open."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.init()
    producer.add_and_send(topic, b"a")
    code = write_marker(wire, topic, (producer.producer_id, producer.epoch - 1), version)
    expect(code, ErrorCode.INVALID_PRODUCER_EPOCH, "error")
    found = wire.fetch(topic, 0, isolation_level=READ_COMMITTED)
    expect((found.last_stable_offset, found.high_watermark), (0, 1), "(stable offset, watermark)")


@case(
    "TXN-64",
    "WriteTxnMarkers",
    versions=(2, 2),
    spec="KIP-1228; KIP-890, part 2; class ProducerAppendInfo, checkProducerEpoch",
    priority="P2",
)
def test_a_marker_that_raises_the_epoch_cannot_have_that_of_the_records(
    wire: Wire, version: int
) -> None:
    """A marker of transaction version 2 has a later epoch than the records that it ends: with
    theirs it gets INVALID_PRODUCER_EPOCH (47), and the transaction stays open; with the next one it
    ends the transaction, and the same marker again gets no error."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add_and_send(topic, b"a")

    def mark(epoch: int) -> int:
        name = (producer.producer_id, epoch)
        return write_marker(wire, topic, name, version, transaction_version=2)

    expect(mark(producer.epoch), ErrorCode.INVALID_PRODUCER_EPOCH, "error, the records' epoch")
    start = state_of(wire, topic, producer).current_txn_start_offset
    expect(start, 0, "start of the open transaction")
    expect(mark(producer.epoch + 1), ErrorCode.NONE, "error, the next epoch")
    wait_until_ended(wire, topic)
    expect(mark(producer.epoch + 1), ErrorCode.NONE, "error of the same again")


@case("TXN-53", "WriteTxnMarkers", spec="KIP-664, Aborting Transactions", priority="P1")
def test_an_administrator_ends_a_hanging_transaction(wire: Wire, version: int) -> None:
    """An ABORT marker with the producer id, epoch and coordinator epoch that DescribeProducers
    answers for a hanging transaction ends it: the last stable offset moves on, and its records are
    not delivered to read_committed readers."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add_and_send(topic, b"hanging")
    other = Producer.ready(wire)
    other.add_and_send(topic, b"waiting")
    other.commit()
    told = state_of(wire, topic, producer)
    expect(told.current_txn_start_offset, 0, "start of the hanging transaction")
    code = write_marker(
        wire,
        topic,
        (told.producer_id, told.producer_epoch),
        version,
        coordinator_epoch=max(told.coordinator_epoch, 0),
    )
    expect(code, ErrorCode.NONE, "error")
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"waiting"], "committed records")
    expect(state_of(wire, topic, producer).current_txn_start_offset, -1, "start afterwards")


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@case("TXN-58", "EndTxn", spec=SPEC, priority="P1")
def test_each_partition_gets_exactly_one_marker(wire: Wire, version: int, commit: bool) -> None:
    """Transactions of several transactional ids over twenty partitions end in one marker of each
    producer in each partition, all of the same outcome."""
    indexes = range(20)
    producers, topic = [Producer.ready(wire) for _ in range(3)], wire.create_topic(len(indexes))
    for producer in producers:
        producer.add(topic, *indexes)
        for index in indexes:
            producer.send(topic, b"r", partition=index)
    for producer in producers:
        producer.end(commit, version)
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    expected = sorted((producer_id, kind) for producer_id in {p.producer_id for p in producers})
    for index in indexes:
        wait_until_ended(wire, topic, index)
        markers = [
            (batch.producer_id, control_type(record))
            for batch in wire.batches(topic, partition=index)
            if batch.is_control
            for record in batch.records
        ]
        expect(sorted(markers), expected, f"(producer id, outcome) in partition {index}")


@case("TXN-50", "WriteTxnMarkers", spec="KAFKA-19999; ProducerAppendInfo", priority="P2")
def test_a_marker_that_is_written_again_is_accepted(wire: Wire, version: int) -> None:
    """A marker that a coordinator sends again, with the same producer epoch, after the transaction
    has ended, gets no error, and readers receive the same as before."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add_and_send(topic, b"a")
    name = (producer.producer_id, producer.epoch)
    expect(write_marker(wire, topic, name, version), ErrorCode.NONE, "error of the marker")
    wait_until_ended(wire, topic)
    expect(write_marker(wire, topic, name, version), ErrorCode.NONE, "error of the same again")
    wait_until_ended(wire, topic)
    expect(state_of(wire, topic, producer).current_txn_start_offset, -1, "open transaction")
    expect(len(committed_values(wire, topic)) <= 1, True, "at most the one record is read")
