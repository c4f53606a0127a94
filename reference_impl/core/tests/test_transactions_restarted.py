"""Transactions over crashes and restarts, and what administrators see and do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from reference_impl.core.effects import Effect
from reference_impl.core.events import Event
from reference_impl.core.rules import Rules
from reference_impl.core.tests.transactional import (
    BOTH,
    Producer,
    begun,
    open_transaction,
    transactional_world,
)
from reference_impl.core.tests.world import World
from reference_impl.core.transactions.states import State
from reference_impl.core.transactions.transaction import Transaction
from reference_impl.core.waiting.waits import AT_ONCE
from reference_impl.robustness.transactional_client import CLASSIC, read_committed
from reference_impl.wire import ApiKey, ErrorCode, request_definition

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
    list(
        producer.world.node.broker.transactions.of("tx").end(
            "tx", producer.producer_id, producer.epoch, commit=commit, version=0
        )
    )
    producer.world.kill()
    assert read_committed(producer.world) == (["a", "plain"] if commit else ["plain"])
    assert producer.end(commit=commit).error_code == ErrorCode.NONE
    producer.transaction("b")
    assert read_committed(producer.world)[-1] == "b"


def test_a_broker_that_forgets_decisions_holds_readers_back() -> None:
    """The rule is what carries decisions out: without it the test above would fail."""

    class Forgetful(Rules):
        def decided(self, transactions: Iterable[Transaction]) -> Sequence[Transaction]:
            return ()

    world = transactional_world(rules=Forgetful)
    producer = Producer(world)
    producer.init()
    open_transaction(producer, "a")
    list(
        world.node.broker.transactions.of("tx").end(
            "tx", producer.producer_id, producer.epoch, commit=True, version=0
        )
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


def test_transactions_that_time_out_together_are_aborted_in_several_steps() -> None:
    """Ten thousand of them, aborted in one step, stopped the broker for more than a second."""
    world = transactional_world({"transaction.state.log.num.partitions": "1"})
    for number in range(2 * AT_ONCE):
        transactional_id = f"x{number}"
        producer = Producer(world, transactional_id, versions=CLASSIC)
        assert producer.init(5_000).error_code == ErrorCode.NONE
        assert producer.add() == ErrorCode.NONE
    broker, most = world.node.broker, 0

    def aborted() -> int:
        states = [each.state for each in broker.transactions.every()]
        return states.count(State.COMPLETE_ABORT)

    step = world.node.step

    def watched(event: Event) -> tuple[Effect, ...]:
        nonlocal most
        before = aborted()
        effects = step(event)
        most = max(most, aborted() - before)
        return effects

    world.node.step = watched  # type: ignore[method-assign]
    world.wait(16_000)
    assert (aborted(), most) == (2 * AT_ONCE, AT_ONCE)


def test_while_a_decision_is_carried_out_everybody_waits() -> None:
    producer = begun()
    world = producer.world
    open_transaction(producer, "a")
    list(
        world.node.broker.transactions.of("tx").end(
            "tx", producer.producer_id, producer.epoch, commit=True, version=0
        )
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
