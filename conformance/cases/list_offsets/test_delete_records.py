"""DeleteRecords moves the log start (KIP-107); OffsetForLeaderEpoch (KIP-320) says where epochs
end."""

from __future__ import annotations

from conformance.case import case, expect
from conformance.cases.list_offsets.test_list_offsets import (
    EARLIEST,
    LATEST,
    add,
    list_offset,
    stamped,
    time_finds,
)
from conformance.clients.members import coordinator
from conformance.wire import Topic, Wire, batch, part, request
from reference_impl.wire import ErrorCode, Record, RecordBatch, Struct

OFFSETS = "__consumer_offsets"


def delete_records(wire: Wire, topic: Topic, offset: int, version: int) -> Struct:
    """Return the answer for partition 0."""
    wanted = part("DeleteRecords", "DeleteRecordsPartition", partition_index=0, offset=offset)
    entry = part("DeleteRecords", "DeleteRecordsTopic", name=topic.name, partitions=[wanted])
    body = request("DeleteRecords", topics=[entry], timeout_ms=20_000)
    answer = wire.leader(topic).call("DeleteRecords", version, body)
    return answer.topics[0].partitions[0]  # type: ignore[no-any-return]


def of_five(wire: Wire, **config: str) -> Topic:
    """Create a topic of five batches of one record."""
    topic = wire.create_topic(config=config)
    for n in range(5):
        expect(wire.produce(topic, batch(b"%d" % n).encode()).error_code, 0, "produce error")
    return topic


@case("LIST-23", "DeleteRecords", spec="KIP-107, DeleteRecordsRequest")
def test_the_log_start_moves_to_the_offset(wire: Wire, version: int) -> None:
    """DeleteRecords up to offset k returns low watermark k. Then the earliest offset is k, a fetch
    below k gets OFFSET_OUT_OF_RANGE (1), and records from k on stay."""
    topic = of_five(wire)
    answer = delete_records(wire, topic, 2, version)
    expect((answer.error_code, answer.low_watermark), (0, 2), "(error, low watermark)")
    earliest = list_offset(wire, topic, EARLIEST, wire.version("ListOffsets"))
    expect(earliest.offset, 2, "earliest")
    expect(wire.fetch(topic, 1).error_code, ErrorCode.OFFSET_OUT_OF_RANGE, "fetch below it")
    kept = [r.value for b in wire.batches(topic, 2) for r in b.records]
    expect(kept, [b"2", b"3", b"4"], "records above it")


@case("LIST-30", "DeleteRecords", spec="class ReplicaManager, deleteRecords", priority="P2")
def test_records_of_internal_topics_are_not_for_clients_to_delete(wire: Wire, version: int) -> None:
    """DeleteRecords of a partition of the committed offsets gets INVALID_TOPIC_EXCEPTION (17) and
    low watermark -1."""
    coordinator(wire, wire.new_name("group"))  # the topic is made by the first one
    internal = Topic(OFFSETS, wire.topic_metadata(OFFSETS).topic_id, 1)
    answer = delete_records(wire, internal, 0, version)
    expect(
        (answer.error_code, answer.low_watermark),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, -1),
        "(error, low watermark)",
    )


@case("LIST-23", "DeleteRecords", spec="class KafkaApis, handleDeleteRecords")
def test_of_two_offsets_of_one_partition_the_last_counts(wire: Wire, version: int) -> None:
    """A partition that one request names twice has one result, for the offset named last."""
    topic = of_five(wire)
    rows = [
        part("DeleteRecords", "DeleteRecordsPartition", partition_index=0, offset=offset)
        for offset in (3, 2)
    ]
    entry = part("DeleteRecords", "DeleteRecordsTopic", name=topic.name, partitions=rows)
    body = request("DeleteRecords", topics=[entry], timeout_ms=20_000)
    answer = wire.leader(topic).call("DeleteRecords", version, body)
    found = [(p.error_code, p.low_watermark) for t in answer.topics for p in t.partitions]
    expect(found, [(0, 2)], "(error, low watermark)")


@case("LIST-31", "ListOffsets", versions=(1, 11), spec="KIP-79; KIP-107", priority="P1")
def test_a_time_finds_no_deleted_record(wire: Wire, version: int) -> None:
    """After DeleteRecords up to the middle of a batch a time finds the first of the records left
    whose timestamp is that or later, and never a deleted one."""
    topic = stamped(wire, 0, 30_000, 10_000, 60_000)
    for deleted, expected in ((1, {0: 1, 20_000: 1}), (2, {0: 2, 20_000: 3})):
        answer = delete_records(wire, topic, deleted, wire.version("DeleteRecords"))
        expect((answer.error_code, answer.low_watermark), (0, deleted), "(error, low watermark)")
        for time_ms, offset in expected.items():
            found = time_finds(wire, topic, time_ms, version)
            expect(found, offset, f"offset at {time_ms} ms after DeleteRecords up to {deleted}")


