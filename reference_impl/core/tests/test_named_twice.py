"""Topics and partitions that one request names twice: what Apache Kafka 4.3.1 answers, row by
row."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

Rows = list[tuple[int, int]]
"""Partition and number: the timestamp asked for, the offset before which to delete, or to read."""
OUT_OF_RANGE, TWICE = ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.INVALID_REQUEST


@pytest.fixture
def world() -> World:
    """Provide a topic of two partitions, with three records in the first."""
    made = World()
    made.create_topic("t", 2)
    made.produce("t", "a", "b", "c")
    return made


def answered(world: World, api: ApiKey, version: int, topics: list[Rows], **fields: Any) -> Struct:
    """Send a request that names the topic once for each of these lists of rows."""
    of = request_definition(api)
    topic, partition, number = NAMES[api]
    rows = [
        of.struct(
            topic,
            **{"topic" if api is ApiKey.FETCH else "name": "t"},
            partitions=[
                of.struct(
                    partition,
                    **{
                        "partition" if api is ApiKey.FETCH else "partition_index": index,
                        number: value,
                    },
                )
                for index, value in named
            ],
        )
        for named in topics
    ]
    return world.call(api, version, topics=rows, **fields)


NAMES = {
    ApiKey.LIST_OFFSETS: ("ListOffsetsTopic", "ListOffsetsPartition", "timestamp"),
    ApiKey.DELETE_RECORDS: ("DeleteRecordsTopic", "DeleteRecordsPartition", "offset"),
    ApiKey.FETCH: ("FetchTopic", "FetchPartition", "fetch_offset"),
}


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ([[(0, -1), (0, -2)]], [(0, TWICE, -1)]),
        ([[(0, -1)], [(1, -1)]], [(0, 0, 3), (1, 0, 0)]),
        ([[(0, -1)], [(0, -2)]], [(0, TWICE, -1)]),
    ],
)
def test_offsets_of_a_partition_are_listed_once(
    world: World, topics: list[Rows], expected: list[tuple[int, int, int]]
) -> None:
    (topic,) = answered(world, ApiKey.LIST_OFFSETS, 11, topics).topics
    assert [(p.partition_index, p.error_code, p.offset) for p in topic.partitions] == expected


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ([[(0, 1), (0, 2)]], [(0, 0, 2)]),
        ([[(0, 3), (0, 1)]], [(0, 0, 1)]),
        ([[(0, 2)], [(1, 0)]], [(0, 0, 2), (1, 0, 0)]),
        ([[(0, 2)], [(0, 3)]], [(0, 0, 3)]),
    ],
)
def test_of_records_to_delete_the_last_row_counts(
    world: World, topics: list[Rows], expected: list[tuple[int, int, int]]
) -> None:
    (topic,) = answered(world, ApiKey.DELETE_RECORDS, 2, topics).topics
    found = [(p.partition_index, p.error_code, p.low_watermark) for p in topic.partitions]
    assert found == expected


@pytest.mark.parametrize("session_epoch", [-1, 0])
@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ([[(0, 0), (0, 7)]], [(0, OUT_OF_RANGE, -1)]),
        ([[(0, 7), (0, 0)]], [(0, 0, 3)]),
        ([[(0, 0)], [(1, 0)]], [(0, 0, 3), (1, 0, 0)]),
        ([[(0, 7), (1, 0)], [(0, 0)]], [(0, 0, 3), (1, 0, 0)]),
    ],
)
def test_of_partitions_to_fetch_the_last_row_counts(
    world: World, session_epoch: int, topics: list[Rows], expected: list[tuple[int, int, int]]
) -> None:
    fields = {"max_wait_ms": 0, "replica_id": -1, "session_epoch": session_epoch}
    (topic,) = answered(world, ApiKey.FETCH, 12, topics, **fields).responses
    found = [(p.partition_index, p.error_code, p.high_watermark) for p in topic.partitions]
    assert found == expected


def test_markers_name_a_topic_once(world: World) -> None:
    of = request_definition(ApiKey.WRITE_TXN_MARKERS)
    rows = [
        of.struct("WritableTxnMarkerTopic", name="t", partition_indexes=[index]) for index in (0, 1)
    ]
    marker = of.struct("WritableTxnMarker", producer_id=7, producer_epoch=0, topics=rows)
    (result,) = world.call(ApiKey.WRITE_TXN_MARKERS, 1, markers=[marker]).markers
    (topic,) = result.topics
    assert [(p.partition_index, p.error_code) for p in topic.partitions] == [(0, 0), (1, 0)]
