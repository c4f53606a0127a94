"""Random damage to any one file of a data directory, and a start: served, or refused by name.

Undamaged data is served in full, and a refused start leaves all files as they were.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from random import Random

import pytest

from reference_impl.core.events import Stopping
from reference_impl.core.storage import MemoryStorage, StorageError
from reference_impl.core.tests.transactional import CONFIG, Producer, transactional_world
from reference_impl.core.tests.world import World
from reference_impl.host.serve import CANNOT_START
from reference_impl.robustness.conversation import end_of, values_in
from reference_impl.wire import ApiKey, CorruptRecord, ErrorCode

RECORDS = [str(number) for number in range(60)]
DERIVED = (".index", ".timeindex", ".txnindex", ".snapshot", "leader-epoch-checkpoint")
"""Files that the log itself can give back."""
TOPICS = {("t", 0): ["a", "a"], ("t", 1): ["a", "a"], ("rolled", 0): RECORDS}
"""Partition -> its values, those of aborted records included."""

Files = dict[str, bytes]


def files_of_a_broker(*, clean: bool) -> Files:
    """Return the disk of a broker that had topics, transactions and groups."""
    world = transactional_world()
    world.create_topic("rolled", internal_segment_bytes="1000", index_interval_bytes="200")
    for value in RECORDS:
        world.produce("rolled", value)
    producer = Producer(world)
    assert producer.init().error_code == ErrorCode.NONE
    for commit in (True, False):
        producer.transaction("a", commit=commit, partitions=2)
    assert producer.add("t", 0) == producer.add_offsets() == producer.commit_offset(1) == 0
    assert producer.end(commit=True).error_code == ErrorCode.NONE
    if clean:
        world.node.step(Stopping(*world.moment()))
    return files_in(world.storage, "data")


def files_in(storage: MemoryStorage, directory: str) -> Files:
    """Return every file below a directory."""
    found: Files = {}
    for name in storage.list(directory):
        path = f"{directory}/{name}"
        try:
            found |= files_in(storage, path)
        except StorageError:
            found[path] = storage.read_file(path)
    return found


def damaged(random: Random, data: bytes) -> bytes | None:
    """Return other content, or None: the file is deleted."""
    at = random.randrange(len(data) or 1)
    kinds: list[Callable[[], bytes | None]] = [
        lambda: data[:at] + bytes((data[at] ^ 1 << random.randrange(8),)) + data[at + 1 :],
        lambda: data[:at],
        lambda: data + random.randbytes(random.randrange(1, 100)),
        lambda: data[:at] + bytes(len(data) - at),
        lambda: random.randbytes(len(data)),
        lambda: b"",
        lambda: None,
    ]
    return random.choice(kinds if data else kinds[2:])()


def started_over(files: Files) -> World:
    """Start a broker over these files; let what a start may raise pass."""
    world = World(CONFIG)
    world.storage = MemoryStorage()
    for path, data in files.items():
        world.storage.make_directory(posixpath.dirname(path))
        world.storage.write_atomically(path, data)
    world.boot()
    return world


def served(world: World, topic: str, partition: int) -> list[str] | ErrorCode:
    """Return every value of a partition, or the error that a client gets."""
    found: list[str] = []
    offset = 0
    while True:
        row = world.fetch(topic, offset, partition)
        if row.error_code:
            return ErrorCode(row.error_code)
        if offset >= row.high_watermark:
            return found
        try:
            found += values_in(row.records)
        except CorruptRecord:
            return ErrorCode.CORRUPT_MESSAGE  # no broker looks at what it sends; clients do
        offset = end_of(row.records)


@pytest.fixture(scope="module")
def disks() -> dict[bool, Files]:
    return {clean: files_of_a_broker(clean=clean) for clean in (True, False)}


@pytest.mark.seeds(60)
def test_one_damaged_file_costs_its_partition_at_most(seed: int, disks: dict[bool, Files]) -> None:
    random = Random(seed)
    files = dict(disks[random.random() < 0.5])
    path = random.choice(sorted(files))
    new = damaged(random, files.pop(path))
    files |= {path: new} if new is not None else {}
    try:
        world = started_over(files)
    except CANNOT_START as refusal:
        assert posixpath.dirname(path) in str(refusal), f"{path}: {refusal}"
        assert not path.endswith(DERIVED), str(refusal)
        return
    check_what_is_served(world, path)


def check_what_is_served(world: World, path: str) -> None:
    """Require that undamaged partitions are complete, and that the damaged one has nothing that was
    not written."""
    if "__cluster_metadata" in path:
        return  # its end was torn off: topics may be gone with it, and their files are set aside
    for (topic, partition), values in TOPICS.items():
        found = served(world, topic, partition)
        if f"/{topic}-{partition}/" not in path or path.endswith(DERIVED):
            assert found == values, f"{path}: {topic}-{partition} serves {found}"
        elif isinstance(found, list):
            rest = iter(values)  # what a whole segment held may be gone, but nothing is added
            assert all(value in rest for value in found), f"{path}: {found} is served"
        else:
            assert found in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.CORRUPT_MESSAGE)
        world.produce(topic, "new", partition=partition)
    world.call(ApiKey.LIST_GROUPS, 4)
    world.call(ApiKey.LIST_TRANSACTIONS, 0)
    world.kill()
