"""The producer, with a broker played by the test: what virtual time does not come across."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.client import calls
from reference_impl.client.errors import ClientError, SendError
from reference_impl.client.producer import Producer
from reference_impl.client.rules.numbering import SEQUENCES
from reference_impl.client.tests.script import Script
from reference_impl.client.values import ProducerRecord, RecordMetadata, TopicPartition
from reference_impl.wire import ApiKey, Compression, ErrorCode, response_definition


def producer(**config: Any) -> Script:
    return Script(Producer, {name.replace("_", "."): value for name, value in config.items()})


def idempotent(**config: Any) -> Script:
    """Return a producer with producer id 7 and nothing in flight."""
    script = producer(**{"linger_ms": 0, **config})
    first = script.call(send("first"))
    script.reply(ApiKey.INIT_PRODUCER_ID, producer_id=7, producer_epoch=0)
    script.answer_produce(script.wait_for(ApiKey.PRODUCE))
    assert isinstance(script.results[first], RecordMetadata)
    return script


def send(value: str, partition: int | None = 0, key: bytes | None = None) -> calls.Send:
    return calls.Send(ProducerRecord("t", value.encode(), key, partition))


def texts(script: Script, partition: int = 0) -> list[list[str]]:
    """Return the values of each Produce request that waits for its answer."""
    return [
        [(record.value or b"").decode() for record in script.produced(ask)[partition].records]
        for ask in script.waits_for(ApiKey.PRODUCE)
    ]


def test_records_linger_and_leave_together() -> None:
    script = producer(linger_ms=20, enable_idempotence=False)
    script.call(send("a"))
    script.wait(10)
    script.call(send("b"))
    script.wait(9)
    assert texts(script) == []
    script.wait(1)
    assert texts(script) == [["a", "b"]]


def test_a_full_batch_does_not_linger() -> None:
    script = producer(linger_ms=1_000, batch_size=300, enable_idempotence=False)
    for number in range(4):
        script.call(send(str(number) * 80))
    assert texts(script) == [["0" * 80, "1" * 80]]


def test_flush_does_not_linger_and_waits_for_what_was_sent_before() -> None:
    script = producer(linger_ms=1_000, enable_idempotence=False)
    script.call(send("a"))
    flush = script.call(calls.Flush())
    assert texts(script) == [["a"]]
    assert flush not in script.results
    script.reply_produce()
    assert script.results[flush] is None


def test_at_most_five_requests_are_in_flight() -> None:
    script = idempotent()
    for number in range(8):
        script.call(send(str(number)))
    assert len(script.waits_for(ApiKey.PRODUCE)) == 5
    script.reply_produce()
    assert texts(script)[-1] == ["5", "6", "7"]


def test_buffer_memory_holds_back_what_does_not_fit_and_max_block_ms_refuses_it() -> None:
    script = producer(buffer_memory=300, max_block_ms=50, enable_idempotence=False, linger_ms=0)
    numbers = [script.call(send("x" * 90)) for _ in range(4)]
    assert [len(each) for each in texts(script)] == [1, 1]
    script.reply_produce()
    assert [len(each) for each in texts(script)] == [1, 1]
    script.wait(50)
    error = script.results[numbers[3]]
    assert isinstance(error, SendError)
    assert "no room in buffer.memory" in str(error)
    assert error.attempts == 0


def test_a_record_above_max_request_size_is_refused_at_once() -> None:
    script = producer(max_request_size=1_000)
    result = script.results[script.call(send("x" * 1_000))]
    assert isinstance(result, SendError)
    assert result.name == "MESSAGE_TOO_LARGE"


def test_delivery_timeout_bounds_lingering_retrying_and_waiting_for_answers() -> None:
    script = idempotent(delivery_timeout_ms=500, request_timeout_ms=400)
    call_id = script.call(send("a"))
    script.wait(100)
    script.reply_produce(error=ErrorCode.NOT_ENOUGH_REPLICAS)
    script.wait(350)
    assert texts(script) == [["a"]]
    assert call_id not in script.results
    script.wait(50)
    assert isinstance(script.results[call_id], SendError)
    assert script.results[call_id].attempts == 2


def test_a_retry_keeps_its_sequence_and_nothing_overtakes_it() -> None:
    script = idempotent()
    script.call(send("a"))
    script.call(send("b"))
    a, b = script.take(ApiKey.PRODUCE), script.take(ApiKey.PRODUCE)
    script.answer_produce(a, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    script.answer_produce(b, error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    again = script.wait_for(ApiKey.PRODUCE)
    assert script.produced(again)[0].base_sequence == 1
    script.wait(2_000)
    assert texts(script) == []
    script.answer_produce(again, base_offset=1)
    assert script.produced(script.wait_for(ApiKey.PRODUCE))[0].base_sequence == 2


def test_a_lost_sequence_starts_over_under_a_higher_epoch() -> None:
    """KIP-360: the broker has forgotten what it had acknowledged."""
    script = idempotent()
    script.call(send("a"))
    script.call(send("b"))
    first = script.take(ApiKey.PRODUCE)
    script.answer_produce(first, error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    script.reply_produce(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    batch = script.produced(script.wait_for(ApiKey.PRODUCE))[0]
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 1, 0)


def test_a_batch_that_timed_out_in_flight_leaves_a_gap_which_a_new_epoch_closes() -> None:
    script = idempotent(delivery_timeout_ms=500, request_timeout_ms=400)
    lost = script.call(send("a"))
    script.lose(script.take(ApiKey.PRODUCE))
    script.wait_for(ApiKey.PRODUCE)
    script.wait(500)
    assert script.results[lost].name == "TIMEOUT"
    script.call(send("b"))
    batch = script.produced(script.wait_for(ApiKey.PRODUCE))[0]
    assert (batch.producer_epoch, batch.base_sequence) == (1, 0)


def about_to_wrap(last_acked_sequence: int, **config: Any) -> Script:
    """Return an idempotent producer whose last acknowledged record had this sequence."""
    script = idempotent(**config)
    numbers = script.machine._sequences.of(TopicPartition("t", 0))  # type: ignore[attr-defined]
    numbers.last_acked_sequence = last_acked_sequence
    numbers.next_sequence = last_acked_sequence + 1
    return script


def test_batches_on_both_sides_of_the_wrap_are_sent_again_in_their_order() -> None:
    script = about_to_wrap(SEQUENCES - 2)
    calls_made = [script.call(send(text)) for text in "ab"]
    for _ in calls_made:
        script.reply_produce(error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    for base_offset, sequence in ((1, SEQUENCES - 1), (2, 0)):
        again = script.wait_for(ApiKey.PRODUCE)
        assert script.produced(again)[0].base_sequence == sequence
        script.answer_produce(again, base_offset)
    assert [script.results[number].offset for number in calls_made] == [1, 2]


def test_a_sequence_that_is_lost_after_the_wrap_starts_over_at_once() -> None:
    script = about_to_wrap(SEQUENCES - 2)
    for base_offset, text in enumerate("ab"):
        script.call(send(text))
        script.reply_produce(base_offset)
    script.call(send("c"))
    script.reply_produce(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    batch = script.produced(script.wait_for(ApiKey.PRODUCE))[0]
    assert (batch.producer_epoch, batch.base_sequence) == (1, 0)


def test_a_batch_after_two_of_unknown_outcome_starts_over_across_the_wrap() -> None:
    script = about_to_wrap(SEQUENCES - 3, delivery_timeout_ms=500, request_timeout_ms=500)
    lost = [script.call(send(text)) for text in "ab"]
    script.wait(300)
    script.call(send("c"))
    script.wait(200)
    assert [script.results[number].name for number in lost] == ["TIMEOUT", "TIMEOUT"]
    script.answer_produce(
        script.wait_for(ApiKey.PRODUCE), error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    batch = script.produced(script.wait_for(ApiKey.PRODUCE, 200))[0]
    assert (batch.producer_epoch, batch.base_sequence) == (1, 0)


def test_a_batch_too_large_for_the_broker_is_split() -> None:
    script = idempotent(linger_ms=10)
    numbers = [script.call(send(text)) for text in "abcd"]
    script.wait(10)
    script.reply_produce(error=ErrorCode.MESSAGE_TOO_LARGE)
    found = []
    for base_offset in (10, 12):
        batch = script.produced(script.reply_produce(base_offset))[0]
        found.append((batch.base_sequence, len(batch.records)))
    assert found == [(1, 2), (3, 2)]
    assert [script.results[number].offset for number in numbers] == [10, 11, 12, 13]


def test_a_single_record_too_large_fails() -> None:
    script = idempotent()
    call_id = script.call(send("a"))
    script.reply_produce(error=ErrorCode.MESSAGE_TOO_LARGE)
    assert script.results[call_id].name == "MESSAGE_TOO_LARGE"


def test_a_duplicate_is_a_success_without_an_offset() -> None:
    script = idempotent()
    call_id = script.call(send("a"))
    script.reply_produce(error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    assert script.results[call_id].offset == -1


def test_a_request_that_is_not_answered_in_time_costs_its_connection() -> None:
    script = idempotent(request_timeout_ms=100)
    script.call(send("a"))
    script.wait(100)
    assert script.closed == 1
    again = script.produced(script.wait_for(ApiKey.PRODUCE))[0]
    assert again.base_sequence == 1


def test_a_throttled_broker_is_left_alone_for_as_long_as_it_says() -> None:
    """KIP-219: the answer has come at once, the next question must wait."""
    script = idempotent()
    first = script.call(send("a"))
    ask = script.take(ApiKey.PRODUCE)
    of = response_definition(ApiKey.PRODUCE)
    row = of.struct("PartitionProduceResponse", index=0, base_offset=1)
    topic = of.struct("TopicProduceResponse", name="t", partition_responses=[row])
    script.answer(ask, responses=[topic], throttle_time_ms=70)
    assert script.results[first].offset == 1
    script.call(send("b"))
    script.wait(69)
    assert texts(script) == []
    script.wait(1)
    assert texts(script) == [["b"]]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_codec_stands_in_the_batch(codec: str) -> None:
    script = idempotent(compression_type=codec)
    script.call(send("a"))
    batch = script.produced(script.take(ApiKey.PRODUCE))[0]
    assert batch.compression is Compression[codec.upper()]


def test_records_without_a_key_stay_together_until_a_batch_is_full() -> None:
    script = producer(batch_size=1_000, linger_ms=10_000, enable_idempotence=False)
    script.topics["t"] = 8
    for _ in range(40):
        script.call(send("x" * 80, partition=None))
    script.call(calls.Flush())
    by_partition: dict[int, int] = {}
    while asks := script.waits_for(ApiKey.PRODUCE):
        for index, batch in script.produced(asks[0]).items():
            by_partition[index] = by_partition.get(index, 0) + len(batch.records)
        script.reply_produce()
    assert sum(by_partition.values()) == 40
    assert all(count % 10 == 0 for count in by_partition.values())


def test_round_robin_goes_around_keys_or_not() -> None:
    name = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    script = producer(partitioner_class=name, enable_idempotence=False, linger_ms=0)
    for key in (b"k", b"k", None, None):
        script.call(send("v", partition=None, key=key))
    asks = [script.produced(ask) for ask in script.waits_for(ApiKey.PRODUCE)]
    assert [index for batches in asks for index in batches] == [0, 1, 0, 1]


def test_a_partition_which_does_not_exist_is_named() -> None:
    script = producer()
    result = script.results[script.call(send("a", partition=9))]
    assert str(result) == "t has no partition 9; it has 0 to 1"


def test_a_topic_that_does_not_come_is_a_timeout() -> None:
    script = producer(max_block_ms=500)
    call_id = script.call(calls.Send(ProducerRecord("nowhere", b"v")))
    script.wait(500)
    assert script.results[call_id].name == "TIMEOUT"


def test_close_sends_what_lingers() -> None:
    script = producer(linger_ms=10_000, enable_idempotence=False)
    sent = script.call(send("a"))
    close = script.call(calls.Close())
    script.reply_produce()
    assert isinstance(script.results[sent], RecordMetadata)
    assert script.results[close] is None
    assert isinstance(script.results[script.call(send("b"))], ClientError)


def test_close_gives_up_when_its_time_is_over() -> None:
    script = producer(linger_ms=0, enable_idempotence=False)
    sent = script.call(send("a"))
    close = script.call(calls.Close(100))
    script.wait(100)
    assert script.results[sent].name == "PRODUCER_CLOSED"
    assert script.results[close] is None
