"""A node writes snapshots of the metadata, and starts from the newest one that is whole."""

from __future__ import annotations

import pytest

from reference_impl.core.controller.image.image_records import records_of
from reference_impl.core.controller.records import config_record
from reference_impl.core.log.batch_scan import CorruptLog
from reference_impl.core.log.directories.log_directory import LogDirectory
from reference_impl.core.quorum.metadata_log import MetadataLog
from reference_impl.core.quorum.snapshots.snapshot_file import SnapshotId
from reference_impl.core.rules import Rules
from reference_impl.core.tests.world import World
from reference_impl.wire import Struct, definition

DIRECTORY = "data/__cluster_metadata-0"
OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "300"}
SELDOM = {"metadata.log.max.snapshot.interval.ms": "60000"}


def world_with(config: dict[str, str], topics: int = 3) -> World:
    world = World(config=config)
    for number in range(topics):
        world.create_topic(f"t{number}", retention_ms="60000")
    return world


def snapshots_of(world: World) -> list[SnapshotId]:
    found = [SnapshotId.of_file(path.rpartition("/")[2]) for path in world.storage.paths()]
    return sorted(id for id in found if id is not None)


def files_of(world: World) -> list[str]:
    return [p for p in world.storage.paths() if p.startswith(DIRECTORY) and ".checkpoint" in p]


def image_of(world: World) -> list[str]:
    """Return what the broker knows of topics and configurations; each start elects new leaders."""
    kinds = ("TopicRecord", "ConfigRecord", "FeatureLevelRecord")
    records = records_of(world.node.broker.image)
    return sorted(repr(record) for record in records if type(record).__name__ in kinds)


def lose_log(world: World) -> None:
    """Delete the segments of the metadata log, and leave the snapshots."""
    for path in world.storage.paths():
        if path.startswith(DIRECTORY) and path.endswith((".log", "index")):
            world.storage.delete(path)


def append(world: World, *records: Struct) -> None:
    world.node.broker.controller.write(records)


def test_a_snapshot_is_written_once_enough_bytes_are_committed() -> None:
    world = world_with(OFTEN)
    world.wait(2_000)
    (id,) = snapshots_of(world)
    log = world.node.broker.quorum.log
    assert id == SnapshotId(log.end_offset, log.last_epoch)
    world.wait(5_000)
    assert snapshots_of(world) == [id], "nothing was committed since"


def test_a_snapshot_is_written_once_the_last_is_too_old() -> None:
    world = world_with(SELDOM)
    world.wait(55_000)
    assert snapshots_of(world) == []
    world.wait(10_000)
    (first,) = snapshots_of(world)
    world.wait(200_000)
    assert snapshots_of(world) == [first], "nothing was committed since"
    world.create_topic("later")
    world.wait(2_000)
    assert len(snapshots_of(world)) == 2


def test_an_interval_of_zero_asks_for_none() -> None:
    world = world_with({"metadata.log.max.snapshot.interval.ms": "0"})
    world.wait(100_000)
    assert snapshots_of(world) == []


def test_no_snapshot_ends_within_a_transaction() -> None:
    world = world_with(OFTEN)
    append(world, definition("BeginTransactionRecord").new())
    append(world, config_record(4, "", "log.retention.ms", "7"))
    world.wait(3_000)
    assert snapshots_of(world) == []
    append(world, definition("EndTransactionRecord").new())
    world.wait(3_000)
    (id,) = snapshots_of(world)
    snapshot = world.node.broker.quorum.log.snapshots.read(id)
    assert [r.value for r in snapshot.records if getattr(r, "name", "") == "log.retention.ms"]


@pytest.mark.parametrize("is_log_lost", [False, True])
def test_a_node_starts_from_its_snapshot(*, is_log_lost: bool) -> None:
    world = world_with(OFTEN)
    world.wait(2_000)
    before = image_of(world)
    (id,) = snapshots_of(world)
    world.storage.kill()
    if is_log_lost:  # of a follower that had fetched the snapshot, and nothing after it
        lose_log(world)
    world.boot()
    log = world.node.broker.quorum.log
    assert image_of(world) == before
    assert log.log.segment_base_offsets == [id.offset if is_log_lost else 0]
    world.create_topic("later")
    assert log.end_offset > id.offset
    world.kill()
    assert world.node.broker.image.topics.keys() == {"t0", "t1", "t2", "later"}


def test_a_log_that_begins_after_every_snapshot_stops_the_node() -> None:
    world = world_with(OFTEN)
    world.wait(2_000)
    world.storage.kill()
    lose_log(world)
    world.boot()  # the log goes on where the snapshot ends
    world.storage.kill()
    for path in files_of(world):
        world.storage.delete(path)
    with pytest.raises(CorruptLog, match="no whole snapshot"):
        world.boot()


