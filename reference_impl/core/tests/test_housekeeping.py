"""The broker's work without a request: old segments go, compacted topics are cleaned, no client
waits."""

from __future__ import annotations

from typing import Any

from reference_impl.core.node import never
from reference_impl.core.tests.group_client import Client, committed, new_world
from reference_impl.core.tests.world import START_MS, World
from reference_impl.wire import ApiKey, ErrorCode, Record, RecordBatch, request_definition

QUICK = {
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "100",
    "log.cleaner.backoff.ms": "100",
}
ONE_BATCH = "100"
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
OFFSETS = "__consumer_offsets"


def keyed(world: World, topic: str, key: str, value: str) -> None:
    batch = RecordBatch([Record(value.encode(), key.encode())], base_timestamp=world.now_ms)
    assert world.produce(topic, raw=batch.encode()).error_code == 0


def test_old_segments_go_when_their_time_has_come() -> None:
    world = World(QUICK)
    world.create_topic("t", retention_ms="1000", internal_segment_bytes=ONE_BATCH)
    world.produce("t", "old")
    world.wait(600)
    world.produce("t", "young")
    world.wait(600)
    assert world.fetch("t", 1).log_start_offset == 1
    assert world.read_all("t") == []  # offset 0 is out of range
    world.wait(600)
    row = world.fetch("t", 2)
    assert (row.error_code, row.log_start_offset, row.high_watermark) == (0, 2, 2)
    world.restart()
    assert world.fetch("t", 2).log_start_offset == 2


def test_a_compacted_topic_is_cleaned_and_stays_so_after_a_kill() -> None:
    world = World(QUICK)
    world.create_topic(
        "t",
        cleanup_policy="compact",
        min_cleanable_dirty_ratio="0.1",
        internal_segment_bytes=ONE_BATCH,
    )
    for number in range(5):
        keyed(world, "t", "ab"[number % 2], str(number))
    world.wait(1000)
    assert world.read_all("t") == ["2", "3", "4"], "the last one lies in the active segment"
    assert world.node.broker.logs.cleaned_to(("t", 0)) == 4
    world.kill()
    assert world.read_all("t") == ["2", "3", "4"]
    assert world.node.broker.logs.cleaned_to(("t", 0)) == 4
    keyed(world, "t", "b", "5")
    world.wait(1000)
    assert world.read_all("t") == ["3", "4", "5"]


def test_the_cleaner_may_be_switched_off() -> None:
    world = World({**QUICK, "log.cleaner.enable": "false"})
    world.create_topic("t", cleanup_policy="compact", internal_segment_bytes=ONE_BATCH)
    for _ in range(3):
        keyed(world, "t", "k", "v")
    world.wait(60_000)
    assert world.read_all("t") == ["v", "v", "v"]


def test_a_topic_that_is_deleted_while_it_is_cleaned_is_forgotten() -> None:
    world = World(QUICK)
    world.create_topic("t", cleanup_policy="compact", internal_segment_bytes=ONE_BATCH)
    for _ in range(5):
        keyed(world, "t", "k", "v")
    cleaner, broker = world.node.broker.cleaner, world.node.broker
    assert cleaner.begin([partition.log for partition in broker.replicas], START_MS)
    broker.replicas.forget_topic(broker.image.topics["t"])
    broker.replicas.remove(("t", 0))
    while cleaner.is_working:
        assert cleaner.work() is None


def test_damage_ends_the_cleaning_of_that_log_alone_and_is_told() -> None:
    world = World(QUICK)
    for name in ("bad", "good"):
        world.create_topic(name, cleanup_policy="compact", internal_segment_bytes=ONE_BATCH)
        for _ in range(4):
            keyed(world, name, "k", "v")
    world.storage.corrupt("data/bad-0/" + "0" * 19 + "1.log", 65, b"\xff")
    world.wait(1000)
    assert world.read_all("good") == ["v", "v"]
    assert world.fetch("bad", 3).high_watermark == 4
    (told,) = world.reports
    assert told.startswith("bad-0 is not compacted any more until the next start: ")


def test_committed_offsets_outlive_the_cleaning_of_their_topic() -> None:
    world = new_world(**{name.replace(".", "_"): value for name, value in QUICK.items()})
    for state in world.node.broker.replicas:
        if state.topic == OFFSETS:
            state.log.config = type(state.log.config)(
                cleanup_policy=("compact",), internal_segment_bytes=400
            )
    for number in range(30):
        assert Client(world, 9).commit(number) == 0
    logs = [p.log for p in world.node.broker.replicas if p.topic == OFFSETS]
    before = sum(log.size_bytes for log in logs)
    world.wait(1000)
    assert sum(log.size_bytes for log in logs) < before / 3
    assert committed(world) == 29
    world.kill()
    assert committed(world) == 29


def test_files_of_deleted_segments_and_topics_go_after_a_delay() -> None:
    world = World(QUICK)
    delayed = {"file_delete_delay_ms": "5000", "internal_segment_bytes": ONE_BATCH}
    world.create_topic("t", retention_ms="1000", **delayed)
    world.create_topic("gone", **delayed)
    world.produce("t", "old")
    world.produce("gone", "x")
    world.wait(600)
    world.produce("t", "young")
    topic = request_definition(ApiKey.DELETE_TOPICS).struct("DeleteTopicState", name="gone")
    assert (
        world.call(ApiKey.DELETE_TOPICS, 6, topics=[topic], timeout_ms=1_000)
        .responses[0]
        .error_code
        == 0
    )
    world.wait(600)

    def doomed() -> set[str]:
        paths = world.storage.paths()
        return {path for path in paths if ".deleted" in path or "-delete/" in path}

    assert any(path.startswith("data/t-0/") for path in doomed())
    assert any(path.startswith("data/gone-0.") for path in doomed())
    world.wait(3000)
    assert doomed()
    world.wait(3000)
    assert doomed() == set()


def test_idle_producers_are_forgotten_by_a_timer_of_their_own() -> None:
    world = World(
        {"producer.id.expiration.ms": "1000", "producer.id.expiration.check.interval.ms": "300"}
    )
    world.create_topic("t")
    ids: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0}
    assert world.produce("t", "a", base_sequence=0, **ids).error_code == 0
    assert world.produce("t", "b", base_sequence=5, **ids).error_code == OUT_OF_ORDER
    world.wait(1400)
    assert world.produce("t", "b", base_sequence=5, **ids).base_offset == 1


def test_a_round_over_many_partitions_lets_others_have_their_turn() -> None:
    world = World(QUICK)
    world.create_topic("t", 5, retention_ms="1000", internal_segment_bytes=ONE_BATCH)
    for partition in range(5):
        world.produce("t", "old", partition=partition)
        world.produce("t", "young", partition=partition)
    turns = 0

    def must_give_way() -> bool:
        nonlocal turns
        turns += 1
        return True

    world.node.must_give_way = must_give_way
    world.wait(2_000)
    world.node.must_give_way = never
    assert turns > 10
    assert [world.fetch("t", 0, partition=index).error_code for index in range(5)] == [1] * 5


def test_a_topic_deleted_in_mid_round_is_passed_over() -> None:
    world = World(QUICK)
    world.create_topic("t", 3, retention_ms="1000")
    world.create_topic("u", 3, retention_ms="1000")
    world.node.must_give_way = lambda: True
    world.wait(100)
    world.node.must_give_way = never
    world.call(ApiKey.DELETE_TOPICS, 5, topic_names=["t", "u"], timeout_ms=1000)
    world.wait(5_000)
    assert world.reports == []
