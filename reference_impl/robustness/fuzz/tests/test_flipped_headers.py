"""Every single bit of batch headers, turned; then an unclean start: what became of each.

Three segments (the first, one between, the last) of three logs: data, offsets, metadata. Nothing
that was acknowledged may be cut off silently: a log whose damage is seen is not opened, all others
are served. Bits of the leader epoch are under no checksum, in Kafka's format too.
"""

from __future__ import annotations

from collections import Counter
from importlib import resources
from random import Random

import pytest

import reference_impl
from reference_impl.core.tests.transactional import CONFIG
from reference_impl.core.tests.world import World
from reference_impl.host.serve import CANNOT_START
from reference_impl.robustness.fuzz.tests.test_damaged_files import (
    Files,
    files_in,
    served,
    started_over,
)
from reference_impl.wire import HEADER_BYTES, ApiKey, ErrorCode, request_definition

VALUES = [str(n) for n in range(40)]
COMMITS = 30
LOGS = {
    "data/rolled-0/": "data",
    "data/__consumer_offsets-0/": "offsets",
    "data/__cluster_metadata-0/": "metadata",
}
"""The log's directory, and what the table calls it."""
SEGMENTS = ("first", "between", "last")
TABLE = "README.md"
"""The README of reference_impl, which has the rows that the nightly test finds."""
SMALL_SEGMENT = 700
BITS = range(HEADER_BYTES * 8)
LEADER_EPOCH = range(12 * 8, 16 * 8)
TRIED = 24
"""Bits of each header in `make test`; the night turns all."""
UNHARMED = "all logs whole"
KEPT_SHUT = "its log is offline and reported, the others are whole"
NOT_STARTED = "the broker does not start, and says why"


@pytest.fixture(scope="module")
def files() -> Files:
    """Return the disk of a broker that was killed, with some segments of each log."""
    small = {"internal.metadata.log.segment.bytes": str(SMALL_SEGMENT)}
    world = World({**CONFIG, **small, "offsets.topic.num.partitions": "1"})
    world.create_topic("rolled", internal_segment_bytes="1000", index_interval_bytes="200")
    for n in range(5):
        world.create_topic(f"more-{n}")
    for value in VALUES:
        assert world.produce("rolled", value).error_code == 0
        assert world.produce("more-0", value).error_code == 0
    world.call(ApiKey.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["g"])
    roll_small(world, "__consumer_offsets")
    for offset in range(COMMITS):
        commit(world, offset)
    return files_in(world.storage, "data")


def roll_small(world: World, topic: str) -> None:
    """Let the segments of a topic be small."""
    of = request_definition(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    change = of.struct(
        "AlterableConfig",
        name="internal.segment.bytes",
        config_operation=0,
        value=str(SMALL_SEGMENT),
    )
    row = of.struct("AlterConfigsResource", resource_type=2, resource_name=topic, configs=[change])
    answer = world.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[row])
    assert answer.responses[0].error_code == 0


def commit(world: World, offset: int) -> None:
    of = request_definition(ApiKey.OFFSET_COMMIT)
    row = of.struct("OffsetCommitRequestPartition", partition_index=0, committed_offset=offset)
    topic = of.struct("OffsetCommitRequestTopic", name="rolled", partitions=[row])
    answer = world.call(
        ApiKey.OFFSET_COMMIT,
        8,
        group_id="g",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[topic],
    )
    assert answer.topics[0].partitions[0].error_code == 0


def committed(world: World) -> int | ErrorCode:
    """Return the group's committed offset, or the error that a client gets."""
    of = request_definition(ApiKey.OFFSET_FETCH)
    topic = of.struct("OffsetFetchRequestTopics", name="rolled", partition_indexes=[0])
    group = of.struct("OffsetFetchRequestGroup", group_id="g", topics=[topic])
    found = world.call(ApiKey.OFFSET_FETCH, 8, groups=[group]).groups[0]
    if found.error_code:
        return ErrorCode(found.error_code)
    offset: int = found.topics[0].partitions[0].committed_offset
    return offset


