"""ListOffsets: where a partition begins and ends, and what was written when."""

from __future__ import annotations

import time

import pytest

from conformance.case import case, each, expect
from conformance.clients.transactions import Producer, wait_until_ended
from conformance.wire import Topic, Wire, part, request
from reference_impl.wire import (
    TRANSACTIONAL_BIT,
    Compression,
    ErrorCode,
    Record,
    RecordBatch,
    Struct,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
EARLIEST_PENDING_UPLOAD = -6
ALL = (1, 11)


def list_offset(
    wire: Wire,
    topic: Topic,
    timestamp: int,
    version: int,
    *,
    partition: int = 0,
    isolation_level: int = 0,
    current_leader_epoch: int = -1,
    timeout_ms: int = 20_000,
) -> Struct:
    """Return the answer for one partition."""
    wanted = part(
        "ListOffsets",
        "ListOffsetsPartition",
        partition_index=partition,
        timestamp=timestamp,
        current_leader_epoch=current_leader_epoch,
    )
    entry = part("ListOffsets", "ListOffsetsTopic", name=topic.name, partitions=[wanted])
    body = request(
        "ListOffsets",
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[entry],
        timeout_ms=timeout_ms,
    )
    answer = wire.leader(topic, partition).call("ListOffsets", version, body)
    return answer.topics[0].partitions[0]  # type: ignore[no-any-return]


def stamped(wire: Wire, *timestamps: int, codec: Compression = Compression.NONE) -> Topic:
    """Create a topic with one batch of records of these timestamps (relative to BASE)."""
    topic = wire.create_topic()
    add(wire, topic, *timestamps, codec=codec)
    return topic


def add(wire: Wire, topic: Topic, *timestamps: int, codec: Compression = Compression.NONE) -> None:
    records = [Record(b"%d" % t, timestamp_delta=t) for t in timestamps]
    made = RecordBatch(records, base_timestamp=BASE, attributes=int(codec))
    expect(wire.produce(topic, made.encode()).error_code, ErrorCode.NONE, "produce error")


BASE = int(time.time() * 1000) - 600_000


def time_finds(wire: Wire, topic: Topic, time_ms: int, version: int) -> int:
    """Return the offset that ListOffsets answers, without an error, for a time relative to BASE."""
    answer = list_offset(wire, topic, BASE + time_ms, version)
    expect(answer.error_code, ErrorCode.NONE, "ListOffsets error")
    return int(answer.offset)


@case("LIST-01", "ListOffsets", versions=ALL, spec="KIP-79, ListOffsetRequest")
def test_latest_is_the_high_watermark(wire: Wire, version: int) -> None:
    """Timestamp -1 answers the high watermark with timestamp -1."""
    topic = stamped(wire, 0, 1, 2)
    answer = list_offset(wire, topic, LATEST, version)
    expect((answer.error_code, answer.offset, answer.timestamp), (0, 3, -1), "answer")


@case("LIST-02", "ListOffsets", versions=(2, 11), spec="KIP-98, ListOffsets isolation level")
def test_latest_of_read_committed_is_the_last_stable_offset(wire: Wire, version: int) -> None:
    """With read_committed timestamp -1 answers the last stable offset: the start of the first open
    transaction, or without one the high watermark."""
    topic, producer = stamped(wire, 0, 1), Producer.ready(wire)
    answer = list_offset(wire, topic, LATEST, version, isolation_level=1)
    expect((answer.error_code, answer.offset), (0, 2), "(error, offset)")
    producer.add_and_send(topic, b"open")
    for isolation, offset, what in ((1, 2, "read_committed"), (0, 3, "read_uncommitted")):
        answer = list_offset(wire, topic, LATEST, version, isolation_level=isolation)
        expect((answer.error_code, answer.offset), (0, offset), f"(error, offset), {what}")
    producer.abort()


@case("LIST-03", "ListOffsets", versions=ALL, spec="KIP-79, ListOffsetRequest")
def test_earliest_is_the_log_start(wire: Wire, version: int) -> None:
    """Timestamp -2 answers the log start offset with timestamp -1."""
    topic = stamped(wire, 0, 1)
    answer = list_offset(wire, topic, EARLIEST, version)
    expect((answer.error_code, answer.offset, answer.timestamp), (0, 0, -1), "answer")


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP], ids=lambda c: c.name)
@case("LIST-04", "ListOffsets", versions=ALL, spec="KIP-79, ListOffsetRequest")
def test_a_time_finds_the_first_record_at_or_after_it(
    wire: Wire, version: int, codec: Compression
) -> None:
    """A timestamp answers offset and timestamp of the first record that is not older, to the
    record, also inside a compressed batch."""
    topic = stamped(wire, 0, 100, 200, codec=codec)
    add(wire, topic, 300, 400, codec=codec)
    for asked, offset, found in ((0, 0, 0), (50, 1, 100), (200, 2, 200), (201, 3, 300)):
        answer = list_offset(wire, topic, BASE + asked, version)
        expect(
            (answer.error_code, answer.offset, answer.timestamp - BASE),
            (0, offset, found),
            f"(error, offset, timestamp) at +{asked} ms",
        )


