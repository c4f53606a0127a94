"""Each planted bug about where readers begin, what they are given and what is deleted breaks what
its header says, and the correct broker does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.bugs import BUGS
from reference_impl.bugs.deleting.round_deletions_down import EVERY as EVERY_DELETION
from reference_impl.bugs.producing.round_times import EVERY as EVERY_TIME
from reference_impl.bugs.tests.test_service_bugs import (
    COMPACTED,
    ONE_BATCH,
    QUICK,
    delete_before,
    put,
)
from reference_impl.core.requests.automatic_topics import ensure_groups_topic
from reference_impl.core.rules import Rules
from reference_impl.core.tests.group_client import Client, committed
from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World, values_in
from reference_impl.wire import ApiKey, Record, RecordBatch, request_definition

LATEST, EARLIEST = -1, -2
GZIP = 1


def world_with(rules: type[Rules], config: Any = (), **topic: str) -> World:
    world = World({**QUICK, **dict(config)}, rules)
    world.create_topic("t", 2, **topic)
    return world


def offset_at(world: World, timestamp: int, isolation: int = 0) -> int:
    of = request_definition(ApiKey.LIST_OFFSETS)
    row = of.struct("ListOffsetsPartition", partition_index=0, timestamp=timestamp)
    topic = of.struct("ListOffsetsTopic", name="t", partitions=[row])
    answer = world.call(
        ApiKey.LIST_OFFSETS, 7, replica_id=-1, topics=[topic], isolation_level=isolation
    )
    offset: int = answer.topics[0].partitions[0].offset
    return offset


def in_segments_of_their_own(rules: type[Rules], **topic: str) -> World:
    """Return a world with the records a, b and c, a second apart."""
    world = world_with(rules, internal_segment_bytes=ONE_BATCH, **topic)
    for value in "abc":
        world.produce("t", value)
        world.wait(1_000)
    return world


def read_again(rules: type[Rules]) -> object:
    world = world_with(rules)
    for value in "abc":
        world.produce("t", value)
    return [values_in(world.fetch("t", offset).records) for offset in (2, 0)]


def begun_at_the_earliest(rules: type[Rules]) -> object:
    return offset_at(in_segments_of_their_own(rules), EARLIEST)


def begun_at_a_time(rules: type[Rules]) -> object:
    world = in_segments_of_their_own(rules)
    return offset_at(world, world.now_ms - 2_000)


def begun_behind_a_transaction(rules: type[Rules]) -> object:
    producer = Producer(transactional_world(rules=rules))
    producer.init()
    assert (producer.add(), producer.send("open").error_code) == (0, 0)
    return offset_at(producer.world, LATEST, isolation=1)


def asked_four_times(rules: type[Rules]) -> object:
    world = world_with(rules)
    ensure_groups_topic(world.node.broker)
    world.settle()
    Client(world, 1).commit(7)
    return [committed(world) for _ in range(4)]


def committed_backwards(rules: type[Rules]) -> object:
    world = world_with(rules)
    ensure_groups_topic(world.node.broker)
    world.settle()
    for offset in (7, 3):
        Client(world, 1).commit(offset)
    return committed(world)


def committed_a_while_ago(rules: type[Rules]) -> object:
    minutes = {"offsets.retention.minutes": "2", "offsets.retention.check.interval.ms": "1000"}
    world = world_with(rules, minutes)
    ensure_groups_topic(world.node.broker)
    world.settle()
    Client(world, 1).commit(7)
    world.wait(10_000)
    return committed(world)


def fetched_by_little(rules: type[Rules]) -> object:
    world = world_with(rules)
    for value in ("large" * 100, "b"):
        world.produce("t", value)
    return values_in(world.fetch("t", 0, partition_max_bytes=100).records)[0][:5]


def fetched_at_the_tail(rules: type[Rules]) -> object:
    return values_in(in_segments_of_their_own(rules).fetch("t", 0).records)


def timed(rules: type[Rules]) -> object:
    world = world_with(rules)
    world.now_ms += 7
    times = set()
    for number in range(EVERY_TIME):
        world.produce("t", str(number))
        batch, _ = RecordBatch.decode(world.fetch("t", number).records)
        times.add(batch.timestamp_of(batch.records[0]) % 1_000)
    return times


def compressed_anew(rules: type[Rules]) -> object:
    world = world_with(rules, compression_type="gzip")
    record = Record(b"v", b"k", [("full", b"x"), ("null", None)])
    world.produce("t", raw=RecordBatch([record], base_timestamp=world.now_ms).encode())
    batch, _ = RecordBatch.decode(world.fetch("t").records)
    assert batch.attributes & 7 == GZIP
    return list(batch.records[0].headers)


def cleaned_batch(rules: type[Rules]) -> RecordBatch:
    """Return a batch in which a record stands beside a tombstone, after its cleaning."""
    world = world_with(rules, **{**COMPACTED, "internal_segment_bytes": "200"})
    records = [
        Record(b"old", b"k"),
        Record(b"v", b"other", [("name", b"x")], timestamp_delta=5),
        Record(None, b"gone"),
    ]
    batch = RecordBatch(records, base_timestamp=world.now_ms).encode()
    assert world.produce("t", raw=batch).error_code == 0
    for value in ("new", "newer"):
        put(world, "k", value)
    world.wait(2_000)
    return RecordBatch.decode(world.fetch("t").records)[0]


def headers_after_cleaning(rules: type[Rules]) -> object:
    return [list(record.headers) for record in cleaned_batch(rules).records]


def left_after(wait_ms: int) -> Callable[[type[Rules]], object]:
    """Return a function that writes three records, a second apart, into one segment, waits
    `wait_ms`, and returns how many are left."""

    def ask(rules: type[Rules]) -> object:
        world = world_with(rules, retention_ms="5000", segment_ms="60000")
        for value in "abc":
            world.produce("t", value)
            world.wait(1_000)
        world.wait(wait_ms)
        return len(world.read_all("t"))

    return ask


def kept_by_size(rules: type[Rules]) -> object:
    world = in_segments_of_their_own(rules, retention_bytes="130")
    world.wait(1_000)
    return world.fetch("t", 3).log_start_offset


def deleted_three_times(rules: type[Rules]) -> object:
    world = world_with(rules)
    for number in range(10):
        world.produce("t", str(number))
    asked = [delete_before(world, 3 * number) for number in range(1, EVERY_DELETION + 1)]
    return asked[-1] - world.fetch("t", 10).log_start_offset


NULL = ("null", None)
CASES: dict[str, tuple[Callable[[type[Rules]], object], Any, Any]] = {
    "ignore-rewinds": (read_again, [["c"], ["a", "b", "c"]], [["c"], ["c"]]),
    "reset-past-start": (begun_at_the_earliest, 0, 1),
    "look-up-later-times": (begun_at_a_time, 1, 2),
    "look-up-newest-segment": (begun_at_a_time, 1, 2),
    "begin-behind-undecided": (begun_behind_a_transaction, 0, 1),
    "begin-after-committed": (asked_four_times, [7, 7, 7, 7], [7, 7, 7, 8]),
    "keep-highest-commit": (committed_backwards, 3, 7),
    "expire-offsets-early": (committed_a_while_ago, 7, -1),
    "skip-large-batches": (fetched_by_little, "large", "b"),
    "skip-segment-tails": (fetched_at_the_tail, ["a"], ["b"]),
    "round-times": (timed, {7}, {0, 7}),
    "drop-headers-in-recompression": (compressed_anew, [("full", b"x"), NULL], []),
    "empty-nulls-in-recompression": (
        compressed_anew,
        [("full", b"x"), NULL],
        [("full", b"x"), ("null", b"")],
    ),
    "drop-headers-in-cleaning": (headers_after_cleaning, [[("name", b"x")], []], [[], []]),
    "age-from-oldest-record": (left_after(3_500), 3, 0),
    "delete-a-little-early": (left_after(3_500), 3, 0),
    "delete-late": (left_after(6_000), 0, 3),
    "delete-one-segment-more": (kept_by_size, 1, 2),
    "round-deletions-down": (deleted_three_times, 0, 1),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_bug_shows_where_the_correct_broker_does_not(name: str) -> None:
    conversation, right, wrong = CASES[name]
    assert conversation(Rules) == right
    assert conversation(BUGS[name].rules) == wrong


def test_shift_cleaned_times_moves_a_record_that_lies_beside_a_tombstone() -> None:
    def times(rules: type[Rules]) -> list[int]:
        batch = cleaned_batch(rules)
        return [batch.timestamp_of(record) - World().now_ms for record in batch.records]

    assert times(Rules) == [5, 0]
    assert min(times(BUGS["shift-cleaned-times"].rules)) > 10_000
