"""The files of a partition, as tools and recovery expect them (only where the suite sees the disk).

Sources: documentation#log, design#persistence; LogFileUtils, OffsetIndex, TimeIndex,
LeaderEpochCheckpointFile, PartitionMetadataFile.
"""

from __future__ import annotations

import base64
import struct
from pathlib import Path

from conformance.case import case, expect
from conformance.cases.log.segments import ROLLING, STEP_MS, keyed, now_ms
from conformance.target.examination import Examined
from conformance.wire import Topic, Wire, eventually
from reference_impl.wire import ErrorCode

OFFSET_ENTRY, TIME_ENTRY = struct.Struct(">ii"), struct.Struct(">qi")
"""(relative offset, position) and (timestamp, relative offset)."""
EVERY_BATCH = {**ROLLING, "index.interval.bytes": "0"}
"""Topic settings with which each batch but the first of a segment gets an entry of the indexes."""


def directory_of(wire: Wire, examined: Examined, topic: Topic) -> Path:
    """Return the directory of partition 0 on its leader."""
    leader = wire.topic_metadata(topic.name).partitions[0].leader_id
    return examined.data_of(leader) / f"{topic.name}-0"


def append_two(wire: Wire, topic: Topic, at_ms: int) -> int:
    """Append two batches of two records each, the second 1 ms younger; return the offset of the
    first record."""
    first = wire.produce(topic, keyed([(b"k", b"1"), (b"k", b"2")], at_ms))
    second = wire.produce(topic, keyed([(b"k", b"3"), (b"k", b"4")], at_ms + 1))
    expect((first.error_code, second.error_code), (ErrorCode.NONE,) * 2, "errors of Produce")
    return int(first.base_offset)


def entries(file: Path, entry: struct.Struct) -> list[tuple[int, ...]]:
    """Return the entries of an index; its unused end, which is zero, is left out."""
    found = list(entry.iter_unpack(file.read_bytes()))
    while found and not any(found[-1]):
        found.pop()
    return found


@case(
    "LOG-16",
    "Produce",
    spec="design#persistence; class LogFileUtils; class OffsetIndex; class TimeIndex",
    priority="P2",
    requires=["restart"],
)
def test_segments_and_indexes_are_named_and_laid_out_as_documented(
    wire: Wire, examined: Examined
) -> None:
    """A segment's files .log, .index and .timeindex are named by its first offset in 20 digits. The
    .log files hold the bytes that a fetch returns. Entries of .index have 8 bytes (relative offset,
    position of its batch), those of .timeindex 12 (timestamp, relative offset); a closed segment's
    last time is its greatest."""
    topic = wire.create_topic(config=EVERY_BATCH)
    base_ms = now_ms() - 100 * STEP_MS
    for number in range(3):
        expect(append_two(wire, topic, base_ms + number * STEP_MS), 4 * number, "base offset")
    directory = directory_of(wire, examined, topic)
    logs = sorted(directory.glob("*.log"))
    starts = [f"{offset:020}" for offset in (0, 4, 8)]
    expect([file.stem for file in logs], starts, "names of the segments")
    # A fetch may end with the segment, or go on in the next one.
    for file in logs:
        fetched = bytes(wire.fetch(topic, int(file.stem)).records)
        expect(fetched[: file.stat().st_size], file.read_bytes(), f"bytes of {file.name}")
    size = logs[0].stat().st_size // 2
    for number, start in enumerate(starts[:-1]):
        at_ms = base_ms + number * STEP_MS
        offsets = entries(directory / f"{start}.index", OFFSET_ENTRY)
        expect(offsets, [(3, size)], f"entries of {start}.index")
        times = entries(directory / f"{start}.timeindex", TIME_ENTRY)
        expect(times[-1:], [(at_ms + 1, times[-1][1] if times else None)], "the greatest time")
        expect(times[-1][1] in (2, 3), True, "the greatest time is of an offset of the last batch")


@case(
    "LOG-16",
    "Produce",
    spec="class LeaderEpochCheckpointFile; class PartitionMetadataFile; KIP-101; KIP-516",
    priority="P2",
    requires=["restart"],
)
def test_a_partition_keeps_its_topic_id_and_leader_epochs(wire: Wire, examined: Examined) -> None:
    """Beside the segments partition.metadata holds the version 0 and the topic's id, and
    leader-epoch-checkpoint the version 0, the number of epochs, and the first offset of each."""
    topic = wire.create_topic()
    append_two(wire, topic, now_ms())
    directory = directory_of(wire, examined, topic)
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    name = "leader-epoch-checkpoint"
    eventually(
        lambda: (directory / name).read_text().split("\n"),
        lambda lines: lines == ["0", "1", f"{epoch} 0", ""],
        f"{name} has epoch {epoch} from offset 0",
    )
    told = dict(
        line.split(": ", 1) for line in (directory / "partition.metadata").read_text().splitlines()
    )
    expect(told, {"version": "0", "topic_id": kafka_form(topic)}, "partition.metadata")


def kafka_form(topic: Topic) -> str:
    """Return the topic's id as Kafka writes it: base 64 without padding."""
    return base64.urlsafe_b64encode(topic.id.bytes).decode().rstrip("=")
