"""Requests of administrators: where partitions lie, who leads, what has a configuration."""

from __future__ import annotations

from typing import Any

import pytest

from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

NOT_NEEDED, UNKNOWN = ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def elect(
    world: World,
    version: int,
    wanted: dict[str, list[int]] | None,
    kind: int = 0,
    timeout_ms: int = 20_000,
) -> Struct:
    of = request_definition(ApiKey.ELECT_LEADERS)
    topics = wanted and [
        of.struct("TopicPartitions", topic=topic, partitions=indexes)
        for topic, indexes in wanted.items()
    ]
    return world.call(
        ApiKey.ELECT_LEADERS,
        version,
        topic_partitions=topics,
        election_type=kind,
        timeout_ms=timeout_ms,
    )


@pytest.mark.parametrize("kind", [0, 1])
def test_no_election_is_needed_where_one_node_leads(kind: int) -> None:
    world = World()
    world.create_topic("t", 2)
    answer = elect(world, 2, {"t": [1, 7], "missing": [0]}, kind)
    found = {
        topic.topic: [(row.partition_id, row.error_code) for row in topic.partition_result]
        for topic in answer.replica_election_results
    }
    assert found == {"t": [(1, NOT_NEEDED), (7, UNKNOWN)], "missing": [(0, UNKNOWN)]}
    assert answer.error_code == 0


def test_all_partitions_may_be_asked_for() -> None:
    world = World()
    world.create_topic("b")
    world.create_topic("a")
    answer = elect(world, 2, None)
    topics = [(t.topic, t.partition_result) for t in answer.replica_election_results]
    assert topics == [("a", []), ("b", [])]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_an_election_without_time_times_out(timeout_ms: int) -> None:
    world = World()
    world.create_topic("t")
    code = ErrorCode.REQUEST_TIMED_OUT
    answer = elect(world, 2, {"t": [0, 7]}, 5, timeout_ms)
    (topic,) = answer.replica_election_results
    rows = [(row.partition_id, row.error_code) for row in topic.partition_result]
    assert (answer.error_code, rows) == (code, [(0, code), (7, code)])
    assert elect(world, 2, None, 0, timeout_ms).error_code == code
    assert elect(world, 2, {}, 0, timeout_ms).error_code == 0, "nothing needs no time"


@pytest.mark.parametrize(
    ("path", "topic", "index", "code"),
    [
        ("data", "t", 0, 0),
        ("data", "t", 7, UNKNOWN),
        ("data", "missing", 0, UNKNOWN),
        ("elsewhere", "t", 0, ErrorCode.LOG_DIR_NOT_FOUND),
        ("elsewhere", "missing", 0, ErrorCode.LOG_DIR_NOT_FOUND),
    ],
)
def test_a_replica_can_only_lie_where_it_lies(path: str, topic: str, index: int, code: int) -> None:
    world = World()
    world.create_topic("t")
    of = request_definition(ApiKey.ALTER_REPLICA_LOG_DIRS)
    entry = of.struct("AlterReplicaLogDirTopic", name=topic, partitions=[index])
    wanted = of.struct("AlterReplicaLogDir", path=path, topics=[entry])
    (found,) = world.call(ApiKey.ALTER_REPLICA_LOG_DIRS, 2, dirs=[wanted]).results
    rows = [(row.partition_index, row.error_code) for row in found.partitions]
    assert (found.topic_name, rows) == (topic, [(index, code)])


def test_an_unknown_kind_of_election_is_refused_everywhere() -> None:
    world = World()
    world.create_topic("t")
    answer = elect(world, 2, {"t": [0]}, kind=5)
    row = answer.replica_election_results[0].partition_result[0]
    assert (answer.error_code, row.error_code) == (ErrorCode.INVALID_REQUEST,) * 2