@case("LIST-05", "ListOffsets", versions=ALL, spec="KIP-79, ListOffsetRequest")
def test_a_time_after_all_records_finds_nothing(wire: Wire, version: int) -> None:
    """A timestamp later than every record answers offset -1, timestamp -1 and no error."""
    topic = stamped(wire, 0, 100)
    answer = list_offset(wire, topic, BASE + 101, version)
    expect((answer.error_code, answer.offset, answer.timestamp), (0, -1, -1), "answer")


@case("LIST-07", "ListOffsets", versions=(7, 11), spec="KIP-734", priority="P1")
def test_max_timestamp_finds_its_first_record(wire: Wire, version: int) -> None:
    """Timestamp -3 answers the first record that has the largest timestamp."""
    topic = stamped(wire, 0, 500, 100)
    add(wire, topic, 500, 400)
    answer = list_offset(wire, topic, MAX_TIMESTAMP, version)
    expect((answer.error_code, answer.offset, answer.timestamp - BASE), (0, 1, 500), "answer")


@pytest.mark.parametrize(
    ("asked", "from_version"), [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9)]
)
@case(
    "LIST-08",
    "ListOffsets",
    spec="ListOffsetsRequest.json, versions; class KafkaApis",
    priority="P1",
)
def test_a_special_timestamp_of_a_later_version_is_refused(
    wire: Wire, asked: int, from_version: int
) -> None:
    """-3 needs v7, -4 v8, -5 v9: below it the partition gets UNSUPPORTED_VERSION (35), and so it
    does for a number that means nothing."""
    version = wire.version("ListOffsets", 1, from_version - 1)
    answer = list_offset(wire, wire.create_topic(), asked, version)
    expect(answer.error_code, ErrorCode.UNSUPPORTED_VERSION, f"error for {asked} in v{version}")
    nothing = list_offset(wire, wire.create_topic(), -1000, version).error_code
    expect(nothing, ErrorCode.UNSUPPORTED_VERSION, f"error for -1000 in v{version}")


@case("LIST-11", "ListOffsets", versions=ALL, spec="class KafkaApis, handleListOffsetRequest")
def test_an_unknown_topic_or_partition_is_refused(wire: Wire, version: int) -> None:
    """An unknown topic, or a partition that it lacks, gets UNKNOWN_TOPIC_OR_PARTITION (3), and
    -1 as offset, timestamp and leader epoch."""
    topic = wire.create_topic()
    for nowhere, index in ((topic, 4), (Topic(wire.new_name("missing"), topic.id, 1), 0)):
        wanted = part(
            "ListOffsets", "ListOffsetsPartition", partition_index=index, timestamp=LATEST
        )
        entry = part("ListOffsets", "ListOffsetsTopic", name=nowhere.name, partitions=[wanted])
        answer = wire.bootstrap.call("ListOffsets", version, replica_id=-1, topics=[entry])
        found = answer.topics[0].partitions[0]
        expect(
            (found.error_code, found.offset, found.timestamp, found.leader_epoch),
            (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1),
            "(error, offset, timestamp, leader epoch)",
        )


@case("LIST-13", "ListOffsets", versions=ALL, spec="class ReplicaManager", priority="P1")
def test_the_same_partition_twice_is_refused(wire: Wire, version: int) -> None:
    """A partition named twice in one request gets INVALID_REQUEST (42)."""
    topic = wire.create_topic()
    wanted = [
        part("ListOffsets", "ListOffsetsPartition", partition_index=0, timestamp=LATEST)
        for _ in range(2)
    ]
    entry = part("ListOffsets", "ListOffsetsTopic", name=topic.name, partitions=wanted)
    answer = wire.leader(topic).call("ListOffsets", version, replica_id=-1, topics=[entry])
    for found in each((p for t in answer.topics for p in t.partitions), "partitions"):
        expect(found.error_code, ErrorCode.INVALID_REQUEST, "error")


@case("LIST-14", "ListOffsets", versions=(4, 11), spec="KIP-320, ListOffsets")
def test_a_newer_leader_epoch_is_refused(wire: Wire, version: int) -> None:
    """A current_leader_epoch beyond the leader's own gets UNKNOWN_LEADER_EPOCH (75), and no offset,
    whatever is asked for: a time, too."""
    topic = stamped(wire, 0)
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    for asked in (LATEST, EARLIEST, BASE):
        answer = list_offset(wire, topic, asked, version, current_leader_epoch=epoch + 1)
        found = answer.error_code, answer.offset
        expect(found, (ErrorCode.UNKNOWN_LEADER_EPOCH, -1), f"(error, offset) for {asked}")


