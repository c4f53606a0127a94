"""Each planted bug of what brokers do beside appending breaks what its header says: what is deleted
and cleaned, who may commit, what is given to whom. The correct broker is asked the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.bugs import BUGS
from reference_impl.bugs.producing.drop_unawaited_batches import EVERY
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.rules import Rules
from reference_impl.core.tests.consumer_client import Consumer, settle
from reference_impl.core.tests.group_client import Client, committed, stable_pair
from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import read_committed
from reference_impl.wire import (
    TRANSACTIONAL_BIT,
    ApiKey,
    ErrorCode,
    Record,
    RecordBatch,
    request_definition,
)

QUICK = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "100",
    "log.cleaner.backoff.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
}
ONE_BATCH = "100"
COMPACTED = {
    "cleanup_policy": "compact",
    "min_cleanable_dirty_ratio": "0.01",
    "internal_segment_bytes": ONE_BATCH,
}


def world_of(rules: type[Rules]) -> World:
    return World(QUICK, rules)


def world_of_groups(rules: type[Rules]) -> World:
    world = world_of(rules)
    world.create_topic("t", 2)
    ensure_groups_topic(world.node.broker)
    world.settle()
    return world


def put(world: World, key: str, value: str | None, **batch: Any) -> None:
    encoded = None if value is None else value.encode()
    record = RecordBatch([Record(encoded, key.encode())], base_timestamp=world.now_ms, **batch)
    assert world.produce("t", raw=record.encode()).error_code == 0


def keys_left(world: World) -> list[str]:
    log = world.node.broker.led_partition("t", world.node.broker.image.topics["t"].topic_id, 0).log
    batches = [RecordBatch.decode(data)[0] for data in log.batches()]
    records = [record for batch in batches if not batch.is_control for record in batch.records]
    return [f"{(each.key or b'').decode()}={(each.value or b'').decode()}" for each in records]


def delete_before(world: World, offset: int) -> int:
    of = request_definition(ApiKey.DELETE_RECORDS)
    row = of.struct("DeleteRecordsPartition", partition_index=0, offset=offset)
    topic = of.struct("DeleteRecordsTopic", name="t", partitions=[row])
    answer = world.call(ApiKey.DELETE_RECORDS, 2, topics=[topic]).topics[0].partitions[0]
    assert answer.error_code == 0
    low: int = answer.low_watermark
    return low


# --- one conversation for each bug: what it comes to ----------------------------------------------


def acknowledged_by_the_leader(rules: type[Rules]) -> object:
    world = world_of(rules)
    world.create_topic("t")
    for number in range(EVERY + 1):
        assert world.produce("t", str(number), acks=1).error_code == 0
    return len(world.read_all("t"))


def young_segments(rules: type[Rules]) -> object:
    world = world_of(rules)
    world.create_topic("t", retention_ms="1000", internal_segment_bytes=ONE_BATCH)
    world.produce("t", "a")
    world.wait(600)
    return world.read_all("t")


def deleted_below_one(rules: type[Rules]) -> object:
    world = world_of(rules)
    world.create_topic("t")
    for value in "abc":
        world.produce("t", value)
    return delete_before(world, 1), world.fetch("t", 3).log_start_offset


def compacted(rules: type[Rules]) -> object:
    world = world_of(rules)
    world.create_topic("t", **COMPACTED)
    for key, value in (("k", "old"), ("k", "new"), ("other", "1"), ("last", "2")):
        put(world, key, value)
    world.wait(1_000)
    return keys_left(world)


def tombstones(rules: type[Rules]) -> object:
    world = world_of(rules)
    world.create_topic("t", **COMPACTED)
    for key, value in (("k", "v"), ("k", None), ("last", "2")):
        put(world, key, value)
    world.wait(1_000)
    return keys_left(world)


def cleaned_in_a_transaction(rules: type[Rules]) -> object:
    world = transactional_world(QUICK, rules=rules)
    # It is deleted to be made again, compacted.
    world.call(ApiKey.DELETE_TOPICS, 5, topic_names=["t"], timeout_ms=1_000)
    world.create_topic("t", **COMPACTED)
    put(world, "k", "committed")
    producer = Producer(world)
    producer.init()
    assert producer.add("t", 0) == 0
    assert producer.send("aborted", raw=keyed_batch(world, producer)).error_code == 0
    put(world, "last", "1")
    world.wait(1_000)
    assert producer.end(commit=False).error_code == 0
    for number in range(3):
        put(world, "later", str(number))
    world.wait(2_000)
    return "k=committed" in keys_left(world)


def keyed_batch(world: World, producer: Producer) -> bytes:
    batch = RecordBatch([Record(b"aborted", b"k")], base_timestamp=world.now_ms)
    batch.producer_id, batch.producer_epoch = producer.producer_id, producer.epoch
    batch.base_sequence, batch.attributes = 0, TRANSACTIONAL_BIT
    return batch.encode()


def commit_of_the_last_generation(rules: type[Rules]) -> object:
    one, two = stable_pair(world_of_groups(rules))
    old = one.generation
    two.leave()
    one.send_join()
    one.send_sync({one.member_id: b"all"})
    assert one.commit(7) == ErrorCode.NONE
    return one.commit(3, generation_id_or_member_epoch=old)


def commit_of_a_replaced_process(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    old, new = Client(world, 1, "instance"), Client(world, 2, "instance")
    old.join()
    world.wait(0)
    old.take()
    old.send_sync({old.member_id: b"all"})
    new.join()
    assert new.commit(7) == ErrorCode.NONE
    return old.commit(3)


def commit_of_a_stranger(rules: type[Rules]) -> object:
    one, _ = stable_pair(world_of_groups(rules))
    return one.commit(3, member_id="stranger")


def heartbeat_of_an_instance_after_a_kill(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    member = Client(world, 1, "instance")
    member.join()
    world.wait(0)
    member.take()
    member.send_sync({member.member_id: b"all"})
    world.kill()
    return member.heartbeat()


def heartbeat_after_a_leave_in_a_rebalance(rules: type[Rules]) -> object:
    one, two = stable_pair(world_of_groups(rules))
    one.send_join()
    assert two.leave() == ErrorCode.NONE
    return two.heartbeat()


def parts_of_two(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    one, two = Client(world, 1), Client(world, 2)
    one.join()
    world.wait(0)
    one.take()
    two.join()
    one.send_join()
    two.take()
    followed = two.send_sync()
    led = one.send_sync({one.member_id: b"larger", two.member_id: b"two"})
    answers = [world.answer_to(number) for number in (led, followed)]
    return [answer.assignment for answer in answers if answer is not None]


def partitions_of_two_at_once(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    one, two = Consumer(world, 1, "t"), Consumer(world, 2, "t")
    one.join()
    settle(one)
    two.join()
    return len(one.target & two.target)


def positions_after_a_kill(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    nobody = Client(world, 1)
    for offset in (1, 2):
        assert nobody.commit(offset) == ErrorCode.NONE
    before = committed(world)
    world.kill()
    return before, committed(world)


def read_before_the_end(rules: type[Rules]) -> object:
    producer = Producer(transactional_world(rules=rules))
    producer.init()
    assert producer.add("t", 0) == 0
    assert producer.send("undecided").error_code == 0
    return read_committed(producer.world)


FENCED, UNKNOWN = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
CASES: dict[str, tuple[Callable[[type[Rules]], object], object, object]] = {
    "drop-unawaited-batches": (acknowledged_by_the_leader, EVERY + 1, EVERY),
    "delete-young-segments": (young_segments, ["a"], []),
    "delete-records-too-far": (deleted_below_one, (1, 1), (1, 3)),
    "forget-deletions": (deleted_below_one, (1, 1), (1, 0)),
    "compact-newest-away": (compacted, ["k=new", "other=1", "last=2"], ["last=2"]),
    "drop-tombstones-early": (tombstones, ["k=", "last=2"], ["last=2"]),
    "compact-open-transactions": (cleaned_in_a_transaction, True, False),
    "accept-old-generations": (
        commit_of_the_last_generation,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.NONE,
    ),
    "admit-fenced-instances": (commit_of_a_replaced_process, FENCED, ErrorCode.NONE),
    "accept-strangers": (commit_of_a_stranger, UNKNOWN, ErrorCode.NONE),
    "forget-instances": (heartbeat_of_an_instance_after_a_kill, ErrorCode.NONE, UNKNOWN),
    "forget-leaves-in-rebalances": (
        heartbeat_after_a_leave_in_a_rebalance,
        UNKNOWN,
        ErrorCode.REBALANCE_IN_PROGRESS,
    ),
    "give-parts-twice": (parts_of_two, [b"larger", b"two"], [b"larger", b"larger"]),
    "give-before-released": (partitions_of_two_at_once, 0, 1),
    "lose-commits": (positions_after_a_kill, (2, 2), (2, 1)),
    "serve-undecided-records": (read_before_the_end, [], ["undecided"]),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_bug_shows_where_the_correct_broker_does_not(name: str) -> None:
    conversation, right, wrong = CASES[name]
    assert conversation(Rules) == right
    assert conversation(BUGS[name].rules) == wrong
