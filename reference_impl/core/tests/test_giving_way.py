"""A long request lets others have their turn, and is judged by what it finds after them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reference_impl.core.node import never
from reference_impl.core.partitions.record_walk import STEP_RECORDS
from reference_impl.core.tests.world import World
from reference_impl.wire import (
    ApiKey,
    Compression,
    ErrorCode,
    Record,
    RecordBatch,
    Struct,
    request_definition,
)
from reference_impl.wire.batches.compression import PIECE_BYTES

TURNS_TO_FIRST = 4
"""The turns of a request for one partition that finds the first record of a batch."""
MANY = [str(n) for n in range(3 * STEP_RECORDS)]


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t")
    return world


def begin(world: World, attributes: int = 0, client: int = 1) -> int:
    """Send a large batch, and return the number of its answer."""
    body = world.produce_body("t", world.batch(*MANY, attributes=attributes))
    return begin_long(world, ApiKey.PRODUCE, 9, body, client)


def begin_long(world: World, api: ApiKey, version: int, body: Struct, client: int = 1) -> int:
    """Send a request that gives way wherever it may. Return the number of its answer."""
    world.node.must_give_way = lambda: True
    number = world.send(api, version, body, client)
    world.node.must_give_way = never
    return number


def finish(world: World, number: int, client: int = 1) -> ErrorCode:
    """Go on until it is answered; the error of its partition."""
    go_on(world, client)
    answer = world.answer_to(number)
    assert answer is not None
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def go_on(world: World, client: int = 1) -> int:
    """Go on until there is nothing left to do. Return the number of turns."""
    turns = 0
    world.node.must_give_way = lambda: True
    while client in world.gave_way:
        world.go_on(client)
        turns += 1
    world.node.must_give_way = never
    return turns


@pytest.mark.parametrize("codec", list(Compression))
def test_a_large_batch_gives_way_and_is_appended(world: World, codec: Compression) -> None:
    number = begin(world, codec)
    assert world.gave_way == [1]
    assert finish(world, number) is ErrorCode.NONE
    assert world.read_all("t") == MANY


def test_others_are_served_meanwhile_and_whole_batches_follow_each_other(world: World) -> None:
    number = begin(world)
    assert world.produce("t", "between").base_offset == 0
    assert finish(world, number) is ErrorCode.NONE
    assert world.read_all("t") == ["between", *MANY]


def test_a_topic_that_is_deleted_meanwhile_is_unknown(world: World) -> None:
    number = begin(world)
    of = request_definition(ApiKey.DELETE_TOPICS)
    body = of.new(topics=[of.struct("DeleteTopicState", name="t")], timeout_ms=1000)
    world.ask(ApiKey.DELETE_TOPICS, 6, body, client=2)
    assert finish(world, number) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_configuration_that_changes_meanwhile_counts(world: World) -> None:
    number = begin(world, Compression.GZIP)
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    change = of.struct("AlterableConfig", name="max.message.bytes", config_operation=0, value="9")
    row = of.struct("AlterConfigsResource", resource_type=2, resource_name="t", configs=[change])
    world.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, of.new(resources=[row]), client=2)
    assert finish(world, number) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_client_that_leaves_meanwhile_has_nothing_appended(world: World) -> None:
    begin(world)
    world.disconnect(1)
    world.go_on(1)
    assert not world.gave_way
    assert world.read_all("t") == []


def test_a_host_that_does_not_ask_for_it_is_answered_at_once(world: World) -> None:
    assert world.produce("t", *MANY).error_code == 0
    assert not world.gave_way


def test_a_batch_is_rewritten_in_the_codec_of_its_topic_in_steps(world: World) -> None:
    world.create_topic("zipped", compression_type="lz4")
    body = world.produce_body("zipped", world.batch(*MANY, attributes=Compression.GZIP))
    number = begin_long(world, ApiKey.PRODUCE, 9, body)
    assert finish(world, number) is ErrorCode.NONE
    records = world.fetch("zipped").records
    assert records[22] & 7 == Compression.LZ4
    assert world.read_all("zipped") == MANY


def test_each_piece_of_a_batch_that_is_rewritten_is_a_step(world: World) -> None:
    """At zstd's level 22 a piece of 64 KiB may take 200 ms."""
    configs = {"compression_type": "zstd", "compression_zstd_level": "22"}
    world.create_topic("slow", **configs)
    value = "mouse" * 1000
    body = world.produce_body("slow", world.batch(*[value] * 180))
    number = begin_long(world, ApiKey.PRODUCE, 9, body)
    assert go_on(world) >= 180 * len(value) // PIECE_BYTES
    answer = world.answer_to(number)
    assert answer is not None
    assert world.read_all("slow") == [value] * 180