@case("LIST-15", "ListOffsets", versions=(4, 11), spec="KIP-320, ListOffsets")
def test_the_answer_carries_the_leader_epoch_of_the_offset(wire: Wire, version: int) -> None:
    """From v4 on the answer carries the leader epoch of the record found."""
    topic = stamped(wire, 0)
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    for asked in (BASE, LATEST):
        answer = list_offset(wire, topic, asked, version)
        expect(answer.leader_epoch, epoch, f"leader epoch for {asked}")


@case("LIST-16", "ListOffsets", versions=ALL, spec="KIP-79", priority="P1")
def test_an_empty_partition_begins_and_ends_at_zero(wire: Wire, version: int) -> None:
    """Of an empty partition earliest and latest are 0, and no time finds anything."""
    topic = wire.create_topic()
    found = [list_offset(wire, topic, t, version).offset for t in (EARLIEST, LATEST, BASE)]
    expect(found, [0, 0, -1], "earliest, latest, by time")


@case(
    "LIST-06",
    "ListOffsets",
    versions=(2, 11),
    spec="class Partition, fetchOffsetForTimestamp; KIP-98",
    priority="P1",
)
def test_a_time_beyond_the_stable_offset_finds_nothing(wire: Wire, version: int) -> None:
    """For a timestamp whose first record belongs to an open transaction, and for the largest one,
    ListOffsets returns offset -1 in read_committed, and that record's offset in read_uncommitted
    and once the transaction is committed."""
    topic, producer = stamped(wire, 0), Producer.ready(wire)
    producer.add(topic, 0)
    records = [Record(b"open", timestamp_delta=100)]
    made = RecordBatch(
        records,
        base_timestamp=BASE,
        attributes=TRANSACTIONAL_BIT,
        base_sequence=0,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
    )
    sent = wire.produce(
        topic,
        made.encode(),
        producer.explicit("Produce"),
        transactional_id=producer.transactional_id,
    )
    expect(sent.error_code, ErrorCode.NONE, "produce error")
    times = (BASE + 50, MAX_TIMESTAMP) if version >= 7 else (BASE + 50,)

    def found(isolation: int) -> list[tuple[int, int]]:
        answers = [list_offset(wire, topic, t, version, isolation_level=isolation) for t in times]
        return [(answer.error_code, answer.offset) for answer in answers]

    for isolation, offset, what in ((1, -1, "read_committed"), (0, 1, "read_uncommitted")):
        expect(found(isolation), [(0, offset)] * len(times), f"(error, offset), {what}")
    producer.commit()
    wait_until_ended(wire, topic)
    # The marker has a timestamp, too, which is the largest one by then.
    expect(found(1)[0], (0, 1), "(error, offset) once it is committed")


@case("LIST-09", "ListOffsets", versions=(8, 11), spec="KIP-405; KIP-1005", priority="P1")
def test_without_tiers_the_local_log_is_all(wire: Wire, version: int) -> None:
    """Without tiered storage timestamp -4 (earliest local) answers the log start, also after
    DeleteRecords, and -5 (latest tiered, v9+) offset -1."""
    topic = stamped(wire, 0, 1, 2)
    expect(list_offset(wire, topic, EARLIEST_LOCAL, version).offset, 0, "earliest local offset")
    wanted = part("DeleteRecords", "DeleteRecordsPartition", partition_index=0, offset=2)
    entry = part("DeleteRecords", "DeleteRecordsTopic", name=topic.name, partitions=[wanted])
    body = request("DeleteRecords", topics=[entry], timeout_ms=20_000)
    wire.leader(topic).call("DeleteRecords", wire.version("DeleteRecords"), body)
    answer = list_offset(wire, topic, EARLIEST_LOCAL, version)
    expect((answer.error_code, answer.offset), (0, 2), "(error, earliest local) after deletion")
    if version >= 9:
        tiered = list_offset(wire, topic, LATEST_TIERED, version)
        expect((tiered.error_code, tiered.offset), (0, -1), "(error, latest tiered)")


@case("LIST-10", "ListOffsets", versions=(11, 11), spec="KIP-1023", priority="P1")
def test_without_tiers_nothing_waits_for_upload(wire: Wire, version: int) -> None:
    """Without tiered storage timestamp -6 (earliest pending upload) answers NONE and offset -1."""
    answer = list_offset(wire, stamped(wire, 0, 1), EARLIEST_PENDING_UPLOAD, version)
    expect((answer.error_code, answer.offset), (0, -1), "(error, offset)")


@case("LIST-17", "ListOffsets", versions=(10, 11), spec="KIP-1075", priority="P1")
def test_a_timeout_changes_no_answer(wire: Wire, version: int) -> None:
    """From v10 on a request may carry a time-out; whatever its value, a look-up that needs no
    remote storage is answered as before."""
    topic = stamped(wire, 0, 100)
    for timeout_ms in (0, 1, 2**31 - 1):
        found = [
            list_offset(wire, topic, asked, version, timeout_ms=timeout_ms).offset
            for asked in (LATEST, EARLIEST, BASE + 50, MAX_TIMESTAMP)
        ]
        expect(found, [2, 0, 1, 1], f"latest, earliest, by time, of max time; {timeout_ms} ms")
