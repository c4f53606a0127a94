"""Files that are damaged, and disks that fail: they cost one partition, not the broker."""

from __future__ import annotations

from reference_impl.core.tests.transactional import Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.wire import ApiKey, ErrorCode, Struct, request_definition

STORAGE_ERROR = ErrorCode.KAFKA_STORAGE_ERROR
FIRST_SEGMENT = "0" * 20 + ".log"


def damaged_world() -> tuple[World, str, bytes]:
    """Return a world with two topics, one with a flipped bit in its first, closed segment, and that
    segment's bytes before."""
    world = World()
    for name in ("bad", "good"):
        world.create_topic(name, internal_segment_bytes="100")
        for value in ("a", "b", "c"):
            assert world.produce(name, value).error_code == 0
    path = f"data/bad-0/{FIRST_SEGMENT}"
    whole = world.storage.read_file(path)
    world.storage.corrupt(path, 65, b"\xff")
    return world, path, whole


def list_latest(world: World, topic: str) -> Struct:
    of = request_definition(ApiKey.LIST_OFFSETS)
    partition = of.struct("ListOffsetsPartition", partition_index=0, timestamp=-1)
    entry = of.struct("ListOffsetsTopic", name=topic, partitions=[partition])
    answer = world.call(ApiKey.LIST_OFFSETS, 7, replica_id=-1, topics=[entry])
    found: Struct = answer.topics[0].partitions[0]
    return found


def test_a_damaged_partition_is_offline_and_the_others_are_served() -> None:
    world, path, _ = damaged_world()
    world.kill()
    assert world.produce("bad", "d").error_code == STORAGE_ERROR
    assert world.fetch("bad", 0).error_code == STORAGE_ERROR
    assert list_latest(world, "bad").error_code == STORAGE_ERROR
    assert world.produce("good", "d").error_code == 0
    assert world.read_all("good") == ["a", "b", "c", "d"]
    (told,) = [report for report in world.reports if "offline" in report]
    assert told.startswith(
        f"bad-0 is offline until it is repaired and the broker restarted: {path}"
    )


def test_a_clean_shutdown_does_not_make_damage_trusted() -> None:
    world, path, whole = damaged_world()
    world.kill()
    world.restart()
    assert world.fetch("bad", 0).error_code == STORAGE_ERROR
    world.storage.corrupt(path, 0, whole)  # somebody has restored the file
    world.restart()
    assert world.read_all("bad") == ["a", "b", "c"]
    assert world.produce("bad", "d").base_offset == 3


def test_a_damaged_partition_can_be_deleted() -> None:
    world, _, _ = damaged_world()
    world.kill()
    topic = request_definition(ApiKey.DELETE_TOPICS).struct("DeleteTopicState", name="bad")
    assert (
        world.call(ApiKey.DELETE_TOPICS, 6, topics=[topic], timeout_ms=1_000)
        .responses[0]
        .error_code
        == 0
    )
    world.create_topic("bad")
    assert world.produce("bad", "new").base_offset == 0
    assert world.read_all("bad") == ["new"]


def test_a_partition_that_is_offline_gets_its_marker_when_it_is_back() -> None:
    world = transactional_world()
    world.create_topic("u", 2, internal_segment_bytes="100")
    producer = Producer(world)
    producer.init()
    assert producer.add("u", 0, 1) == 0
    for partition in (0, 1):
        for value in ("x", "y"):
            assert producer.send(value, topic="u", partition=partition).error_code == 0
    path = f"data/u-0/{FIRST_SEGMENT}"
    whole = world.storage.read_file(path)
    world.storage.corrupt(path, 65, b"\xff")
    world.kill()
    assert producer.end(commit=True).error_code == 0
    assert world.fetch("u", 0, partition=1).high_watermark == 3, "the other one has its marker"
    world.wait(40_000)
    assert world.fetch("u", 0, partition=1).high_watermark == 3, "and gets no second one"
    assert sum("not complete yet" in report for report in world.reports) == 6, "with back-off"
    world.storage.corrupt(path, 0, whole)
    world.kill()
    row = world.fetch("u", 0, isolation_level=1)
    assert (row.last_stable_offset, row.high_watermark) == (3, 3)


def test_a_full_disk_refuses_deletion_and_serves_on() -> None:
    world = World()
    world.create_topic("t")
    for value in ("a", "b"):
        assert world.produce("t", value).error_code == 0
    world.storage.capacity_bytes = 0  # full: no checkpoint can be written any more
    of = request_definition(ApiKey.DELETE_RECORDS)
    wanted = of.struct("DeleteRecordsPartition", partition_index=0, offset=1)
    entry = of.struct("DeleteRecordsTopic", name="t", partitions=[wanted])
    row = world.call(ApiKey.DELETE_RECORDS, 2, topics=[entry]).topics[0].partitions[0]
    assert (row.error_code, row.low_watermark) == (STORAGE_ERROR, -1)
    assert world.produce("t", "c").error_code == STORAGE_ERROR
    assert world.fetch("t", 1).error_code == 0
    world.storage.capacity_bytes = None
    assert world.produce("t", "c").error_code == 0
    again = world.call(ApiKey.DELETE_RECORDS, 2, topics=[entry]).topics[0].partitions[0]
    assert (again.error_code, again.low_watermark) == (0, 1)
