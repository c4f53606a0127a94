"""Play the answers of a broker to a consumer."""

from __future__ import annotations

from typing import Any

from reference_impl.client import calls
from reference_impl.client.consumer import Consumer
from reference_impl.client.tests.script import Script
from reference_impl.client.values import ConsumerRecord, TopicPartition
from reference_impl.wire import ApiKey, Record, RecordBatch, response_definition

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)
SUBSCRIBE = calls.Subscribe(frozenset({"t"}))
POLL = calls.Poll(10_000)


def consumer(**config: Any) -> Script:
    settings = {name.replace("_", "."): value for name, value in config.items()}
    return Script(Consumer, {"auto.offset.reset": "earliest", **settings})


def answer_fetch(script: Script, offset: int, *values: str, error: int = 0, epoch: int = -1) -> Any:
    """Return the same Fetch answer for partition 0 to every request."""
    of = response_definition(ApiKey.FETCH)
    records = [Record(value.encode()) for value in values]
    batch = RecordBatch(records, base_offset=offset, partition_leader_epoch=epoch)
    row = of.struct(
        "PartitionData",
        partition_index=0,
        error_code=error,
        high_watermark=offset + len(values),
        records=batch.encode() if values else b"",
    )
    topic = of.struct("FetchableTopicResponse", topic="t", partitions=[row])
    ask = script.wait_for(ApiKey.FETCH)
    script.answer(ask, responses=[topic], session_id=5)
    return ask


def answer_offsets(script: Script, offset: int, error: int = 0, epoch: int = -1) -> Any:
    """Answer ListOffsets for partition 0."""
    of = response_definition(ApiKey.LIST_OFFSETS)
    row = of.struct(
        "ListOffsetsPartitionResponse",
        partition_index=0,
        offset=offset,
        error_code=error,
        leader_epoch=epoch,
    )
    topic = of.struct("ListOffsetsTopicResponse", name="t", partitions=[row])
    ask = script.wait_for(ApiKey.LIST_OFFSETS)
    script.answer(ask, topics=[topic])
    return ask


def reading(**config: Any) -> Script:
    """Return a consumer without a group at offset 0 of partition 0."""
    script = consumer(**config)
    script.ok(calls.Assign(frozenset({ZERO})))
    assert script.asks == [], "nobody wants to know the position yet"
    position = script.call(calls.Position(ZERO))
    answer_offsets(script, 0)
    assert script.results[position] == 0
    return script


def offsets(result: list[ConsumerRecord]) -> list[int]:
    return [record.offset for record in result]