@pytest.mark.parametrize(
    ("topic", "index", "replicas", "code"),
    [
        ("t", 0, [1], ErrorCode.NONE),
        ("t", 0, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ("t", 0, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [2], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 1, [1], UNKNOWN),
        ("missing", 0, [1], UNKNOWN),
    ],
)
def test_a_partition_can_only_be_where_it_is(
    topic: str, index: int, replicas: list[int] | None, code: ErrorCode
) -> None:
    world = World()
    world.create_topic("t")
    before = world.node.broker.quorum.end_offset
    of = request_definition(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
    row = of.struct("ReassignablePartition", partition_index=index, replicas=replicas)
    wanted = of.struct("ReassignableTopic", name=topic, partitions=[row])
    answer = world.call(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 1, topics=[wanted])
    found = answer.responses[0].partitions[0]
    assert (answer.error_code, found.partition_index, found.error_code) == (0, index, code)
    assert world.node.broker.quorum.end_offset == before
    listed = world.call(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, topics=None)
    assert (listed.error_code, listed.topics) == (0, [])


def log_dirs(world: World, wanted: dict[str, list[int]] | None) -> dict[str, dict[int, int]]:
    """Return topic -> partition -> size."""
    of = request_definition(ApiKey.DESCRIBE_LOG_DIRS)
    topics = (
        None
        if wanted is None
        else [
            of.struct("DescribableLogDirTopic", topic=topic, partitions=indexes)
            for topic, indexes in wanted.items()
        ]
    )
    answer = world.call(ApiKey.DESCRIBE_LOG_DIRS, 4, topics=topics)
    assert [(d.error_code, d.log_dir) for d in answer.results] == [(0, "data")]
    return {
        topic.name: {row.partition_index: row.partition_size for row in topic.partitions}
        for topic in answer.results[0].topics
    }


def test_the_data_directory_says_how_large_its_partitions_are() -> None:
    world = World()
    world.create_topic("t", 2)
    world.create_topic("u")
    data = world.batch("a", "b")
    world.produce("t", raw=data, partition=1)
    assert log_dirs(world, None) == {"t": {0: 0, 1: len(data)}, "u": {0: 0}}
    assert log_dirs(world, {"t": [1, 1, 9], "missing": [0]}) == {"t": {1: len(data)}}
    assert log_dirs(world, {}) == {}


def test_the_space_of_the_volume_is_told() -> None:
    world = World()
    assert volume(world) == (-1, -1), "nobody knows it"
    world.storage.capacity_bytes = 1_000_000
    world.create_topic("t")
    total, usable = volume(world)
    data = world.batch("a")
    world.produce("t", raw=data)
    assert total == 1_000_000
    used = usable - volume(world)[1]
    assert used >= len(data), "the batch, and what stands beside it in indexes"


def volume(world: World) -> tuple[int, int]:
    """Return (total, usable) bytes."""
    (found,) = world.call(ApiKey.DESCRIBE_LOG_DIRS, 4, topics=None).results
    return found.total_bytes, found.usable_bytes


@pytest.mark.parametrize(
    ("version", "types", "code", "found"),
    [
        (1, [], 0, [(4, "1"), (2, "t")]),
        (1, [2], 0, [(2, "t")]),
        (1, [8, 16, 32], 0, []),
        (1, [2, 99], ErrorCode.UNSUPPORTED_VERSION, []),
        (0, [], 0, []),
    ],
)
def test_resources_with_a_configuration_are_listed(
    version: int, types: list[int], code: int, found: list[Any]
) -> None:
    world = World()
    world.create_topic("t")
    answer = world.call(ApiKey.LIST_CONFIG_RESOURCES, version, resource_types=types)
    rows = [(row.resource_type, row.resource_name) for row in answer.config_resources]
    assert (answer.error_code, rows) == (code, found)


def page(
    world: World, names: list[str], limit: int, cursor: tuple[str, int] | None
) -> tuple[list[tuple[str, list[int]]], tuple[str, int] | None, set[int]]:
    """Return ([(topic, partitions)], next cursor, errors)."""
    of = request_definition(ApiKey.DESCRIBE_TOPIC_PARTITIONS)
    answer = world.call(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        0,
        topics=[of.struct("TopicRequest", name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor and of.struct("Cursor", topic_name=cursor[0], partition_index=cursor[1]),
    )
    following = answer.next_cursor
    return (
        [(t.name, [p.partition_index for p in t.partitions]) for t in answer.topics],
        following and (following.topic_name, following.partition_index),
        {t.error_code for t in answer.topics},
    )


def test_pages_of_topics_follow_their_cursor() -> None:
    world = World()
    world.create_topic("a", 3)
    world.create_topic("b", 2)
    assert page(world, [], 2, None) == ([("a", [0, 1])], ("a", 2), {0})
    assert page(world, [], 2, ("a", 2)) == ([("a", [2]), ("b", [0])], ("b", 1), {0})
    assert page(world, ["b", "a"], 2, ("b", 1)) == ([("b", [1])], None, {0})
    # Of all topics the one under the cursor may have been deleted meanwhile.
    assert page(world, [], 2, ("aa", 1)) == ([("b", [0, 1])], None, {0})


@pytest.mark.parametrize("cursor", [("a", -1), ("c", 0), ("aa", 0)])
def test_a_cursor_beside_what_is_asked_for_is_refused(cursor: tuple[str, int]) -> None:
    world = World()
    world.create_topic("a", 3)
    world.create_topic("b")
    refused = page(world, ["a", "b"], 2, cursor)
    assert refused == ([("a", []), ("b", [])], None, {ErrorCode.INVALID_REQUEST})


def quorum(world: World, topic: str, *indexes: int) -> tuple[list[Struct], list[Struct]]:
    """Return (nodes, partitions) of the answer."""
    of = request_definition(ApiKey.DESCRIBE_QUORUM)
    partitions = [of.struct("PartitionData", partition_index=index) for index in indexes]
    wanted = of.struct("TopicData", topic_name=topic, partitions=partitions)
    answer = world.call(ApiKey.DESCRIBE_QUORUM, 2, topics=[wanted])
    assert answer.error_code == 0
    return answer.nodes, answer.topics[0].partitions


def test_the_metadata_quorum_is_one_voter() -> None:
    world = World()
    world.create_topic("t")
    nodes, (row,) = quorum(world, "__cluster_metadata", 0)
    end_offset = world.node.broker.quorum.end_offset
    assert [node.node_id for node in nodes] == [1]
    assert (row.error_code, row.leader_id, row.high_watermark) == (0, 1, end_offset)
    voters = [(v.replica_id, v.log_end_offset) for v in row.current_voters]
    assert (voters, row.observers) == ([(1, end_offset)], [])
    epoch = row.leader_epoch
    world.kill()
    assert quorum(world, "__cluster_metadata", 0)[1][0].leader_epoch > epoch


@pytest.mark.parametrize(("topic", "indexes"), [("t", [0]), ("__cluster_metadata", [0, 1])])
def test_nothing_else_has_a_quorum(topic: str, indexes: list[int]) -> None:
    world = World()
    world.create_topic("t")
    nodes, rows = quorum(world, topic, *indexes)
    assert (nodes, [row.error_code for row in rows]) == ([], [UNKNOWN] * len(indexes))
