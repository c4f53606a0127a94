"""Transactions: what readers see, who is fenced, and what a crash does not change."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.core.rules import Rules
from reference_impl.core.tests.transactional import (
    CLASSIC,
    PER_TRANSACTION,
    Producer,
    committed_offset,
    read_committed,
    transactional_world,
)
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, RecordBatch, request_definition

BOTH = pytest.mark.parametrize(
    "versions", [CLASSIC, PER_TRANSACTION], ids=["classic", "epoch-per-transaction"]
)


def begun(versions: dict[str, int] = CLASSIC, timeout_ms: int = 60_000) -> Producer:
    """A producer in a world of its own."""
    producer = Producer(transactional_world(), versions=versions)
    assert producer.init(timeout_ms).error_code == ErrorCode.NONE
    return producer


def open_transaction(producer: Producer, *values: str) -> None:
    """Begin a transaction in t-0 and leave it open."""
    if producer.versions is CLASSIC:
        assert producer.add() == ErrorCode.NONE
    assert producer.send(*values).error_code == ErrorCode.NONE


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


# --- who may do what ------------------------------------------------------------------------------


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
    coordinator = producer.world.node.broker.transactions
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


# --- offsets --------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("kill", [False, True], ids=["", "killed"])
def test_offsets_count_once_the_transaction_is_committed(
    versions: dict[str, int], kill: bool
) -> None:
    producer = begun(versions)
    world = producer.world

    def commit(offset: int) -> None:
        if versions is CLASSIC:
            assert producer.add_offsets() == ErrorCode.NONE
        assert producer.commit_offset(offset) == ErrorCode.NONE
        if kill:
            world.kill()

    commit(5)
    assert committed_offset(world) == (-1, ErrorCode.NONE)
    assert committed_offset(world, stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    producer.end(commit=True)
    assert committed_offset(world, stable=True) == (5, ErrorCode.NONE)
    commit(9)
    assert committed_offset(world) == (5, ErrorCode.NONE)
    producer.end(commit=False)
    assert committed_offset(world, stable=True) == (5, ErrorCode.NONE)
    world.kill()
    assert committed_offset(world, stable=True) == (5, ErrorCode.NONE)


@pytest.mark.parametrize(
    ("version", "code"), [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_offsets_of_a_group_that_takes_no_part(version: int, code: ErrorCode) -> None:
    assert begun().commit_offset(5, version=version) == code


def test_offsets_of_a_fenced_producer_or_a_stranger_are_refused() -> None:
    producer = begun()
    producer.add_offsets()
    assert producer.commit_offset(5, generation_id=3) == ErrorCode.ILLEGAL_GENERATION
    assert producer.commit_offset(5) == ErrorCode.NONE
    assert (
        producer.commit_offset(5, member_id="who", generation_id=1) == ErrorCode.UNKNOWN_MEMBER_ID
    )
    successor = Producer(producer.world)
    successor.init()
    successor.init()
    assert producer.commit_offset(6) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_commit_from_before_a_plain_one_does_not_undo_it() -> None:
    producer = begun()
    producer.add_offsets()
    producer.commit_offset(5)
    of = request_definition(ApiKey.OFFSET_COMMIT)
    row = of.struct("OffsetCommitRequestPartition", partition_index=0, committed_offset=7)
    producer.world.call(
        ApiKey.OFFSET_COMMIT,
        7,
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[of.struct("OffsetCommitRequestTopic", name="t", partitions=[row])],
    )
    producer.end(commit=True)
    assert committed_offset(producer.world) == (7, ErrorCode.NONE)
    producer.world.kill()
    assert committed_offset(producer.world) == (7, ErrorCode.NONE)


# --- what a crash does not change -----------------------------------------------------------------


@BOTH
def test_an_open_transaction_goes_on_after_a_kill(versions: dict[str, int]) -> None:
    producer = begun(versions)
    open_transaction(producer, "a")
    producer.world.kill()
    assert read_committed(producer.world) == []
    assert producer.send("b").error_code == ErrorCode.NONE
    producer.end(commit=True)
    assert read_committed(producer.world) == ["a", "b"]


@pytest.mark.parametrize("commit", [True, False])
def test_a_decision_is_carried_out_after_a_kill(commit: bool) -> None:
    producer = begun()
    open_transaction(producer, "a")
    producer.world.produce("t", "plain")
    # The process dies between the decision and the markers.
    producer.world.node.broker.transactions.end(
        "tx", producer.producer_id, producer.epoch, commit=commit, version=0
    )
    producer.world.kill()
    assert read_committed(producer.world) == (["a", "plain"] if commit else ["plain"])
    assert producer.end(commit=commit).error_code == ErrorCode.NONE
    producer.transaction("b")
    assert read_committed(producer.world)[-1] == "b"


def test_a_broker_that_forgets_decisions_holds_readers_back() -> None:
    """The rule is what carries decisions out: without it the test above would fail."""

    class Forgetful(Rules):
        def completes_decided_transactions(self) -> bool:
            return False

    world = transactional_world(rules=Forgetful)
    producer = Producer(world)
    producer.init()
    open_transaction(producer, "a")
    world.node.broker.transactions.end(
        "tx", producer.producer_id, producer.epoch, commit=True, version=0
    )
    world.kill()
    assert read_committed(world) == []


def test_aborted_transactions_are_known_after_kill_and_restart() -> None:
    producer = begun()
    for number in range(6):
        producer.transaction(str(number), commit=number % 2 == 0)
    for again in (World.kill, World.restart, World.kill):
        again(producer.world)
        assert read_committed(producer.world) == ["0", "2", "4"]
        producer.transaction("x", commit=False)


def test_a_transaction_left_open_by_a_killed_process_times_out() -> None:
    producer = begun(timeout_ms=5_000)
    open_transaction(producer, "a")
    producer.world.kill()
    producer.world.wait(30_000)
    producer.world.produce("t", "plain")
    assert read_committed(producer.world) == ["plain"]


def test_while_a_decision_is_carried_out_everybody_waits() -> None:
    producer = begun()
    world = producer.world
    open_transaction(producer, "a")
    world.node.broker.transactions.end(
        "tx", producer.producer_id, producer.epoch, commit=True, version=0
    )
    again = producer.end(commit=True)
    assert again.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.init().error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    world.kill()
    assert producer.end(commit=True).error_code == ErrorCode.NONE


# --- administration -------------------------------------------------------------------------------


def test_transactions_are_listed_and_described() -> None:
    producer = begun()
    world = producer.world
    open_transaction(producer, "a")
    answer = world.call(ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["tx", "nobody"])
    found, missing = answer.transaction_states
    assert (found.transaction_state, found.producer_id) == ("Ongoing", producer.producer_id)
    assert [(each.topic, each.partitions) for each in found.topics] == [("t", [0])]
    assert missing.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND

    def listed(**filters: Any) -> list[str]:
        answer = world.call(ApiKey.LIST_TRANSACTIONS, 2, **filters)
        return [each.transactional_id for each in answer.transaction_states]

    assert listed() == listed(state_filters=["Ongoing"]) == listed(transactional_id_pattern="t.*")
    assert listed(transactional_id_pattern="t") == listed(state_filters=["Empty"]) == []
    assert listed(producer_id_filters=[producer.producer_id + 1]) == []
    assert listed(duration_filter=1000) == []
    world.wait(2_000)
    assert listed(duration_filter=1000) == ["tx"]
    unknown = world.call(ApiKey.LIST_TRANSACTIONS, 2, state_filters=["Bogus"])
    assert (unknown.unknown_state_filters, unknown.transaction_states) == (["Bogus"], [])
    wrong = world.call(ApiKey.LIST_TRANSACTIONS, 2, transactional_id_pattern="(")
    assert wrong.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_producers_are_described() -> None:
    producer = begun()
    open_transaction(producer, "a")
    of = request_definition(ApiKey.DESCRIBE_PRODUCERS)
    topic = of.struct("TopicRequest", name="t", partition_indexes=[0, 9])
    answer = producer.world.call(ApiKey.DESCRIBE_PRODUCERS, 0, topics=[topic])
    known, missing = answer.topics[0].partitions
    row = known.active_producers[0]
    assert (row.producer_id, row.last_sequence, row.current_txn_start_offset) == (
        producer.producer_id,
        0,
        0,
    )
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_administrator_ends_a_hanging_transaction() -> None:
    producer = begun()
    world = producer.world
    open_transaction(producer, "a")
    of = request_definition(ApiKey.WRITE_TXN_MARKERS)

    def mark(epoch: int, coordinator_epoch: int = 0, version: int = 0) -> list[int]:
        topic = of.struct("WritableTxnMarkerTopic", name="t", partition_indexes=[0, 9])
        marker = of.struct(
            "WritableTxnMarker",
            producer_id=producer.producer_id,
            producer_epoch=epoch,
            transaction_result=False,
            topics=[topic],
            coordinator_epoch=coordinator_epoch,
            transaction_version=version,
        )
        answer = world.call(ApiKey.WRITE_TXN_MARKERS, 2, markers=[marker])
        return [row.error_code for row in answer.markers[0].topics[0].partitions]

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert mark(producer.epoch - 1) == [ErrorCode.INVALID_PRODUCER_EPOCH, unknown]
    assert mark(producer.epoch, version=2) == [ErrorCode.INVALID_PRODUCER_EPOCH, unknown]
    assert mark(producer.epoch, coordinator_epoch=3) == [ErrorCode.NONE, unknown]
    assert world.fetch("t", isolation_level=1).last_stable_offset == 2
    stale = mark(producer.epoch, coordinator_epoch=2)
    assert stale == [ErrorCode.TRANSACTION_COORDINATOR_FENCED, unknown]