@case(
    "LIST-32",
    "ListOffsets",
    versions=(1, 11),
    spec="KIP-79; class UnifiedLog, searchOffsetInLocalLog",
    priority="P2",
)
def test_a_time_finds_what_comes_after_a_segment_with_deleted_records(
    wire: Wire, version: int
) -> None:
    """If the only records of a segment that reach the time were deleted by DeleteRecords, the time
    finds the first of the later segments, or nothing; never a deleted or an earlier record. A
    time that a record left in the segment reaches finds that one, and one that no record of the
    segment had reached finds the later one."""
    # Apache Kafka 4.3.1 looks into the first segment that had such a record alone: -1 (README).
    topic = wire.create_topic(config={"segment.ms": "20000"})
    for time_ms in (0, 30_000, 10_000, 60_000):  # segments: the first, the next two, the last
        add(wire, topic, time_ms)
    answer = delete_records(wire, topic, 2, wire.version("DeleteRecords"))
    expect((answer.error_code, answer.low_watermark), (0, 2), "(error, low watermark)")
    expect(time_finds(wire, topic, 5_000, version), 2, "offset at 5,000 ms")
    expect(time_finds(wire, topic, 20_000, version), {3, -1}, "offset at 20,000 ms")
    expect(time_finds(wire, topic, 45_000, version), 3, "offset at 45,000 ms")


@case("LIST-24", "DeleteRecords", spec="KIP-107, DeleteRecordsRequest")
def test_minus_one_deletes_up_to_the_high_watermark(wire: Wire, version: int) -> None:
    """DeleteRecords of offset -1 deletes everything below the high watermark."""
    topic = of_five(wire)
    answer = delete_records(wire, topic, -1, version)
    expect((answer.error_code, answer.low_watermark), (0, 5), "(error, low watermark)")
    newest = wire.version("ListOffsets")
    found = [list_offset(wire, topic, t, newest).offset for t in (EARLIEST, LATEST)]
    expect(found, [5, 5], "earliest, latest")


@case("LIST-25", "DeleteRecords", spec="KIP-107; DeleteRecordsRequestTest")
def test_an_offset_out_of_range_is_refused(wire: Wire, version: int) -> None:
    """An offset beyond the high watermark, or below -1, gets OFFSET_OUT_OF_RANGE (1), low watermark
    -1, and nothing is deleted."""
    topic = of_five(wire)
    for offset in (6, -2):
        answer = delete_records(wire, topic, offset, version)
        expect(
            (answer.error_code, answer.low_watermark),
            (ErrorCode.OFFSET_OUT_OF_RANGE, -1),
            f"(error, low mark), {offset}",
        )
    expect(len(wire.values(topic)), 5, "records afterwards")


@case("LIST-26", "DeleteRecords", spec="class Partition, deleteRecordsOnLeader", priority="P1")
def test_the_log_start_never_moves_back(wire: Wire, version: int) -> None:
    """An offset below the log start is accepted and changes nothing."""
    topic = of_five(wire)
    delete_records(wire, topic, 3, version)
    answer = delete_records(wire, topic, 1, version)
    expect((answer.error_code, answer.low_watermark), (0, 3), "(error, low watermark)")


@case("LIST-27", "DeleteRecords", spec="class Partition, deleteRecordsOnLeader", priority="P1")
def test_a_compacted_topic_refuses(wire: Wire, version: int) -> None:
    """On a topic with cleanup.policy=compact alone: POLICY_VIOLATION (44); with both policies the
    records are deleted."""
    topic = wire.create_topic(config={"cleanup.policy": "compact"})
    answer = delete_records(wire, topic, 0, version)
    expect(answer.error_code, ErrorCode.POLICY_VIOLATION, "error")
    both = wire.create_topic(config={"cleanup.policy": "compact,delete"})
    keyed = RecordBatch([Record(b"value", key=b"key")], base_timestamp=1).encode()
    expect(wire.produce(both, keyed).error_code, ErrorCode.NONE, "produce error")
    answer = delete_records(wire, both, 1, version)
    expect((answer.error_code, answer.low_watermark), (0, 1), "(error, low watermark), both")


