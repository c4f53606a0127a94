"""Compaction keeps what idempotent and transactional producers, and their readers, rely on."""

from __future__ import annotations

from conformance.case import case, expect, expect_that
from conformance.cases.log.segments import (
    COMPACTED,
    HOUR_MS,
    STEP_MS,
    KeyValue,
    keyed,
    now_ms,
    wait_until_kept,
    write,
)
from conformance.clients.transactions import Producer, committed_values, wait_until_ended
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import TRANSACTIONAL_BIT

END: KeyValue = (b"end", b"!")


@case(
    "LOG-09",
    "Fetch",
    spec="KIP-98; class Cleaner, filterInto (RETAIN_EMPTY)",
    priority="P1",
    requires=["quick-cleanup"],
)
def test_a_producers_last_batch_stays_without_records(wire: Wire) -> None:
    """The last batch of a producer stays, without records, so that its sequence is known: a fetch
    returns the empty batch, and the producer continues after its sequence."""
    topic = wire.create_topic(config=COMPACTED)
    answer = eventually(
        lambda: wire.call("InitProducerId", transactional_id=None, transaction_timeout_ms=60_000),
        lambda found: found.error_code == 0,  # 14 until the controller has given ids
        "InitProducerId is served",
    )
    producer = {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
    old = now_ms() - HOUR_MS
    write(wire, topic, (b"k", b"1"), at_ms=old, base_sequence=0, **producer)
    write(wire, topic, (b"k", b"2"), at_ms=old + STEP_MS, base_sequence=1, **producer)
    write(wire, topic, (b"k", b"3"), at_ms=old + 2 * STEP_MS)
    write(wire, topic, END, at_ms=old + 3 * STEP_MS)
    wait_until_kept(wire, topic, [(2, b"k", b"3"), (3, *END)], "after compaction")
    found = [(b.base_offset, len(b.records), b.base_sequence) for b in wire.batches(topic)]
    expect(found, [(1, 0, 1), (2, 1, -1), (3, 1, -1)], "batches (offset, records, sequence)")
    at = write(wire, topic, (b"k", b"4"), at_ms=old + 3 * STEP_MS, base_sequence=2, **producer)
    expect(at, 4, "offset of the producer's next record")
    expect(wire.fetch(topic, 0).high_watermark, 5, "high watermark")


def send(wire: Wire, producer: Producer, topic: Topic, pair: KeyValue, at_ms: int) -> None:
    """Send one record in the producer's transaction."""
    producer.add(topic)
    sequence = producer.sequences.get((topic.name, 0), 0)
    records = keyed(
        [pair],
        at_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        attributes=TRANSACTIONAL_BIT,
    )
    answer = wire.produce(
        topic, records, producer.explicit("Produce"), transactional_id=producer.transactional_id
    )
    expect(answer.error_code, 0, "produce error")
    producer.sequences[topic.name, 0] = sequence + 1


@case(
    "LOG-08",
    "Fetch",
    spec="KIP-98; class CleanedTransactionMetadata",
    priority="P1",
    requires=["quick-cleanup"],
)
def test_aborted_records_go_and_committed_ones_stay(wire: Wire) -> None:
    """Aborted records are removed and do not count as newer values; committed ones stay; a
    read_committed reader sees the committed value before and after."""
    topic = wire.create_topic(config=COMPACTED)
    producer = Producer.ready(wire)
    now = now_ms()
    send(wire, producer, topic, (b"k", b"first"), now - HOUR_MS)  # 0
    producer.commit()  # 1
    wait_until_ended(wire, topic)
    send(wire, producer, topic, (b"k", b"committed"), now + 2 * STEP_MS)  # 2
    producer.commit()  # 3
    wait_until_ended(wire, topic)
    send(wire, producer, topic, (b"k", b"aborted"), now + 4 * STEP_MS)  # 4
    producer.abort()  # 5
    wait_until_ended(wire, topic)
    write(wire, topic, END, at_ms=now + 6 * STEP_MS)  # 6
    wait_until_kept(wire, topic, [(2, b"k", b"committed"), (6, *END)], "after compaction")
    seen = committed_values(wire, topic)
    expect(seen, [b"committed", b"!"], "what a read_committed reader gets")
    markers = [b.base_offset for b in wire.batches(topic) if b.is_control]
    expect_that(5 in markers, "the newest marker", "at 5, since it ends the last epoch", markers)


@case(
    "LOG-08",
    "Fetch",
    spec="class LogCleanerManager, cleanableOffsets",
    priority="P1",
    requires=["quick-cleanup"],
)
def test_nothing_from_an_open_transaction_on_is_cleaned(wire: Wire) -> None:
    """Until an open transaction has ended, records at or above the last stable offset are not
    removed, and older records with their keys are not removed because of them."""
    topic = wire.create_topic(config=COMPACTED)
    producer = Producer.ready(wire)
    old = now_ms() - HOUR_MS
    write(wire, topic, (b"k", b"0"), at_ms=old)
    write(wire, topic, (b"k", b"1"), at_ms=old + STEP_MS)
    send(wire, producer, topic, (b"k", b"open"), old + 2 * STEP_MS)
    write(wire, topic, (b"k", b"3"), at_ms=old + 3 * STEP_MS)
    write(wire, topic, END, at_ms=old + 4 * STEP_MS)
    left = [(1, b"k", b"1"), (2, b"k", b"open"), (3, b"k", b"3"), (4, *END)]
    wait_until_kept(wire, topic, left, "with the transaction open")
    expect(wire.fetch(topic, 0, isolation_level=1).last_stable_offset, 2, "LSO")
    producer.abort()
    wait_until_ended(wire, topic)
    write(wire, topic, END, at_ms=now_ms() + STEP_MS)
    left = [(3, b"k", b"3"), (4, *END), (6, *END)]
    wait_until_kept(wire, topic, left, "after the transaction")
