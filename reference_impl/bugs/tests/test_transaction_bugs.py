"""Each planted bug of transactions, of producers' state and of living groups breaks what its header
says, and the correct broker does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.bugs import BUGS
from reference_impl.bugs.tests.test_service_bugs import parts_of_two, world_of_groups
from reference_impl.bugs.transacting.lose_transactional_offsets import EVERY as EVERY_OFFSET
from reference_impl.core.rules import Rules
from reference_impl.core.tests.consumer_client import Consumer, settle
from reference_impl.core.tests.group_client import SESSION_MS, stable_pair
from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.robustness.transactional_client import committed_offset, read_committed
from reference_impl.wire import ErrorCode

FIVE: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
SEQUENCE_MAX = 2**31 - 1
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def beginner(rules: type[Rules], **more: Any) -> Producer:
    producer = Producer(transactional_world(rules=rules), **more)
    assert producer.init(timeout_ms=5_000).error_code == ErrorCode.NONE
    return producer


def zombie_of(producer: Producer) -> Producer:
    """Return the producer as it was before another one took its id over."""
    before = Producer(producer.world, producer.name, producer.versions)
    before.producer_id, before.epoch = producer.producer_id, producer.epoch
    assert producer.init().error_code == ErrorCode.NONE
    return before


# --- one conversation for each bug: what it comes to ----------------------------------------------


def epoch_of_the_next(rules: type[Rules]) -> object:
    producer = beginner(rules)
    producer.init()
    return producer.epoch


def written_by_a_zombie(rules: type[Rules]) -> object:
    producer = beginner(rules)
    zombie = zombie_of(producer)
    producer.transaction("new")
    assert producer.add() == ErrorCode.NONE
    batch: dict[str, Any] = {"producer_id": zombie.producer_id, "producer_epoch": zombie.epoch}
    row = producer.world.produce("t", "old", **batch, base_sequence=0)
    return row.error_code


def added_by_a_zombie(rules: type[Rules]) -> object:
    return zombie_of(beginner(rules)).add()


def ended_by_a_zombie(rules: type[Rules]) -> object:
    producer = beginner(rules)
    zombie = zombie_of(producer)
    assert (producer.add(), producer.send("new").error_code) == (0, 0)
    return zombie.end(commit=False).error_code


def committed(times: int) -> Callable[[type[Rules]], object]:
    """Return a function that commits `times` transactions in two partitions and returns the number
    of records that are read."""

    def ask(rules: type[Rules]) -> object:
        producer = beginner(rules)
        for number in range(times):
            producer.transaction(str(number), partitions=2)
        return [len(read_committed(producer.world, "t", index)) for index in (0, 1)]

    return ask


def aborted_many_times(rules: type[Rules]) -> object:
    producer = beginner(rules)
    for number in range(20):
        producer.transaction(str(number), commit=False)
    return len(read_committed(producer.world))


def abandoned(rules: type[Rules]) -> object:
    producer = beginner(rules)
    assert (producer.add(), producer.send("open").error_code) == (0, 0)
    producer.world.produce("t", "plain")
    producer.world.wait(60_000)
    return read_committed(producer.world)


def offsets_of(*, commit: bool, times: int = 1) -> Callable[[type[Rules]], object]:
    """Return the offset that a group has after transactions which end like this."""

    def ask(rules: type[Rules]) -> object:
        producer = beginner(rules)
        for number in range(1, times + 1):
            assert producer.add_offsets() == ErrorCode.NONE
            assert producer.commit_offset(number) == ErrorCode.NONE
            assert producer.end(commit=commit).error_code == ErrorCode.NONE
        return committed_offset(producer.world)[0]

    return ask


def offset_of_three(rules: type[Rules]) -> object:
    producer = beginner(rules)
    for offset in (2, 3, 1):
        assert producer.add_offsets() == ErrorCode.NONE
        assert producer.commit_offset(offset) == ErrorCode.NONE
    assert producer.end(commit=True).error_code == ErrorCode.NONE
    return committed_offset(producer.world)[0]


def pending_offset(rules: type[Rules]) -> object:
    producer = beginner(rules)
    assert producer.add_offsets() == ErrorCode.NONE
    assert producer.commit_offset(5) == ErrorCode.NONE
    return committed_offset(producer.world, stable=True)[1]


def offset_of_an_old_generation(rules: type[Rules]) -> object:
    world = transactional_world(rules=rules)
    one, two = stable_pair(world)
    producer = Producer(world)
    producer.init()
    old: dict[str, Any] = {"member_id": one.member_id, "generation_id": one.generation}
    two.leave()
    one.send_join()
    one.send_sync({one.member_id: b"all"})
    assert producer.add_offsets() == ErrorCode.NONE
    return producer.commit_offset(5, **old)


def read_from_the_middle(rules: type[Rules]) -> object:
    producer = beginner(rules)
    assert producer.add() == ErrorCode.NONE
    for value in "ab":
        assert producer.send(value).error_code == ErrorCode.NONE
    assert producer.end(commit=False).error_code == ErrorCode.NONE
    row = producer.world.fetch("t", 1, isolation_level=1)
    return len(row.aborted_transactions)


def idempotent(rules: type[Rules], **config: str) -> World:
    world = World({key.replace("_", "."): value for key, value in config.items()}, rules)
    world.create_topic("t")
    for sequence, value in enumerate("abc"):
        world.produce("t", value, **FIVE, base_sequence=sequence)
    return world


def retried(rules: type[Rules]) -> object:
    world = idempotent(rules)
    row = world.produce("t", "b", **FIVE, base_sequence=1)
    return row.error_code, row.base_offset, len(world.read_all("t"))


def retried_in_a_new_segment(rules: type[Rules]) -> object:
    world = idempotent(rules, log_roll_ms="1000")
    world.wait(5_000)
    world.produce("t", "other")
    world.produce("t", "c", **FIVE, base_sequence=2)
    return world.read_all("t").count("c")


def wrapped(rules: type[Rules]) -> object:
    world = World(rules=rules)
    world.create_topic("t")
    world.produce("t", "a", **FIVE, base_sequence=SEQUENCE_MAX)
    return world.produce("t", "b", **FIVE, base_sequence=0).error_code


def overlapping(first: int, *values: str) -> Callable[[type[Rules]], object]:
    """Return the answer to a batch with numbers of the last one: it begins at `first`."""

    def ask(rules: type[Rules]) -> object:
        world = idempotent(rules)  # the last batch is one record with number 2
        return world.produce("t", *values, **FIVE, base_sequence=first).error_code

    return ask


def first_of_an_epoch(rules: type[Rules]) -> object:
    world = idempotent(rules)
    world.produce("t", "new", producer_id=7, producer_epoch=1, base_sequence=0)
    return world.read_all("t")


def joined_again_and_again(rules: type[Rules]) -> object:
    producer = beginner(rules)
    assert producer.init(timeout_ms=60_000).error_code == ErrorCode.NONE
    for index in (0, 1):
        assert producer.add("t", index) == ErrorCode.NONE
        producer.world.wait(40_000)
    return producer.end(commit=True).error_code


def ended_in_time(rules: type[Rules]) -> object:
    producer = beginner(rules)
    assert producer.init(timeout_ms=60_000).error_code == ErrorCode.NONE
    assert producer.add() == ErrorCode.NONE
    producer.world.wait(45_000)
    return producer.end(commit=True).error_code


def heartbeats_after(*shares: float) -> Callable[[type[Rules]], object]:
    """Return whether the last heartbeat is refused, each after this share of a session."""

    def ask(rules: type[Rules]) -> object:
        one, _ = stable_pair(world_of_groups(rules))
        for share in shares:
            one.world.wait(round(SESSION_MS * share))
            code = one.heartbeat()
        return code == ErrorCode.UNKNOWN_MEMBER_ID

    return ask


def heartbeat_after_leaving(rules: type[Rules]) -> object:
    one, _ = stable_pair(world_of_groups(rules))
    assert one.leave() == ErrorCode.NONE
    return one.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def written_late(rules: type[Rules]) -> object:
    producer = beginner(rules)
    producer.transaction("a")
    return producer.send("late").error_code


def members_after_a_silence(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    one, two = stable_pair(world)
    for _ in range(3):
        world.wait(SESSION_MS // 2)
        two.heartbeat()
    group = world.node.broker.groups.of("g").groups["g"]
    return one.member_id in group.members


def consumers_after_a_silence(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    one, two = Consumer(world, 1, "t"), Consumer(world, 2, "t")
    one.join()
    two.join()
    settle(one, two)
    for _ in range(10):
        world.wait(10_000)
        two.heartbeat()
        two.settle()
    return len(two.target)


def heartbeat_of_the_dead(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    one, two = stable_pair(world)
    assert one.heartbeat() == ErrorCode.NONE
    for _ in range(3):
        world.wait(SESSION_MS // 2)
        two.heartbeat()
    return one.heartbeat()


def rebalance_after_a_leave(rules: type[Rules]) -> object:
    one, two = stable_pair(world_of_groups(rules))
    two.leave()
    one.send_join()
    one.world.wait(5_000)
    return one.take() is not None or one.generation > two.generation


def parts_that_are_read(rules: type[Rules]) -> object:
    parts = parts_of_two(rules)
    assert isinstance(parts, list)
    return sum(bool(part) for part in parts)


def partitions_that_are_read(rules: type[Rules]) -> object:
    world = world_of_groups(rules)
    one, two = Consumer(world, 1, "t"), Consumer(world, 2, "t")
    one.join()
    two.join()
    settle(one, two)
    return len(one.target | two.target)


NONE, FENCED = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED
OLD_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH
CASES: dict[str, tuple[Callable[[type[Rules]], object], Any, Any]] = {
    "keep-epochs": (epoch_of_the_next, 1, 0),
    "accept-zombie-writes": (written_by_a_zombie, OLD_EPOCH, NONE),
    "admit-fenced-producers": (added_by_a_zombie, FENCED, NONE),
    "end-others-transactions": (ended_by_a_zombie, FENCED, NONE),
    "abort-decided-commits": (committed(100), [100, 100], [97, 97]),
    "tear-transactions": (committed(100), [100, 100], [100, 98]),
    "forget-markers": (committed(40), [40, 40], [40, 39]),
    "commit-decided-aborts": (aborted_many_times, 0, 2),
    "never-time-out": (abandoned, ["plain"], []),
    "commit-aborted-offsets": (offsets_of(commit=False), -1, 1),
    "lose-transactional-offsets": (
        offsets_of(commit=True, times=EVERY_OFFSET),
        EVERY_OFFSET,
        EVERY_OFFSET - 1,
    ),
    "keep-first-of-transaction": (offset_of_three, 1, 2),
    "ignore-require-stable": (pending_offset, ErrorCode.UNSTABLE_OFFSET_COMMIT, NONE),
    "accept-old-generations-in-transactions": (
        offset_of_an_old_generation,
        ErrorCode.ILLEGAL_GENERATION,
        NONE,
    ),
    "forget-older-aborts": (read_from_the_middle, 1, 0),
    "answer-retries-with-newest": (retried, (0, 1, 3), (0, 2, 3)),
    "remember-newest-batch": (retried, (0, 1, 3), (0, 3, 4)),
    "forget-producers-at-roll": (retried_in_a_new_segment, 1, 2),
    "break-at-sequence-wrap": (wrapped, NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    "write-outside-transactions": (written_late, ErrorCode.INVALID_TXN_STATE, NONE),
    "never-end-sessions": (members_after_a_silence, False, True),
    "never-end-consumer-sessions": (consumers_after_a_silence, 2, 1),
    "never-release": (consumers_after_a_silence, 2, 1),
    "greet-the-dead": (
        heartbeat_of_the_dead,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    ),
    "match-first-sequences": (overlapping(2, "x", "y"), OUT_OF_ORDER, 0),
    "match-last-sequences": (overlapping(1, "x", "y"), OUT_OF_ORDER, 0),
    "match-across-epochs": (first_of_an_epoch, ["a", "b", "c", "new"], ["a", "b", "c"]),
    "prolong-time-outs": (joined_again_and_again, ErrorCode.PRODUCER_FENCED, 0),
    "abort-half-way": (ended_in_time, 0, ErrorCode.PRODUCER_FENCED),
    "end-sessions-early": (heartbeats_after(0.8, 0.8), False, True),
    "ignore-heartbeats": (heartbeats_after(0.4, 0.4, 0.4), False, True),
    "end-sessions-late": (heartbeats_after(0.5, 2.0), True, False),
    "ignore-leaves": (heartbeat_after_leaving, True, False),
    "wait-for-the-gone": (rebalance_after_a_leave, True, False),
    "forget-a-member": (parts_that_are_read, 2, 1),
    "leave-partition-out": (partitions_that_are_read, 2, 1),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_bug_shows_where_the_correct_broker_does_not(name: str) -> None:
    conversation, right, wrong = CASES[name]
    assert conversation(Rules) == right
    assert conversation(BUGS[name].rules) == wrong