@pytest.mark.parametrize("damage", ["cut short", "damaged"])
def test_a_damaged_snapshot_is_set_aside_with_its_reason(damage: str) -> None:
    world = world_with(OFTEN)
    world.wait(2_000)
    before = image_of(world)
    world.storage.kill()
    (path,) = files_of(world)
    if damage == "cut short":
        file = world.storage.open(path)
        file.truncate(file.size() - 75)  # the footer
    else:
        world.storage.corrupt(path, 200, b"?")
    world.boot()
    assert [said for said in world.reports if damage in said and "set aside" in said]
    assert files_of(world) == [path + ".damaged"]
    assert image_of(world) == before


def test_a_snapshot_that_was_never_finished_is_forgotten() -> None:
    world = world_with(OFTEN, topics=1)
    world.storage.kill()
    world.storage.write_atomically(f"{DIRECTORY}/{SnapshotId(3, 1).file_name}.part", b"x")
    world.boot()
    assert files_of(world) == []


def test_a_full_disk_leaves_no_snapshot_and_the_log() -> None:
    world = world_with(OFTEN)
    world.storage.capacity_bytes = sum(
        len(world.storage.read_file(path)) for path in world.storage.paths()
    )
    world.wait(3_000)
    assert files_of(world) == []
    assert [said for said in world.reports if "snapshot" in said and "no space" in said]
    world.storage.capacity_bytes = None
    for number in range(3):
        world.create_topic(f"later{number}")
    world.wait(2_000)
    assert len(snapshots_of(world)) == 1


def test_a_controller_that_forgets_begins_with_the_snapshot() -> None:
    world = world_with(OFTEN)
    world.wait(2_000)
    world.create_topic("later")
    broker = world.node.broker
    history = list(broker.quorum.log.history())
    assert [batch.is_snapshot for batch in history][:2] == [True, False]
    assert history[-1].end_offset == broker.quorum.log.high_watermark
    broker.controller.image.end_offset = broker.quorum.log.end_offset + 1
    broker.controller.leader_changed(None, 9)
    assert broker.controller.image.topics.keys() == {"t0", "t1", "t2", "later"}


SMALL = {**OFTEN, "internal.metadata.log.segment.bytes": "300"}


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({}, 3),
        ({"metadata.max.retention.bytes": "0"}, 1),
        ({"metadata.max.retention.ms": "3600000"}, 2),
        ({"metadata.max.retention.bytes": "-1", "metadata.max.retention.ms": "-1"}, 3),
    ],
)
def test_old_snapshots_go_and_the_log_before_the_oldest(limits: dict[str, str], kept: int) -> None:
    """The first snapshot is older than an hour when the third is written; the second is not."""
    world = world_with({**SMALL, **limits})
    for number in range(2):
        world.wait(2_000_000)
        for each in range(3):
            world.create_topic(f"later{number}.{each}")
    world.wait(120_000)
    ids = snapshots_of(world)
    assert len(ids) == kept
    log = world.node.broker.quorum.log
    assert log.start_offset == (0 if kept == 3 else ids[0].offset)
    before = image_of(world)
    world.kill()
    assert image_of(world) == before
    assert world.node.broker.quorum.log.start_offset <= log.start_offset


def test_the_segments_before_the_oldest_snapshot_are_deleted() -> None:
    world = world_with({**SMALL, "metadata.max.retention.bytes": "0"}, topics=6)
    world.wait(2_000)
    for number in range(6):
        world.create_topic(f"later{number}")
    world.wait(2_000)
    log = world.node.broker.quorum.log
    assert log.log.segment_base_offsets[0] > 0
    world.wait(200_000)  # file.delete.delay.ms
    first = min(p for p in world.storage.paths() if p.startswith(DIRECTORY) and p.endswith(".log"))
    assert first == f"{DIRECTORY}/{log.log.segment_base_offsets[0]:020d}.log"


def test_a_log_that_is_deleted_as_a_whole_keeps_its_last_epoch() -> None:
    """Otherwise the node would vote for candidates that lack committed records."""
    world = world_with({**SMALL, "metadata.max.retention.bytes": "0"}, topics=6)
    world.wait(2_000)
    for number in range(6):
        world.create_topic(f"later{number}")
    world.wait(2_000)
    log = world.node.broker.quorum.log
    assert log.start_offset == log.end_offset
    end = log.end
    world.storage.kill()
    directory = LogDirectory(world.storage, "data", Rules())
    assert MetadataLog(directory, world.now_ms).end == end
