"""What the broker does from time to time: flush, forget, write checkpoints."""

from __future__ import annotations

from reference_impl.core.log.partition_log import PartitionLog
from reference_impl.core.tests.world import World

ROUND_MS = 60_000
"""log.flush.offset.checkpoint.interval.ms, default."""


def log_of(world: World, topic: str) -> PartitionLog:
    partition = world.node.broker.replicas.get(topic, 0)
    assert partition is not None
    return partition.log


def test_records_older_than_flush_ms_are_flushed_without_another_append() -> None:
    world = World()
    world.create_topic("flushed", flush_ms="1000")
    world.create_topic("left", flush_ms="600000")
    world.produce("flushed", "a")
    world.produce("left", "a")
    world.wait(ROUND_MS)
    assert log_of(world, "flushed").recovery_point == 1
    assert log_of(world, "left").recovery_point == 0
    world.lose_power()
    assert world.read_all("flushed") == ["a"]


def test_checkpoints_are_written_again_and_again() -> None:
    world = World()
    world.create_topic("t", flush_messages="1")
    for count in (1, 2, 3):
        world.produce("t", "a")
        world.wait(ROUND_MS)
        text = world.storage.read_file("data/recovery-point-offset-checkpoint").decode()
        assert f"t 0 {count}" in text.splitlines()


def test_a_producer_that_wrote_nothing_for_long_is_forgotten() -> None:
    world = World({"producer.id.expiration.ms": "120000"})
    world.create_topic("t")
    world.produce("t", "a", producer_id=7, producer_epoch=0, base_sequence=0)
    producers = log_of(world, "t").producer_state
    world.wait(ROUND_MS)
    assert producers.entry(7) is not None
    world.wait(ROUND_MS)
    assert producers.entry(7) is None
