"""Each planted bug of what a broker writes down, forgets at a restart or tells of its log breaks
what its header says, and the correct broker does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.bugs import BUGS
from reference_impl.bugs.tests.test_service_bugs import world_of_groups
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.rules import Rules
from reference_impl.core.tests.group_client import SESSION_MS, Client, stable_pair
from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import read_committed
from reference_impl.wire import ApiKey, Compression, ErrorCode, request_definition


def members_gone_since_a_kill(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    one, two = stable_pair(world)
    world.kill()
    for _ in range(3):
        world.wait(SESSION_MS // 2)
        two.heartbeat()
    return one.member_id in world.node.broker.groups.of("g").groups["g"].members


def left_open_at_a_kill(rules: type[Rules]) -> object:
    producer = Producer(transactional_world(rules=rules))
    assert producer.init(timeout_ms=5_000).error_code == ErrorCode.NONE
    assert producer.add() == ErrorCode.NONE
    assert producer.send("open").error_code == ErrorCode.NONE
    producer.world.produce("t", "plain")
    producer.world.kill()
    producer.world.wait(30_000)
    return read_committed(producer.world)


def ids_before_and_after_a_kill(rules: type[Rules]) -> object:
    world = transactional_world(rules=rules)
    ids = []
    for _ in range(2):
        answer = world.call(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None)
        ids.append(answer.producer_id)
        world.kill()
    return len(set(ids))


def end_of_the_epoch(rules: type[Rules]) -> object:
    world = World(rules=rules)
    world.create_topic("t")
    for value in "abc":
        world.produce("t", value)
    of = request_definition(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    row = of.struct(
        "OffsetForLeaderPartition", partition=0, current_leader_epoch=-1, leader_epoch=0
    )
    topic = of.struct("OffsetForLeaderTopic", topic="t", partitions=[row])
    answer = world.call(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, topics=[topic])
    return answer.topics[0].partitions[0].end_offset


def stamped(rules: type[Rules]) -> object:
    world = World(rules=rules)
    world.create_topic("t", message_timestamp_type="LogAppendTime")
    world.produce("t", "a", attributes=Compression.GZIP)
    batches = world.node.broker.replicas.get("t", 0).log.batches()  # type: ignore[union-attr]
    return [bool(data[22] & 8) for data in batches]


def neighbours_after_a_kill(rules: type[Rules]) -> object:
    world = World({"offsets.topic.num.partitions": "1"}, rules=rules)
    world.create_topic("t")
    ensure_groups_topic(world.node.broker)
    world.settle()
    client = Client(world, 1)
    for group in ("g", "other"):
        assert client.commit(5, group_id=group) == ErrorCode.NONE
    assert world.call(ApiKey.DELETE_GROUPS, 2, groups_names=["g"]).results[0].error_code == 0
    world.kill()
    return len(world.node.broker.groups.of("other").offsets.of("other"))


def retried_after_a_restart(rules: type[Rules]) -> object:
    world = World(rules=rules)
    world.create_topic("t")
    batch: dict[str, Any] = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 0}
    for _ in range(2):
        world.produce("t", "a", **batch)
        world.restart()
    return world.read_all("t")


def open_at_a_restart(rules: type[Rules]) -> object:
    producer = Producer(transactional_world(rules=rules))
    assert producer.init().error_code == ErrorCode.NONE
    assert producer.add() == ErrorCode.NONE
    assert producer.send("open").error_code == ErrorCode.NONE
    producer.world.restart()
    return read_committed(producer.world)


CASES: dict[str, tuple[Callable[[type[Rules]], object], Any, Any]] = {
    "never-end-loaded-sessions": (members_gone_since_a_kill, False, True),
    "forget-time-outs": (left_open_at_a_kill, ["plain"], []),
    "reuse-producer-ids": (ids_before_and_after_a_kill, 2, 1),
    "forget-epochs-in-snapshots": (retried_after_a_restart, ["a"], ["a", "a"]),
    "forget-open-transactions": (open_at_a_restart, [], ["open"]),
    "end-epochs-early": (end_of_the_epoch, 3, 2),
    "keep-times-of-compressed": (stamped, [True], [False]),
    "delete-neighbours": (neighbours_after_a_kill, 1, 0),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_bug_shows_where_the_correct_broker_does_not(name: str) -> None:
    conversation, right, wrong = CASES[name]
    assert conversation(Rules) == right
    assert conversation(BUGS[name].rules) == wrong
