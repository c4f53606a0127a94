"""The transactional producer, with a coordinator played by the test."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.client import calls
from reference_impl.client.errors import ClientError, IllegalState
from reference_impl.client.producer import Producer
from reference_impl.client.producing.transactions.states import PRODUCER, Move, State, next_state
from reference_impl.client.tests.script import Script
from reference_impl.client.values import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    ProducerRecord,
    TopicPartition,
)
from reference_impl.wire import ApiKey, ErrorCode, response_definition

SEND = calls.Send(ProducerRecord("t", b"v", partition=0))


def transactional(version: int, **config: Any) -> Script:
    """Return a producer with the identity (7, 0), in a transaction."""
    settings = {name.replace("_", "."): value for name, value in config.items()}
    script = Script(Producer, {"transactional.id": "x", "linger.ms": 0, **settings})
    script.features = {"transaction.version": version}
    init = script.call(calls.InitTransactions())
    answer_coordinator(script)
    script.reply(ApiKey.INIT_PRODUCER_ID, producer_id=7, producer_epoch=0)
    assert script.results[init] is None
    script.ok(calls.BeginTransaction())
    return script


def answer_coordinator(script: Script) -> None:
    ask = script.wait_for(ApiKey.FIND_COORDINATOR)
    row = response_definition(ApiKey.FIND_COORDINATOR).struct(
        "Coordinator", key=ask.body.key, node_id=1, host="one", port=9092
    )
    script.answer(ask, coordinators=[row])


def answer_partitions(script: Script, error: int = 0) -> None:
    of = response_definition(ApiKey.ADD_PARTITIONS_TO_TXN)
    row = of.struct(
        "AddPartitionsToTxnPartitionResult", partition_index=0, partition_error_code=error
    )
    topic = of.struct("AddPartitionsToTxnTopicResult", name="t", results_by_partition=[row])
    script.answer(
        script.wait_for(ApiKey.ADD_PARTITIONS_TO_TXN), results_by_topic_v3_and_below=[topic]
    )


def test_version_1_adds_the_partition_before_anything_is_written_to_it() -> None:
    script = transactional(1)
    script.call(SEND)
    assert not script.waits_for(ApiKey.PRODUCE)
    answer_partitions(script)
    ask = script.take(ApiKey.PRODUCE)
    assert ask.api_version <= 11
    assert ask.body.transactional_id == "x"
    assert script.produced(ask)[0].is_transactional


def test_version_2_adds_the_partition_by_writing_to_it() -> None:
    script = transactional(2)
    script.call(SEND)
    assert not script.waits_for(ApiKey.ADD_PARTITIONS_TO_TXN)
    assert script.take(ApiKey.PRODUCE).api_version == 12


def test_commit_waits_for_the_records_then_ends_the_transaction() -> None:
    script = transactional(2, linger_ms=10_000)
    script.call(SEND)
    commit = script.call(calls.CommitTransaction())
    assert not script.waits_for(ApiKey.END_TXN)
    script.reply_produce()
    ask = script.reply(ApiKey.END_TXN, producer_id=7, producer_epoch=1)
    assert (ask.api_version, ask.body.committed) == (5, True)
    assert script.results[commit] is None
    script.ok(calls.BeginTransaction())
    script.call(SEND)
    batch = script.produced(script.wait_for(ApiKey.PRODUCE))[0]
    assert (batch.producer_epoch, batch.base_sequence) == (1, 0)


def test_a_transaction_in_which_nothing_happened_is_not_ended() -> None:
    script = transactional(1)
    assert script.ok(calls.CommitTransaction()) is None
    assert script.asks == []


def test_a_lost_answer_to_the_end_is_asked_again() -> None:
    script = transactional(1)
    script.call(SEND)
    answer_partitions(script)
    script.reply_produce()
    commit = script.call(calls.CommitTransaction())
    script.lose(script.take(ApiKey.END_TXN))
    answer_coordinator(script)
    script.answer(script.wait_for(ApiKey.END_TXN))
    assert script.results[commit] is None


def test_commit_times_out_and_goes_on_when_called_again() -> None:
    script = transactional(1, max_block_ms=200)
    script.call(SEND)
    answer_partitions(script)
    script.reply_produce()
    first = script.call(calls.CommitTransaction())
    script.wait(200)
    assert script.results[first].name == "TIMEOUT"
    again = script.call(calls.CommitTransaction())
    script.reply(ApiKey.END_TXN)
    assert script.results[again] is None


@pytest.mark.parametrize("version", [1, 2])
def test_abort_drops_what_was_not_sent(version: int) -> None:
    script = transactional(version, linger_ms=10_000)
    script.call(SEND)
    if version == 1:
        answer_partitions(script)
    sent = script.call(SEND)
    abort = script.call(calls.AbortTransaction())
    assert script.results[sent].name == "TRANSACTION_ABORTED"
    ask = script.reply(ApiKey.END_TXN, producer_id=7, producer_epoch=1)
    assert not ask.body.committed
    assert script.results[abort] is None


def test_a_failed_record_is_mended_by_an_abort_and_a_new_epoch() -> None:
    """KIP-360: with version 1, the producer asks for the next epoch itself."""
    script = transactional(1)
    sent = script.call(SEND)
    answer_partitions(script)
    script.reply_produce(error=ErrorCode.INVALID_RECORD)
    assert script.results[sent].name == "INVALID_RECORD"
    with pytest.raises(ClientError, match="INVALID_RECORD"):
        script.ok(calls.CommitTransaction())
    with pytest.raises(ClientError, match="INVALID_RECORD"):
        script.ok(SEND)
    abort = script.call(calls.AbortTransaction())
    script.reply(ApiKey.END_TXN)
    ask = script.reply(ApiKey.INIT_PRODUCER_ID, producer_id=7, producer_epoch=1)
    assert (ask.body.producer_id, ask.body.producer_epoch) == (7, 0)
    assert script.results[abort] is None
    script.ok(calls.BeginTransaction())
    script.call(SEND)
    answer_partitions(script)
    batch = script.produced(script.take(ApiKey.PRODUCE))[0]
    assert (batch.producer_epoch, batch.base_sequence) == (1, 0)


def test_a_partition_that_is_refused_is_mended_by_an_abort_without_an_end() -> None:
    script = transactional(1)
    sent = script.call(SEND)
    answer_partitions(script, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert script.results[sent].name == "TOPIC_AUTHORIZATION_FAILED"
    abort = script.call(calls.AbortTransaction())
    assert not script.waits_for(ApiKey.END_TXN), "the coordinator knows of no transaction"
    script.reply(ApiKey.INIT_PRODUCER_ID, producer_id=7, producer_epoch=1)
    assert script.results[abort] is None


@pytest.mark.parametrize("error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED])
def test_a_fenced_producer_can_only_be_closed(error: ErrorCode) -> None:
    script = transactional(1)
    sent = script.call(SEND)
    answer_partitions(script, error)
    assert script.results[sent].fatal
    for call in (SEND, calls.AbortTransaction(), calls.BeginTransaction()):
        with pytest.raises(ClientError) as refused:
            script.ok(call)
        assert refused.value.fatal
    assert script.ok(calls.Close()) is None


def test_markers_of_the_last_transaction_are_waited_for_briefly() -> None:
    script = transactional(1)
    script.call(SEND)
    answer_partitions(script, ErrorCode.CONCURRENT_TRANSACTIONS)
    script.wait(19)
    assert not script.waits_for(ApiKey.ADD_PARTITIONS_TO_TXN)
    script.wait(1)
    answer_partitions(script)
    assert script.waits_for(ApiKey.PRODUCE)


OFFSETS = calls.SendOffsetsToTransaction(
    {TopicPartition("t", 0): OffsetAndMetadata(5)}, ConsumerGroupMetadata("g", 3, "member")
)


def answer_offsets(script: Script, error: int = 0) -> Any:
    of = response_definition(ApiKey.TXN_OFFSET_COMMIT)
    row = of.struct("TxnOffsetCommitResponsePartition", partition_index=0, error_code=error)
    topic = of.struct("TxnOffsetCommitResponseTopic", name="t", partitions=[row])
    ask = script.wait_for(ApiKey.TXN_OFFSET_COMMIT)
    script.answer(ask, topics=[topic])
    return ask


@pytest.mark.parametrize("version", [1, 2])
def test_offsets_become_part_of_the_transaction(version: int) -> None:
    script = transactional(version)
    call_id = script.call(OFFSETS)
    if version == 1:
        assert script.reply(ApiKey.ADD_OFFSETS_TO_TXN).body.group_id == "g"
    answer_coordinator(script)
    ask = answer_offsets(script)
    assert ask.api_version == (4 if version == 1 else 5)
    assert (ask.body.generation_id, ask.body.member_id) == (3, "member")
    assert script.results[call_id] is None


def test_offsets_of_a_member_that_was_evicted_are_mended_by_an_abort() -> None:
    """KIP-447: the generation fences a consumer which is none any more."""
    script = transactional(2)
    call_id = script.call(OFFSETS)
    answer_coordinator(script)
    answer_offsets(script, ErrorCode.ILLEGAL_GENERATION)
    assert script.results[call_id].name == "ILLEGAL_GENERATION"
    abort = script.call(calls.AbortTransaction())
    script.reply(ApiKey.END_TXN, producer_id=7, producer_epoch=1)
    assert script.results[abort] is None


def test_closing_aborts_what_is_open() -> None:
    script = transactional(2)
    script.call(SEND)
    script.reply_produce()
    close = script.call(calls.Close())
    assert not script.reply(ApiKey.END_TXN, producer_id=7, producer_epoch=1).body.committed
    assert script.results[close] is None


def test_calls_out_of_order_are_refused() -> None:
    script = Script(Producer, {"transactional.id": "x"})
    for call in (SEND, calls.BeginTransaction(), calls.CommitTransaction(), OFFSETS):
        with pytest.raises(IllegalState):
            script.ok(call)
    plain = Script(Producer, {})
    with pytest.raises(IllegalState, match=r"transactional\.id"):
        plain.ok(calls.InitTransactions())


def test_every_state_but_the_last_can_end_in_a_fatal_error() -> None:
    for state in State:
        if state is not State.FATAL_ERROR:
            assert next_state(state, Move.FATAL_ERROR) is State.FATAL_ERROR
    assert PRODUCER[State.FATAL_ERROR] == {}
    with pytest.raises(IllegalState, match="begin_transaction cannot be called"):
        next_state(State.UNINITIALIZED, Move.BEGIN)
