"""The lifetime of committed offsets that are not used (KIP-211)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reference_impl.core.effects import Effect, SetTimer
from reference_impl.core.groups import expiry
from reference_impl.core.groups.consumer.migration.conversion import SUBSCRIPTION
from reference_impl.core.shards.states import Move
from reference_impl.core.tests import consumer_client, group_client
from reference_impl.core.tests.consumer_client import Consumer, topic_id
from reference_impl.core.tests.group_client import COMMIT, Client, committed
from reference_impl.core.tests.transactional import transactional_world
from reference_impl.core.tests.world import World
from reference_impl.core.waiting.waits import Pause
from reference_impl.robustness.transactional_client import TransactionalClient
from reference_impl.wire import ApiKey, ErrorCode, encode_versioned

MINUTE_MS = 60_000
SETTINGS = {"offsets_retention_minutes": "2", "offsets_retention_check_interval_ms": "1000"}


@pytest.fixture
def world() -> World:
    return group_client.new_world(**SETTINGS)


def groups_of(world: World) -> set[str]:
    return {group.group_id for _, group in world.node.broker.groups.every()}


def test_offsets_without_a_group_expire_after_their_last_commit(world: World) -> None:
    admin = Client(world, 9)
    admin.commit(1)
    world.wait(MINUTE_MS)
    admin.commit(2)
    world.wait(2 * MINUTE_MS - 1)
    assert committed(world) == 2
    world.wait(1001)
    assert committed(world) == -1
    assert groups_of(world) == set()
    world.restart()
    assert committed(world) == -1
    assert groups_of(world) == set()


def joined(world: World, *topics: str) -> Client:
    """Return a group of one member that reads these topics."""
    one = Client(world, 1)
    wants = SUBSCRIPTION.new(topics=list(topics), owned_partitions=[], generation_id=-1)
    one.protocols = {"range": encode_versioned(SUBSCRIPTION, wants, 3)}
    one.join()
    world.wait(0)
    one.take()
    one.send_sync({one.member_id: b""})
    return one


def stay(world: World, one: Client | Consumer, minutes: int) -> None:
    """Let time pass in which the member shows that it lives."""
    for _ in range(minutes * MINUTE_MS // 5000):
        one.heartbeat()
        world.wait(5000)


def test_what_a_member_reads_does_not_expire_and_the_rest_does(world: World) -> None:
    reader = joined(world, "t")
    assert reader.commit(4) == 0
    stay(world, reader, 3)
    assert committed(world) == 4
    world = group_client.new_world(**SETTINGS)
    world.create_topic("other")
    elsewhere = joined(world, "other")
    assert elsewhere.commit(4) == 0
    stay(world, elsewhere, 3)
    assert committed(world) == -1
    assert groups_of(world) == {"g"}


def test_when_the_last_member_leaves_the_time_begins_anew(world: World) -> None:
    reader = joined(world, "t")
    reader.commit(4)
    stay(world, reader, 3)
    reader.leave()
    world.wait(2 * MINUTE_MS - 2000)
    assert committed(world) == 4
    world.wait(3001)
    assert committed(world) == -1
    assert groups_of(world) == set()


def test_a_consumer_group_keeps_what_it_reads_and_ends_when_it_is_empty() -> None:
    world = consumer_client.new_world(**SETTINGS)
    offsets = world.node.broker.groups.of("g").offsets
    one = Consumer(world, 1, "a")
    one.join()
    one.settle()
    partition = (topic_id(world, "a"), 0)
    one.commit(one.epoch, partition)
    stay(world, one, 3)
    assert ("a", 0) in offsets.of("g")
    one.commit(one.epoch, partition)
    one.leave()
    world.wait(2 * MINUTE_MS - 1)
    assert ("a", 0) in offsets.of("g")
    world.wait(1001)
    assert not offsets.of("g")
    assert groups_of(world) == set()


def test_what_a_transaction_may_still_commit_does_not_expire() -> None:
    world = transactional_world({key.replace("_", "."): value for key, value in SETTINGS.items()})
    Client(world, 9).commit(1)
    producer = TransactionalClient(world)
    producer.init(timeout_ms=900_000)
    assert producer.add_offsets("g") == ErrorCode.NONE
    assert producer.commit_offset(7) == ErrorCode.NONE
    world.wait(3 * MINUTE_MS)
    assert committed(world) == 1
    assert producer.end(commit=True).error_code == ErrorCode.NONE
    assert committed(world) == 7
    world.wait(3 * MINUTE_MS)
    assert committed(world) == -1


@pytest.mark.parametrize("retention_ms", [1, 2**63 - 1])
def test_an_old_client_says_itself_how_long_an_offset_lives(
    world: World, retention_ms: int
) -> None:
    admin = Client(world, 9)
    assert admin.commit(1, version=4, retention_time_ms=retention_ms) == ErrorCode.NONE
    world.wait(3 * MINUTE_MS)
    assert committed(world) == (-1 if retention_ms == 1 else 1)


def begun_round(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Effect]:
    """Return a round of expiry that looks at three offsets at a time, of ten that are old."""
    monkeypatch.setattr(expiry, "AT_ONCE", 3)
    world.create_topic("many", 10)
    assert commit_to(world, *range(10)) == {ErrorCode.NONE}
    world.wait(2 * MINUTE_MS - 1)
    world.now_ms += 2
    world.call(ApiKey.API_VERSIONS, 0)  # an event brings the time
    return expiry.expire_offsets(world.node.broker.groups.of("g"))


def commit_to(world: World, *indexes: int) -> set[int]:
    rows = [
        COMMIT.struct("OffsetCommitRequestPartition", partition_index=index, committed_offset=1)
        for index in indexes
    ]
    topic = COMMIT.struct("OffsetCommitRequestTopic", name="many", partitions=rows)
    answer = world.call(ApiKey.OFFSET_COMMIT, 8, 9, group_id="g", topics=[topic])
    return {row.error_code for row in answer.topics[0].partitions}


def test_many_offsets_expire_in_slices_and_what_is_committed_in_between_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects = begun_round(world, monkeypatch)
    offsets = world.node.broker.groups.of("g").offsets
    assert isinstance(next(effects), Pause)
    assert set(offsets.of("g")) == {("many", index) for index in range(3, 10)}
    commit_to(world, 5)
    *pauses, timer = effects
    assert len(pauses) == 4
    assert isinstance(timer, SetTimer)
    assert set(offsets.of("g")) == {("many", 5)}
    assert groups_of(world) == {"g"}
    world.wait(2 * MINUTE_MS + 1001)
    assert groups_of(world) == set()


def test_a_round_of_expiry_ends_with_its_coordinator(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects = begun_round(world, monkeypatch)
    next(effects)
    shard = world.node.broker.groups.of("g")
    shard.move(Move.RESIGNED)
    assert not any(isinstance(effect, SetTimer) for effect in effects)