@case("LIST-29", "DeleteRecords", spec="class KafkaApis, handleDeleteRecords", priority="P1")
def test_an_unknown_topic_is_refused(wire: Wire, version: int) -> None:
    """An unknown topic gets UNKNOWN_TOPIC_OR_PARTITION (3)."""
    nowhere = Topic(wire.new_name("missing"), wire.create_topic().id, 1)
    wanted = part("DeleteRecords", "DeleteRecordsPartition", partition_index=0, offset=0)
    entry = part("DeleteRecords", "DeleteRecordsTopic", name=nowhere.name, partitions=[wanted])
    answer = wire.call("DeleteRecords", version, topics=[entry], timeout_ms=20_000)
    found = answer.topics[0].partitions[0].error_code
    expect(found, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")


@case("LIST-28", "DeleteRecords", spec="KIP-107; class LogSegment, read", priority="P1")
def test_a_batch_is_cut_in_the_middle_by_offset_only(wire: Wire, version: int) -> None:
    """DeleteRecords up to an offset inside a batch moves the log start there; a fetch from there
    returns the whole batch, of which the client drops the records below, and one from below gets
    OFFSET_OUT_OF_RANGE (1)."""
    topic = wire.create_topic()
    expect(wire.produce(topic, batch(b"0", b"1", b"2").encode()).error_code, 0, "produce error")
    expect(wire.produce(topic, batch(b"3").encode()).error_code, 0, "produce error")
    answer = delete_records(wire, topic, 1, version)
    expect((answer.error_code, answer.low_watermark), (0, 1), "(error, low watermark)")
    expect(list_offset(wire, topic, EARLIEST, wire.version("ListOffsets")).offset, 1, "earliest")
    expect(wire.fetch(topic, 0).error_code, ErrorCode.OFFSET_OUT_OF_RANGE, "fetch below it")
    found = wire.fetch(topic, 1)
    expect(found.log_start_offset, 1, "log start offset")
    expect(
        [(b.base_offset, len(b.records)) for b in wire.batches(topic, 1)],
        [(0, 3), (3, 1)],
        "(base offset, records) of the batches",
    )


def epoch_end(wire: Wire, topic: Topic, version: int, epoch: int, current: int = -1) -> Struct:
    wanted = part(
        "OffsetForLeaderEpoch",
        "OffsetForLeaderPartition",
        partition=0,
        leader_epoch=epoch,
        current_leader_epoch=current,
    )
    entry = part(
        "OffsetForLeaderEpoch", "OffsetForLeaderTopic", topic=topic.name, partitions=[wanted]
    )
    answer = wire.leader(topic).call(
        "OffsetForLeaderEpoch",
        version,
        request("OffsetForLeaderEpoch", replica_id=-1, topics=[entry]),
    )
    return answer.topics[0].partitions[0]  # type: ignore[no-any-return]


@case("LIST-18", "OffsetForLeaderEpoch", spec="KIP-320, OffsetsForLeaderEpoch", priority="P1")
def test_the_current_epoch_ends_at_the_log_end(wire: Wire, version: int) -> None:
    """Asked for the current epoch, the leader answers it and the log end offset."""
    topic = of_five(wire)
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    answer = epoch_end(wire, topic, version, epoch)
    expect((answer.error_code, answer.leader_epoch, answer.end_offset), (0, epoch, 5), "answer")


@case("LIST-20", "OffsetForLeaderEpoch", spec="KIP-279", priority="P1")
def test_an_epoch_beyond_all_is_undefined(wire: Wire, version: int) -> None:
    """An epoch greater than any known answers epoch -1 and offset -1."""
    topic = of_five(wire)
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    answer = epoch_end(wire, topic, version, epoch + 10)
    expect((answer.error_code, answer.leader_epoch, answer.end_offset), (0, -1, -1), "answer")


@case("LIST-21", "OffsetForLeaderEpoch", spec="KIP-320, OffsetsForLeaderEpoch", priority="P1")
def test_a_newer_current_epoch_is_refused(wire: Wire, version: int) -> None:
    """A current_leader_epoch beyond the leader's own gets UNKNOWN_LEADER_EPOCH (75)."""
    topic = of_five(wire)
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    answer = epoch_end(wire, topic, version, epoch, current=epoch + 1)
    expect(answer.error_code, ErrorCode.UNKNOWN_LEADER_EPOCH, "error")


@case("LIST-22", "OffsetForLeaderEpoch", spec="OffsetsForLeaderEpochRequestTest", priority="P1")
def test_the_epochs_of_an_unknown_partition_are_unknown(wire: Wire, version: int) -> None:
    """A topic or partition that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3), epoch -1 and
    end offset -1."""
    topic = of_five(wire)
    for name, index in ((topic.name, 9), (wire.new_name("missing"), 0)):
        wanted = part(
            "OffsetForLeaderEpoch",
            "OffsetForLeaderPartition",
            partition=index,
            leader_epoch=0,
            current_leader_epoch=-1,
        )
        entry = part(
            "OffsetForLeaderEpoch", "OffsetForLeaderTopic", topic=name, partitions=[wanted]
        )
        answer = wire.call("OffsetForLeaderEpoch", version, replica_id=-1, topics=[entry])
        found = answer.topics[0].partitions[0]
        expect(
            (found.error_code, found.leader_epoch, found.end_offset),
            (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1),
            "(error, epoch, end)",
        )
