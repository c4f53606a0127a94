"""The life of transactional ids: when epochs run out, and when an id is forgotten."""

from __future__ import annotations

import time

from conformance.case import case, expect, expect_that
from conformance.cases.transactions.test_admin import described
from conformance.clients.transactions import Producer, committed_values, wait_until_ended
from conformance.target.variants import SHORT_LIVED
from conformance.wire import Wire, eventually, request
from reference_impl.wire import ErrorCode, Struct

EPOCH_MAX = 2**15 - 1
AT_ONCE = 250
"""Requests that wait for their answers together."""
STANDSTILL_S = 20.0
"""The longest time in which no InitProducerId may give a new epoch."""


def raise_epoch(producer: Producer, version: int, above: int) -> list[Struct]:
    """Send InitProducerId again and again, until the epoch is above a number, or the producer id
    changes. Return the answers without an error. Raise Deviation if nothing changes any more."""
    body = request(
        "InitProducerId", transactional_id=producer.transactional_id, transaction_timeout_ms=60_000
    )
    given: list[Struct] = []
    first_id, deadline = producer.producer_id, time.monotonic() + STANDSTILL_S
    while producer.epoch <= above and producer.producer_id == first_id:
        count = min(AT_ONCE, above + 1 - producer.epoch)
        for _ in range(count):
            producer.connection.send("InitProducerId", version, body)
        answers = [producer.connection.receive("InitProducerId", version)[1] for _ in range(count)]
        errors = {answer.error_code for answer in answers}
        expect_that(
            errors <= {0, int(ErrorCode.CONCURRENT_TRANSACTIONS)},
            "InitProducerId errors",
            "NONE, or CONCURRENT_TRANSACTIONS",
            errors,
        )
        given += [answer for answer in answers if answer.error_code == 0]
        told = (given[-1].producer_id, given[-1].producer_epoch) if given else (first_id, -1)
        if told[0] != first_id or told[1] > producer.epoch:
            (producer.producer_id, producer.epoch) = told
            deadline = time.monotonic() + STANDSTILL_S
        expect_that(
            time.monotonic() < deadline,
            f"(producer id, epoch) {STANDSTILL_S:g} s after the last new one",
            f"an epoch above {producer.epoch}, or another id",
            told,
        )
    return given


@case(
    "TXN-10",
    "InitProducerId",
    versions=(5, 5),
    spec="class TransactionMetadata, prepareProducerIdRotation",
    priority="P1",
)
def test_a_producer_id_whose_epochs_run_out_is_replaced(wire: Wire, version: int) -> None:
    """Before a producer's epoch would pass 32767 its transactional id gets a new producer id, which
    begins at epoch 0 and may begin transactions; the old one gets INVALID_PRODUCER_ID_MAPPING
    (49)."""
    producer = Producer.ready(wire)
    first_id = producer.producer_id
    given = raise_epoch(producer, version, EPOCH_MAX - 3)
    for _ in range(4):
        if producer.producer_id == first_id:
            given.append(producer.init(version))
    of_new = [answer.producer_epoch for answer in given if answer.producer_id != first_id]
    of_old = [answer.producer_epoch for answer in given if answer.producer_id == first_id]
    expect_that(of_new != [], "producer id after the last epoch", "a new one", first_id)
    expect(of_new[0], 0, "its epoch")
    expect_that(max(of_old) < EPOCH_MAX, "epochs given to producers", f"< {EPOCH_MAX}", of_old[-4:])
    topic = wire.create_topic()
    producer.add_and_send(topic, b"a")
    producer.commit()
    wait_until_ended(wire, topic)
    expect(committed_values(wire, topic), [b"a"], "committed records")
    producer.producer_id, producer.epoch = first_id, of_old[-1]
    code = producer.try_to_add(topic, 0)[0]
    expect(code, ErrorCode.INVALID_PRODUCER_ID_MAPPING, "AddPartitionsToTxn error of the old id")


@case(
    "TXN-54",
    "AddPartitionsToTxn",
    versions=(0, 3),
    spec="KIP-98, transactional.id.expiration.ms; KIP-1050",
    priority="P1",
    config=SHORT_LIVED,
)
def test_an_idle_transactional_id_is_forgotten(wire: Wire, version: int) -> None:
    """A transactional id unused for transactional.id.expiration.ms is forgotten:
    DescribeTransactions answers TRANSACTIONAL_ID_NOT_FOUND (105), and its producer gets
    INVALID_PRODUCER_ID_MAPPING (49) until it asks for an id again: it gets a new one, with epoch
    0, which works."""
    producer, topic = Producer.ready(wire), wire.create_topic()
    first_id = producer.producer_id
    describe = wire.version("DescribeTransactions")
    eventually(
        lambda: described(producer, describe).error_code,
        lambda error: error == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        "the transactional id is forgotten",
    )
    code = producer.try_to_add(topic, 0, version=version)[0]
    expect(code, ErrorCode.INVALID_PRODUCER_ID_MAPPING, "AddPartitionsToTxn error")
    answer = producer.init()
    expect_that(
        answer.producer_id != first_id, "the next producer id", "a new one", answer.producer_id
    )
    expect(answer.producer_epoch, 0, "its epoch")
    producer.add(topic, 0, version=version)
