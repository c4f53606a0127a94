"""A transaction whose outcome is decided, while its markers are still being written.

On one broker that takes a moment only, so these cases send EndTxn and the next request in one go:
an implementation that is still busy says so (CONCURRENT_TRANSACTIONS), one that has finished
serves the request, and nothing else is right.
"""

from __future__ import annotations

from typing import Any

from conformance.case import case, expect, expect_that
from conformance.clients.transactions import (
    Producer,
    committed_values,
    errors_of_added,
    wait_until_ended,
)
from conformance.wire import Topic, Wire, eventually, part, request
from reference_impl.wire import ErrorCode, Struct

MANY = 20
"""Partitions: their markers take a moment."""
BUSY = int(ErrorCode.CONCURRENT_TRANSACTIONS)
SPEC = "class TransactionCoordinator"


def wide_transaction(wire: Wire) -> tuple[Producer, Topic]:
    """Return an open transaction over many partitions, with a record in the first and the last."""
    producer, topic = Producer.ready(wire), wire.create_topic(MANY)
    producer.add(topic, *range(MANY))
    for partition in (0, MANY - 1):
        producer.send(topic, b"r", partition=partition)
    return producer, topic


def end_and_ask(
    producer: Producer, api: str, version: int, body: Struct, *, commit: bool = True
) -> Struct:
    """Send EndTxn, which must succeed, and a second request right behind it. Return the second
    answer."""
    end = producer.explicit("EndTxn")
    producer.connection.send(
        "EndTxn",
        end,
        request(
            "EndTxn",
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        ),
    )
    producer.connection.send(api, version, body)
    ended = producer.connection.receive("EndTxn", end)[1]
    expect(ended.error_code, ErrorCode.NONE, "EndTxn error")
    return producer.connection.receive(api, version)[1]


def committed_everywhere(wire: Wire, topic: Topic) -> None:
    for partition in (0, MANY - 1):
        wait_until_ended(wire, topic, partition)
        expect(committed_values(wire, topic, partition), [b"r"], f"partition {partition}")


@case("TXN-09", "InitProducerId", spec=f"{SPEC}, prepareInitProducerIdTransit", priority="P1")
def test_a_new_owner_waits_for_the_markers(wire: Wire, version: int) -> None:
    """InitProducerId while markers are being written gets CONCURRENT_TRANSACTIONS (51), afterwards
    the next epoch; the decided outcome is completed."""
    producer, topic = wide_transaction(wire)
    fields: dict[str, Any] = {
        "transactional_id": producer.transactional_id,
        "transaction_timeout_ms": 60_000,
    }
    answer = end_and_ask(producer, "InitProducerId", version, request("InitProducerId", **fields))
    expect(answer.error_code, {0, BUSY}, "error at once")
    if answer.error_code == BUSY:
        answer = producer.try_to_init(version)
    expect((answer.error_code, answer.producer_id), (0, producer.producer_id), "(error, id)")
    expect_that(
        answer.producer_epoch > producer.epoch,
        "epoch",
        f"> {producer.epoch}",
        answer.producer_epoch,
    )
    committed_everywhere(wire, topic)


@case(
    "TXN-18",
    "AddPartitionsToTxn",
    versions=(0, 3),
    spec=f"{SPEC}, handleAddPartitionsToTransaction",
    priority="P1",
)
def test_the_next_transaction_waits_for_the_markers(wire: Wire, version: int) -> None:
    """AddPartitionsToTxn while markers are being written gets CONCURRENT_TRANSACTIONS (51) for
    each partition, afterwards NONE; the two transactions stay apart."""
    producer, topic = wide_transaction(wire)
    entry = part("AddPartitionsToTxn", "AddPartitionsToTxnTopic", name=topic.name, partitions=[0])
    body = request(
        "AddPartitionsToTxn",
        v3_and_below_transactional_id=producer.transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[entry],
    )
    answer = end_and_ask(producer, "AddPartitionsToTxn", version, body)
    expect(errors_of_added(answer)[0], {0, BUSY}, "error at once")
    producer.add(topic, 0, version=version)
    producer.send(topic, b"next")
    producer.abort()
    committed_everywhere(wire, topic)


@case("TXN-29", "EndTxn", versions=(0, 4), spec=f"{SPEC}, endTransaction", priority="P1")
def test_the_same_end_again_waits_for_the_markers(wire: Wire, version: int) -> None:
    """EndTxn sent again while markers are being written gets CONCURRENT_TRANSACTIONS (51), and
    NONE afterwards; the opposite end gets INVALID_TXN_STATE (48) then."""
    producer, topic = wide_transaction(wire)
    fields: dict[str, Any] = {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
    }
    again = request("EndTxn", committed=True, **fields)
    expect(end_and_ask(producer, "EndTxn", version, again).error_code, {0, BUSY}, "error at once")
    opposite = producer.try_to_end(False, version)
    expect(opposite.error_code, ErrorCode.INVALID_TXN_STATE, "error of the opposite end")
    eventually(
        lambda: producer.connection.call("EndTxn", version, again).error_code,
        lambda error: error == 0,
        "the same end is answered with NONE",
    )
    committed_everywhere(wire, topic)
