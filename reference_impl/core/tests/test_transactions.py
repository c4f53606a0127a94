"""Transactions: what readers see, how they end, and what time does to them."""

from __future__ import annotations

from reference_impl.core.tests.transactional import (
    BOTH,
    Producer,
    begun,
    open_transaction,
    transactional_world,
)
from reference_impl.robustness.transactional_client import PER_TRANSACTION, read_committed
from reference_impl.wire import ApiKey, ErrorCode, RecordBatch, request_definition

# --- what readers see -----------------------------------------------------------------------------


@BOTH
def test_committed_records_are_read_and_aborted_ones_are_not(versions: dict[str, int]) -> None:
    producer = begun(versions)
    producer.transaction("a", "b")
    producer.transaction("c", commit=False)
    producer.transaction("d")
    assert read_committed(producer.world) == ["a", "b", "d"]
    assert producer.world.read_all("t") == ["a", "b", "c", "d"]


@BOTH
def test_an_open_transaction_holds_readers_back(versions: dict[str, int]) -> None:
    producer = begun(versions)
    world = producer.world
    open_transaction(producer, "a")
    world.produce("t", "plain")
    row = world.fetch("t", isolation_level=1)
    assert (row.records, row.last_stable_offset, row.high_watermark) == (b"", 0, 2)
    assert row.aborted_transactions == []
    of = request_definition(ApiKey.LIST_OFFSETS)
    wanted = of.struct("ListOffsetsPartition", partition_index=0, timestamp=-1)
    answer = world.call(
        ApiKey.LIST_OFFSETS,
        7,
        replica_id=-1,
        isolation_level=1,
        topics=[of.struct("ListOffsetsTopic", name="t", partitions=[wanted])],
    )
    assert answer.topics[0].partitions[0].offset == 0
    producer.end(commit=True)
    assert read_committed(world) == ["a", "plain"]
    assert world.fetch("t", isolation_level=1).last_stable_offset == 3


def test_a_waiting_reader_is_answered_by_the_marker() -> None:
    producer = begun()
    world = producer.world
    open_transaction(producer, "a")
    body = world.fetch_body("t", isolation_level=1, max_wait_ms=60_000)
    number = world.send(ApiKey.FETCH, 12, body, client=2)
    assert world.answer_to(number) is None
    producer.end(commit=True)
    answer = world.answer_to(number)
    assert answer is not None and answer.responses[0].partitions[0].records


def test_interleaved_transactions_are_told_apart() -> None:
    world = transactional_world()
    one, two = Producer(world, "one"), Producer(world, "two")
    for producer in (one, two):
        producer.init()
        producer.add()
    for value in ("1", "2"):
        one.send(f"a{value}")
        two.send(f"b{value}")
    one.end(commit=False)
    assert read_committed(world) == []  # held back by the other one, which began at 1
    two.end(commit=True)
    assert read_committed(world) == ["b1", "b2"]


@BOTH
def test_each_partition_gets_one_marker(versions: dict[str, int]) -> None:
    producer = begun(versions)
    producer.transaction("a", partitions=2)
    for index in (0, 1):
        records = producer.world.fetch("t", 1, index).records
        marker, _ = RecordBatch.decode(records)
        assert marker.is_control and marker.is_transactional
        assert marker.producer_id == producer.producer_id
        assert marker.records[0].key == b"\x00\x00\x00\x01"
        assert marker.producer_epoch == producer.epoch


# --- the end of a transaction ---------------------------------------------------------------------


def test_without_a_transaction_there_is_nothing_to_end() -> None:
    producer = begun()
    assert producer.end(commit=True).error_code == ErrorCode.INVALID_TXN_STATE
    assert producer.end(commit=False).error_code == ErrorCode.INVALID_TXN_STATE
    assert producer.end(commit=True, version=5).error_code == ErrorCode.INVALID_TXN_STATE
    epoch = producer.epoch
    assert producer.end(commit=False, version=5).error_code == ErrorCode.NONE
    assert producer.epoch == epoch + 1


def test_an_end_that_is_repeated_gets_the_same_answer() -> None:
    producer = begun()
    producer.transaction("a")
    assert producer.end(commit=True).error_code == ErrorCode.NONE
    assert producer.end(commit=False).error_code == ErrorCode.INVALID_TXN_STATE
    assert producer.world.fetch("t").high_watermark == 2


def test_an_end_with_an_epoch_of_its_own_is_repeated_by_the_old_epoch() -> None:
    producer = begun(PER_TRANSACTION)
    epoch = producer.epoch
    producer.transaction("a")
    assert producer.epoch == epoch + 1
    again = producer.end(commit=True, producer_epoch=epoch)
    assert (again.error_code, again.producer_epoch) == (ErrorCode.NONE, epoch + 1)
    opposite = producer.end(commit=False, producer_epoch=epoch)
    assert opposite.error_code == ErrorCode.INVALID_TXN_STATE
    older = producer.end(commit=True, producer_epoch=epoch - 1)
    assert older.error_code == ErrorCode.PRODUCER_FENCED


def test_the_last_epoch_of_a_producer_id_leads_to_another_id() -> None:
    producer = begun(PER_TRANSACTION)
    first_id = producer.producer_id
    coordinator = producer.world.node.broker.transactions.of("tx")
    # Only the epoch counts here; thirty thousand transactions would say the same.
    last = coordinator.transactions["tx"].with_producer(
        2**15 - 2, -1, 60_000, producer.world.now_ms
    )
    coordinator.log.append("tx", last)
    coordinator.transactions["tx"] = last
    producer.epoch = last.producer_epoch
    producer.transaction("a")
    assert producer.producer_id != first_id and producer.epoch == 0
    again = producer.end(commit=True, producer_id=first_id, producer_epoch=2**15 - 2)
    assert (again.error_code, again.producer_id) == (ErrorCode.NONE, producer.producer_id)
    producer.transaction("b")
    assert read_committed(producer.world) == ["a", "b"]


def test_a_producer_that_goes_on_gets_the_next_epoch() -> None:
    producer = begun()
    own = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
    first = producer.init(**own)
    assert (first.error_code, first.producer_epoch) == (ErrorCode.NONE, own["producer_epoch"] + 1)
    again = producer.init(**own)
    assert (again.error_code, again.producer_epoch) == (ErrorCode.NONE, first.producer_epoch)
    Producer(producer.world).init()
    assert producer.init(**own).error_code == ErrorCode.PRODUCER_FENCED
    assert producer.init(version=3, **own).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


# --- time -----------------------------------------------------------------------------------------


@BOTH
def test_a_transaction_that_takes_too_long_is_aborted(versions: dict[str, int]) -> None:
    producer = begun(versions, timeout_ms=5_000)
    world = producer.world
    open_transaction(producer, "a")
    world.wait(4_000)
    assert world.fetch("t", isolation_level=1).last_stable_offset == 0
    world.wait(20_000)
    assert world.fetch("t", isolation_level=1).last_stable_offset == 2
    assert producer.send("b").error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.add() == ErrorCode.PRODUCER_FENCED
    assert producer.end(commit=True, version=4).error_code == ErrorCode.PRODUCER_FENCED
    assert read_committed(world) == []


def test_an_id_that_nobody_uses_is_forgotten() -> None:
    producer = Producer(transactional_world({"transactional.id.expiration.ms": "1000"}))
    producer.init()
    producer.world.wait(3_700_000)
    assert producer.add() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    producer.world.kill()
    assert producer.add() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.init().error_code == ErrorCode.NONE