def places(files: Files, log: str) -> list[tuple[str, int]]:
    """Return file and position of a batch that is followed by others, in three segments of a
    log."""
    paths = sorted(path for path in files if path.startswith(log) and path.endswith(".log"))
    assert len(paths) >= 3, paths
    found = []
    for path in (paths[0], paths[len(paths) // 2], paths[-1]):
        positions, at = [], 0
        while at < len(files[path]):
            positions.append(at)
            at += 12 + int.from_bytes(files[path][at + 8 : at + 12], "big")
        assert len(positions) >= 2, path
        found.append((path, positions[(len(positions) - 1) // 2]))
    return found


def outcome(files: Files, path: str, position: int, bit: int) -> str:
    """Return what becomes of it. Raise AssertionError if something else is lost or altered."""
    data = bytearray(files[path])
    data[position + bit // 8] ^= 0x80 >> bit % 8
    try:
        world = started_over({**files, path: bytes(data)})
    except CANNOT_START as refusal:
        assert path in str(refusal), str(refusal)
        assert "__cluster_metadata" in path, str(refusal)
        return NOT_STARTED
    assert served(world, "more-0", 0) == VALUES
    rolled, offset = served(world, "rolled", 0), committed(world)
    if rolled == VALUES and offset == COMMITS - 1:
        return UNHARMED
    assert any(path in report and "offline" in report for report in world.reports), world.reports
    if "/rolled-0/" in path:
        assert (rolled, offset) == (ErrorCode.KAFKA_STORAGE_ERROR, COMMITS - 1)
    else:
        assert rolled == VALUES
        assert isinstance(offset, ErrorCode)
    return KEPT_SHUT


def check(files: Files, log: str, bits: list[int]) -> list[str]:
    """Flip these bits in a batch of each segment of a log, start the broker on it, and return the
    table's rows."""
    table: Counter[tuple[int, str]] = Counter()
    for segment, (path, position) in enumerate(places(files, log)):
        for bit in bits:
            became = outcome(files, path, position, bit)
            table[segment, became] += 1
            assert (became == UNHARMED) == (bit in LEADER_EPOCH), f"{path}, bit {bit}: {became}"
    return [
        f"| {LOGS[log]} | {SEGMENTS[segment]} | {count} | {became} |"
        for (segment, became), count in sorted(table.items())
    ]


@pytest.mark.parametrize("log", LOGS)
def test_some_flipped_bits_of_headers(files: Files, log: str) -> None:
    """Always the first of every byte's kind: base offset, length, CRC, and some by chance."""
    bits = {0, 31, 33, 63, 64, 95, 100, 128, 135, 136, 167}
    check(files, log, sorted(bits | set(Random(log).sample(BITS, TRIED - len(bits)))))


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("log", LOGS)
def test_every_flipped_bit_of_headers(files: Files, log: str) -> None:
    rows = check(files, log, list(BITS))
    told = resources.files(reference_impl).joinpath(TABLE).read_text("utf-8").splitlines()
    assert rows == [line for line in told if line.startswith(f"| {LOGS[log]} |")]


def start_without(files: Files, *gone: str, clean: bool = False) -> World:
    """Start a broker without these files."""
    left = {path: data for path, data in files.items() if path not in gone}
    if clean:
        left["data/.kafka_cleanshutdown"] = b'{"version":0,"brokerEpoch":-1}'
    return started_over(left)


@pytest.mark.parametrize("clean", [True, False])
def test_a_segment_that_is_missing_is_said(files: Files, clean: bool) -> None:
    paths = sorted(path for path in files if "/rolled-0/" in path and path.endswith(".log"))
    world = start_without(files, paths[1], clean=clean)
    assert any("are in no segment" in report for report in world.reports), world.reports


def test_an_index_of_another_segment_is_said_and_written_anew(files: Files) -> None:
    paths = sorted(path for path in files if "/rolled-0/" in path and path.endswith(".index"))
    first, second = (files[path] for path in paths[:2])
    assert first and second
    foreign = {**files, paths[0]: second[:8] if first == second else second, paths[1]: first[8:]}
    foreign["data/.kafka_cleanshutdown"] = b'{"version":0,"brokerEpoch":-1}'
    world = started_over(foreign)
    assert served(world, "rolled", 0) == VALUES


def test_partitions_without_meta_properties_are_refused(files: Files) -> None:
    with pytest.raises(CANNOT_START, match=r"but no meta\.properties"):
        start_without(files, "data/meta.properties")
