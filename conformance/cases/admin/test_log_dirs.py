"""DescribeLogDirs: where partitions lie, and how large they are (KIP-113)."""

from __future__ import annotations

from conformance.case import case, each, expect, expect_that
from conformance.target.settings import broker_setting
from conformance.wire import Connection, Wire, batch, eventually, part
from reference_impl.wire import ErrorCode, Struct


def directories(
    broker: Connection, version: int, wanted: dict[str, list[int]] | None
) -> list[Struct]:
    """Return the DescribeLogDirs results of one broker."""
    topics = (
        None
        if wanted is None
        else [
            part("DescribeLogDirs", "DescribableLogDirTopic", topic=topic, partitions=indexes)
            for topic, indexes in wanted.items()
        ]
    )
    answer = broker.call("DescribeLogDirs", version, topics=topics)
    expect(answer.error_code, 0, "DescribeLogDirs error")
    return list(answer.results)


def sizes(results: list[Struct], topic: str) -> dict[int, int]:
    """Return partition -> size of a topic."""
    entries = [entry for found in results for entry in found.topics if entry.name == topic]
    return {row.partition_index: row.partition_size for e in entries for row in e.partitions}


def moved(broker: Connection, version: int, path: str, topic: str, *indexes: int) -> dict[int, int]:
    """Send AlterReplicaLogDirs for partitions of one topic; return partition -> error code."""
    entry = part(
        "AlterReplicaLogDirs", "AlterReplicaLogDirTopic", name=topic, partitions=list(indexes)
    )
    wanted = part("AlterReplicaLogDirs", "AlterReplicaLogDir", path=path, topics=[entry])
    answer = broker.call("AlterReplicaLogDirs", version, dirs=[wanted])
    return {p.partition_index: p.error_code for t in answer.results for p in t.partitions}


@case(
    "LOG-15",
    "AlterReplicaLogDirs",
    spec="KIP-113; class ReplicaManager, alterReplicaLogDirs",
    priority="P2",
)
def test_a_replica_stays_where_it_is_asked_to_lie(wire: Wire, version: int) -> None:
    """Moving a replica to the directory that holds it returns NONE, for a replica that does not
    exist UNKNOWN_TOPIC_OR_PARTITION (3), and to a directory that the broker does not have
    LOG_DIR_NOT_FOUND (57). The records stay."""
    topic = wire.create_topic()
    wire.produce(topic, batch(b"a").encode())
    leader, missing = wire.leader(topic), wire.new_name("missing")
    here = [
        d.log_dir
        for d in directories(leader, wire.version("DescribeLogDirs"), None)
        if any(entry.name == topic.name for entry in d.topics)
    ]
    expect(len(here), 1, "directories of the partition")
    unknown, nowhere = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LOG_DIR_NOT_FOUND
    expect(moved(leader, version, here[0], topic.name, 0, 7), {0: 0, 7: unknown}, "errors")
    expect(moved(leader, version, here[0], missing, 0), {0: unknown}, "errors of no topic")
    expect(
        moved(leader, version, "/no/such/directory", topic.name, 0),
        {0: nowhere},
        "errors elsewhere",
    )
    expect(wire.values(topic), [b"a"], "records")


@case("LOG-14", "DescribeLogDirs", spec="KIP-113; DescribeLogDirsResponse.json", priority="P2")
def test_a_partition_is_as_large_as_its_batches(wire: Wire, version: int) -> None:
    """DescribeLogDirs returns for each directory a path, no error, whether it is cordoned (v5+),
    and for each partition the exact size of its batches in bytes. Partitions that do not exist
    are omitted, one that is named twice is there once; null returns all partitions."""
    cordoned = (broker_setting(wire, "cordoned.log.dirs") or "").split(",")
    topic = wire.create_topic(partitions=2, on_one_broker=True)
    missing, leader = wire.new_name("missing"), wire.leader(topic)
    data = batch(b"a" * 100).encode()
    wire.produce(topic, data, partition=1)
    eventually(
        lambda: sizes(directories(leader, version, {topic.name: [0, 1]}), topic.name),
        lambda found: found == {0: 0, 1: len(data)},
        "sizes by partition",
    )
    found = directories(leader, version, {topic.name: [1, 9, 1], missing: [0]})
    for directory in each(found, "directories"):
        expect(directory.error_code, 0, "error of the directory")
        expect_that(len(directory.log_dir) > 0, "path of the directory", "some", directory.log_dir)
        if version >= 5 and cordoned != ["*"]:
            expect(directory.is_cordoned, directory.log_dir in cordoned, "is_cordoned")
    names = [entry.name for directory in found for entry in directory.topics]
    (row,) = [row for d in found for entry in d.topics for row in entry.partitions]
    expect((row.offset_lag, row.is_future_key), (0, False), "(offset lag, is it a future replica)")
    expect((sizes(found, topic.name), names), ({1: len(data)}, [topic.name]), "(sizes, topics)")
    everything = directories(leader, version, None)
    expect(sizes(everything, topic.name), {0: 0, 1: len(data)}, "sizes among all")
