"""Transactions: who may write what, and who is fenced."""

from __future__ import annotations

import pytest

from reference_impl.core.tests.transactional import Producer, begun, open_transaction
from reference_impl.robustness.transactional_client import CLASSIC, PER_TRANSACTION, read_committed
from reference_impl.wire import ApiKey, ErrorCode, request_definition


def test_a_second_producer_fences_the_first() -> None:
    old = begun()
    new = Producer(old.world)
    open_transaction(old, "zombie")
    assert new.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert new.init().error_code == ErrorCode.NONE
    assert new.producer_id == old.producer_id and new.epoch > old.epoch
    assert old.send("late").error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert old.add() == ErrorCode.PRODUCER_FENCED
    assert old.add(version=1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert old.end(commit=True).error_code == ErrorCode.PRODUCER_FENCED
    assert old.end(commit=True, version=1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    new.transaction("good")
    assert read_committed(old.world) == ["good"]


def test_a_wrong_producer_id_is_refused() -> None:
    producer = begun()
    producer.producer_id += 1
    assert producer.add() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.add_offsets() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.end(commit=True).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert Producer(producer.world, "nobody").add() == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_partition_that_does_not_exist_leaves_the_others_out() -> None:
    producer = begun()
    of = request_definition(ApiKey.ADD_PARTITIONS_TO_TXN)
    answer = producer.world.call(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        3,
        v3_and_below_transactional_id=producer.name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[of.struct("AddPartitionsToTxnTopic", name="t", partitions=[0, 9])],
    )
    rows = answer.results_by_topic_v3_and_below[0].results_by_partition
    assert [row.partition_error_code for row in rows] == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert producer.send("a").error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(
    ("version", "code"),
    [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE), (12, ErrorCode.NONE)],
)
def test_a_partition_that_was_not_added(version: int, code: ErrorCode) -> None:
    producer = begun({**CLASSIC, "produce": version})
    assert producer.send("a").error_code == code


def test_a_batch_after_the_end_begins_no_hanging_transaction() -> None:
    producer = begun()
    producer.transaction("a")
    assert producer.send("late").error_code == ErrorCode.INVALID_TXN_STATE
    assert producer.world.fetch("t", isolation_level=1).last_stable_offset == 2


def test_without_an_epoch_per_transaction_sequences_go_on() -> None:
    producer = begun()
    producer.transaction("a")
    producer.transaction("b")
    again = producer.send("b", base_sequence=1)
    assert again.error_code == ErrorCode.INVALID_TXN_STATE
    assert read_committed(producer.world) == ["a", "b"]


def test_a_first_batch_that_does_not_begin_at_zero_is_out_of_order() -> None:
    producer = begun(PER_TRANSACTION)
    row = producer.send("a", base_sequence=3)
    assert row.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_plain_batch_cannot_enter_an_open_transaction() -> None:
    producer = begun()
    open_transaction(producer, "a")
    row = producer.send("b", attributes=0)
    assert row.error_code == ErrorCode.INVALID_TXN_STATE
