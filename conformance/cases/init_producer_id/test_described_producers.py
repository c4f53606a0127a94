"""DescribeProducers: the state of a partition's producers (KIP-664)."""

from __future__ import annotations

from dataclasses import replace

from conformance.case import case, expect, expect_that
from conformance.cases.init_producer_id.idempotent_producer import init_producer_id
from conformance.cases.log.segments import now_ms
from conformance.clients.producers import describe_producers, described_producers, state_of
from conformance.clients.transactions import Producer, wait_until_ended
from conformance.wire import Wire, batch
from reference_impl.wire import ErrorCode


@case("IDEM-17", "DescribeProducers", spec="KIP-664", priority="P1")
def test_active_producers_are_described(wire: Wire, version: int) -> None:
    """DescribeProducers answers id, epoch, last sequence and last timestamp of each producer of a
    partition, and no transaction start without an open transaction; it does not list an unknown
    producer. A partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3), a topic with an
    impossible name INVALID_TOPIC_EXCEPTION (17)."""
    topic = wire.create_topic()
    at_ms = now_ms() - 5000
    ids = [init_producer_id(wire).producer_id for _ in range(2)]
    for producer_id, count in zip(ids, (1, 3), strict=True):
        records = batch(
            *[b"r"] * count,
            producer_id=producer_id,
            producer_epoch=2,
            base_sequence=0,
            base_timestamp=at_ms,
            max_timestamp=at_ms,
        )
        expect(wire.produce(topic, records.encode()).error_code, ErrorCode.NONE, "produce error")
    found = {
        p.producer_id: (
            p.producer_epoch,
            p.last_sequence,
            p.last_timestamp,
            p.current_txn_start_offset,
        )
        for p in described_producers(wire, topic, version)
    }
    expect(
        found,
        {ids[0]: (2, 0, at_ms, -1), ids[1]: (2, 2, at_ms, -1)},
        "id: (epoch, last sequence, last timestamp, transaction start)",
    )
    missing = describe_producers(wire, topic, 7, version)
    expect(missing.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error of partition 7")
    impossible = describe_producers(wire, replace(topic, name="a b"), 0, version)
    expect(impossible.error_code, ErrorCode.INVALID_TOPIC_EXCEPTION, "error of an impossible name")


@case("IDEM-17", "DescribeProducers", spec="KIP-664", priority="P1")
def test_an_open_transaction_is_described_by_its_partition(wire: Wire, version: int) -> None:
    """DescribeProducers returns the offset at which a producer's open transaction began; once it
    has ended, -1 and the epoch of the coordinator that ended it."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    producer.add_and_send(topic, b"a")
    producer.send(topic, b"b")
    ongoing = state_of(wire, topic, producer, version)
    expect((ongoing.current_txn_start_offset, ongoing.last_sequence), (0, 1), "(start, sequence)")
    producer.commit()
    wait_until_ended(wire, topic)
    ended = state_of(wire, topic, producer, version)
    expect(ended.current_txn_start_offset, -1, "start afterwards")
    expect_that(ended.coordinator_epoch >= 0, "coordinator epoch", ">= 0", ended.coordinator_epoch)
