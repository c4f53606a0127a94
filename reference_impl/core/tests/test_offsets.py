"""Committed offsets: who may commit and when, how long a commit lives, and where it is kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from reference_impl.core.groups.classic.states import State
from reference_impl.core.groups.offsets import CommittedOffset
from reference_impl.core.partitions.keyed_topic import partition_for
from reference_impl.core.tests.counting import counted
from reference_impl.core.tests.group_client import (
    COMMIT,
    Client,
    committed,
    new_world,
    stable_pair,
    state,
)
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, request_definition


@pytest.fixture
def world() -> World:
    return new_world()


def test_commits_without_a_group_make_an_empty_one(world: World) -> None:
    admin = Client(world, 9)
    assert admin.commit(3) == 0
    assert state(world) is State.EMPTY
    world.restart()
    assert committed(world) == 3


def test_a_group_with_members_takes_commits_of_members_only(world: World) -> None:
    one, _ = stable_pair(world)
    assert Client(world, 9).commit(3) == ErrorCode.UNKNOWN_MEMBER_ID
    assert one.commit(4) == 0
    assert committed(world) == 4


def test_commits_are_refused_between_the_generation_and_its_assignment(world: World) -> None:
    one = Client(world, 1)
    one.join()
    world.wait(0)
    one.take()
    assert one.commit(1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_to_an_unknown_group_with_a_generation_is_refused(world: World) -> None:
    one = Client(world, 1)
    one.member_id, one.generation = "m", 1
    assert one.commit(1) == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [("x" * 4097, ErrorCode.OFFSET_METADATA_TOO_LARGE), ("é" * 4096, ErrorCode.NONE)],
)
def test_metadata_of_too_many_characters_is_refused(
    world: World, metadata: str, expected: ErrorCode
) -> None:
    row = COMMIT.struct(
        "OffsetCommitRequestPartition", committed_offset=1, committed_metadata=metadata
    )
    topic = COMMIT.struct("OffsetCommitRequestTopic", name="t", partitions=[row])
    assert Client(world, 1).commit(1, topics=[topic]) == expected


@pytest.mark.parametrize("version", [7, 8, 10])
@pytest.mark.parametrize("named", ["partitions", "topics", "groups"])
def test_a_partition_that_is_named_hundreds_of_times_is_told_ten_times(
    world: World, version: int, named: str
) -> None:
    """Each row may have 4 KB of metadata: 240 KB of names would ask for 240 MB."""
    if version < 8 and named == "groups":
        named = "topics"
    Client(world, 9).commit(3)
    of = request_definition(ApiKey.OFFSET_FETCH)
    plural = "s" if version >= 8 else ""
    times = {"partitions": 1, "topics": 1, "groups": 1, named: 300}
    topic: dict[str, object] = {"partition_indexes": [0, 1] * times["partitions"], "name": "t"}
    if version >= 10:
        topic["topic_id"] = world.node.broker.image.topics["t"].topic_id
    topics = [of.struct(f"OffsetFetchRequestTopic{plural}", **topic)] * times["topics"]
    if version >= 8:
        group = of.struct("OffsetFetchRequestGroup", group_id="g", topics=topics)
        other = of.struct("OffsetFetchRequestGroup", group_id="other", topics=topics[:1])
        answer = world.call(
            ApiKey.OFFSET_FETCH, version, groups=[group] * times["groups"] + [other]
        )
        assert answer.groups[-1].topics[0].partitions[0].committed_offset == -1
        answers = answer.groups[:-1]
    else:
        answers = [world.call(ApiKey.OFFSET_FETCH, version, group_id="g", topics=topics)]
    rows = [row for each in answers for topic in each.topics for row in topic.partitions]
    assert [row.committed_offset for row in rows] == [3, -1] * 10


def test_commits_end_with_their_topic(world: World) -> None:
    Client(world, 9).commit(3)
    world.call(ApiKey.DELETE_TOPICS, 3, topic_names=["t"], timeout_ms=1_000)
    assert committed(world) == -1
    world.create_topic("t", 2)
    world.kill()
    assert committed(world) == -1


def test_an_old_client_says_how_long_its_commit_is_kept() -> None:
    world = new_world(offsets_retention_check_interval_ms="1000", offsets_retention_minutes="1")
    Client(world, 9).commit(3, 4, retention_time_ms=5_000)
    world.kill()  # it is in the log, in a version of the record that has a place for it
    world.wait(4_000)
    assert committed(world) == 3
    world.wait(2_000)
    assert committed(world) == -1
    Client(world, 9).commit(4, 4)
    world.wait(59_000)
    assert committed(world) == 4
    world.wait(2_000)
    assert committed(world) == -1


def test_only_groups_without_members_are_deleted(world: World) -> None:
    one, two = stable_pair(world)
    one.commit(1)
    answer = world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g", "other"])
    codes = [row.error_code for row in answer.results]
    assert codes == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND]
    two.leave()
    one.leave()
    answer = world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g"])
    assert answer.results[0].error_code == 0
    assert committed(world) == -1
    world.kill()
    assert "g" not in world.node.broker.groups.of("g").groups


def test_a_topic_of_more_replicas_than_brokers_is_not_made_and_the_operator_is_told() -> None:
    """A single broker of Apache Kafka, with its default of three replicas, does the same."""
    for kind, topic, key in (
        (0, "__consumer_offsets", "offsets.topic.replication.factor"),
        (1, "__transaction_state", "transaction.state.log.replication.factor"),
    ):
        world = World({key: "3"})
        for _ in range(2):
            found = world.call(
                ApiKey.FIND_COORDINATOR, 4, key_type=kind, coordinator_keys=["g"]
            ).coordinators[0]
            assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        (told, _) = (each for each in world.reports if f"the topic {topic} cannot" in each)
        assert "INVALID_REPLICATION_FACTOR" in told


def test_nobody_coordinates_before_the_topic_exists() -> None:
    world = World()
    find: dict[str, Any] = {"key_type": 0, "coordinator_keys": ["g"]}
    first = world.call(ApiKey.FIND_COORDINATOR, 4, **find).coordinators[0]
    assert first.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    second = world.call(ApiKey.FIND_COORDINATOR, 4, **find).coordinators[0]
    assert (second.error_code, second.host) == (0, "broker")
    transaction = world.call(
        ApiKey.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=["tx"]
    ).coordinators[0]
    assert transaction.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_the_partition_of_a_group_is_that_of_java() -> None:
    # String.hashCode of the first is negative, of the last MIN_VALUE (claims GRP-1).
    assert partition_for("order-processors", 50) == 30
    assert partition_for("polygenelubricants", 50) == 0


class Partition(tuple[str, int]):
    """A partition each of whose comparisons is a call."""

    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


@pytest.mark.parametrize(("partitions", "transactions"), [(200, 1), (1, 200)])
def test_a_group_is_deleted_in_time_linear_in_its_offsets(
    partitions: int, transactions: int
) -> None:
    """A group with 12,000 offsets, and as many in an open transaction, took 1.4 s."""
    world = new_world()
    Client(world, 9).commit(3)
    coordinator = world.node.broker.groups.of("g")
    offset = CommittedOffset(1, -1, "", 0)
    for number in range(partitions):
        coordinator.offsets.put("g", Partition(("t", number)), offset)
    for producer_id in range(transactions):
        coordinator.note_pending(
            producer_id, [("g", Partition(("u", number)), offset) for number in range(partitions)]
        )
    group = coordinator.known_group("g")
    _, calls = counted(partial(coordinator.delete_group, group))
    assert calls < 120 * (2 * partitions + transactions)
    assert coordinator.pending_offsets.of("g") == []
    assert all(coordinator.pending_offsets.end(each) == [] for each in range(transactions))
