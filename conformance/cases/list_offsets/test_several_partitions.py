"""Several topics and partitions in one request: each row of the answer is about its own partition,
not about a neighbour."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.list_offsets.test_list_offsets import ALL, EARLIEST, LATEST
from conformance.wire import Wire, batch, part, request
from reference_impl.wire import Struct

Place = tuple[str, int]
RECORDS = ((1, 3), (4, 2))
"""The records in the partitions of two topics."""


def two_topics(wire: Wire) -> dict[Place, int]:
    """Create two topics of two partitions on one broker. Return the records of each partition."""
    ends = {}
    for counts in RECORDS:
        topic = wire.create_topic(len(counts), on_one_broker=True)
        for partition, count in enumerate(counts):
            for _ in range(count):
                answer = wire.produce(topic, batch(b"a").encode(), partition=partition)
                expect(answer.error_code, 0, "produce error")
            ends[topic.name, partition] = count
    return ends


def ask(
    wire: Wire,
    api: str,
    version: int,
    names: tuple[str, str],
    rows: dict[Place, Struct],
    **fields: int,
) -> dict[Place, Struct]:
    """Send a request about these partitions to the broker that leads them; names: the struct of a
    topic, and the field of its name. Return the row of the answer for each."""
    struct, field = names
    topics = [
        part(
            api,
            struct,
            **{field: topic},
            partitions=[row for (name, _), row in rows.items() if name == topic],
        )
        for topic in dict.fromkeys(name for name, _ in rows)
    ]
    body = request(api, topics=topics, **fields)
    answer = wire.connect(address=wire.home()).call(api, version, body)
    index = "partition" if api == "OffsetForLeaderEpoch" else "partition_index"
    return {
        (getattr(topic, field), getattr(row, index)): row
        for topic in answer.topics
        for row in topic.partitions
    }


@case("LIST-01", "ListOffsets", versions=ALL, spec="KIP-79, ListOffsetRequest")
def test_each_partition_has_its_own_end(wire: Wire, version: int) -> None:
    """In one request about the partitions of two topics, timestamp -1 answers the high watermark of
    each, and -2 the log start of each."""
    ends = two_topics(wire)
    for asked, expected in ((LATEST, ends), (EARLIEST, dict.fromkeys(ends, 0))):
        rows = {
            place: part(
                "ListOffsets", "ListOffsetsPartition", partition_index=place[1], timestamp=asked
            )
            for place in ends
        }
        found = ask(wire, "ListOffsets", version, ("ListOffsetsTopic", "name"), rows, replica_id=-1)
        told = {place: (row.error_code, row.offset) for place, row in found.items()}
        expect(told, {p: (0, end) for p, end in expected.items()}, f"(error, offset) for {asked}")


@case("LIST-18", "OffsetForLeaderEpoch", spec="KIP-320, OffsetsForLeaderEpoch", priority="P1")
def test_each_partition_ends_its_own_epoch(wire: Wire, version: int) -> None:
    """In one request about the partitions of two topics, the current epoch of each ends at its own
    log end."""
    ends = two_topics(wire)
    rows = {
        (name, index): part(
            "OffsetForLeaderEpoch",
            "OffsetForLeaderPartition",
            partition=index,
            leader_epoch=epoch_of(wire, name, index),
            current_leader_epoch=-1,
        )
        for name, index in ends
    }
    names = ("OffsetForLeaderTopic", "topic")
    found = ask(wire, "OffsetForLeaderEpoch", version, names, rows, replica_id=-1)
    told = {place: (row.error_code, row.end_offset) for place, row in found.items()}
    expect(told, {place: (0, end) for place, end in ends.items()}, "(error, end offset)")


def epoch_of(wire: Wire, name: str, index: int) -> int:
    """Return the leader epoch of a partition."""
    partitions = wire.topic_metadata(name).partitions
    return next(int(p.leader_epoch) for p in partitions if p.partition_index == index)


@case("LIST-23", "DeleteRecords", spec="KIP-107, DeleteRecordsRequest")
def test_each_partition_loses_its_own_records(wire: Wire, version: int) -> None:
    """In one request about the partitions of two topics, each gets the low watermark up to which
    its own records were deleted."""
    ends = two_topics(wire)
    expected = {place: end - 1 for place, end in ends.items()}
    rows = {
        place: part(
            "DeleteRecords", "DeleteRecordsPartition", partition_index=place[1], offset=offset
        )
        for place, offset in expected.items()
    }
    names = ("DeleteRecordsTopic", "name")
    found = ask(wire, "DeleteRecords", version, names, rows, timeout_ms=20_000)
    told = {place: (row.error_code, row.low_watermark) for place, row in found.items()}
    expect(told, {place: (0, low) for place, low in expected.items()}, "(error, low watermark)")