def search_for(world: World, timestamp: int) -> int:
    """Ask for the first record that is not older. Return the number of the answer."""
    of = request_definition(ApiKey.LIST_OFFSETS)
    row = of.struct("ListOffsetsPartition", partition_index=0, timestamp=timestamp)
    topic = of.struct("ListOffsetsTopic", name="t", partitions=[row])
    body = of.new(replica_id=-1, topics=[topic])
    return begin_long(world, ApiKey.LIST_OFFSETS, 7, body)


def found(world: World, number: int) -> tuple[int, int]:
    """Return the error and the offset of an answer to `search_for`."""
    answer = world.answer_to(number)
    assert answer is not None
    row = answer.topics[0].partitions[0]
    return row.error_code, row.offset


@pytest.fixture
def timed(world: World) -> World:
    """Provide a large batch of which the last record is 1 ms younger than the others."""
    made_ms = world.now_ms
    records = [Record(name.encode(), offset_delta=n) for n, name in enumerate(MANY)]
    records[-1] = replace(records[-1], timestamp_delta=1)
    batch = RecordBatch(records, attributes=Compression.GZIP, base_timestamp=made_ms)
    assert world.produce("t", raw=batch.encode()).error_code == 0
    return world


@pytest.mark.parametrize("symbolic", [True, False])
def test_a_search_for_a_time_gives_way_within_a_batch(timed: World, symbolic: bool) -> None:
    number = search_for(timed, -3 if symbolic else timed.now_ms + 1)
    assert go_on(timed) > TURNS_TO_FIRST
    assert found(timed, number) == (0, len(MANY) - 1)


def test_a_search_for_a_time_ends_at_the_record(timed: World) -> None:
    number = search_for(timed, timed.now_ms)
    assert go_on(timed) == TURNS_TO_FIRST
    assert found(timed, number) == (0, 0)


def test_a_topic_that_is_deleted_during_a_search_is_unknown(timed: World) -> None:
    number = search_for(timed, -3)
    of = request_definition(ApiKey.DELETE_TOPICS)
    body = of.new(topics=[of.struct("DeleteTopicState", name="t")], timeout_ms=1000)
    timed.ask(ApiKey.DELETE_TOPICS, 6, body, client=2)
    go_on(timed)
    assert found(timed, number) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_no_answer_names_more_wrong_records_than_a_client_can_use(world: World) -> None:
    raw = world.batch(*["x"] * 12_000, base_timestamp=world.now_ms + 10**10)
    row = world.produce("t", raw=raw)
    assert row.error_code == ErrorCode.INVALID_TIMESTAMP
    assert len(row.record_errors) == 10_000


def test_many_names_in_a_metadata_request_give_way(world: World) -> None:
    of = request_definition(ApiKey.METADATA)
    names = ["t", *(f"none-{n}" for n in range(2_000))]
    topics = [of.struct("MetadataRequestTopic", name=name) for name in names]
    body = of.new(topics=topics, allow_auto_topic_creation=False)
    number = begin_long(world, ApiKey.METADATA, 9, body)
    assert go_on(world) >= len(names)
    answer = world.answer_to(number)
    assert answer is not None
    assert [row.name for row in answer.topics] == names


def test_a_resource_that_is_named_hundreds_of_times_is_described_ten_times(world: World) -> None:
    """Ten kilobytes would otherwise ask for thirty megabytes of the broker's configuration."""
    of = request_definition(ApiKey.DESCRIBE_CONFIGS)
    wanted = [("1", 4), ("t", 2), *[("1", 4)] * 500, *[(f"none-{n}", 2) for n in range(2_000)]]
    rows = [
        of.struct("DescribeConfigsResource", resource_type=kind, resource_name=name)
        for name, kind in wanted
    ]
    answer = world.ask(ApiKey.DESCRIBE_CONFIGS, 4, of.new(resources=rows))
    assert [row.resource_name for row in answer.results[:3]] == ["1", "t", "1"]
    assert len(answer.results) == 10 + 1 + 2_000


def test_many_producers_of_a_partition_are_described_in_steps(world: World) -> None:
    for number in range(50):
        world.produce("t", "a", producer_id=number, producer_epoch=0, base_sequence=0)
    of = request_definition(ApiKey.DESCRIBE_PRODUCERS)
    topic = of.struct("TopicRequest", name="t", partition_indexes=[0])
    number = begin_long(world, ApiKey.DESCRIBE_PRODUCERS, 0, of.new(topics=[topic]))
    assert go_on(world) >= 50
    answer = world.answer_to(number)
    assert answer is not None
    assert len(answer.topics[0].partitions[0].active_producers) == 50
