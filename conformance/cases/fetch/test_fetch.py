"""Fetch: what is returned from where, how much, and when."""

from __future__ import annotations

import time
import uuid

from conformance.case import case, expect, expect_that
from conformance.cases.list_offsets.test_delete_records import delete_records
from conformance.wire import Topic, Wire, batch, part, request
from reference_impl.wire import ErrorCode, RecordBatch, Struct, batches

ALL = (4, 18)


def filled(wire: Wire, *batches_of_values: list[bytes]) -> Topic:
    """Create a topic whose partition 0 holds one batch per list of values."""
    topic = wire.create_topic()
    for values in batches_of_values:
        answer = wire.produce(topic, batch(*values).encode())
        expect(answer.error_code, ErrorCode.NONE, "produce error")
    return topic


@case("FETCH-01", "Fetch", versions=ALL, spec="FetchResponse.json, field Records; KIP-107")
def test_batches_come_back_as_they_were_sent(wire: Wire, version: int) -> None:
    """Fetch from 0 returns the batches byte for byte, but for base offset and leader epoch, with
    the high watermark and (v5+) the log start offset."""
    topic = wire.create_topic()
    sent = [batch(b"a", b"b").encode(), batch(b"c").encode()]
    for records in sent:
        wire.produce(topic, records)
    answer = wire.fetch(topic, 0, version)
    data = wire.bytes_from(topic, 0, version)
    found = [data[start:end] for _, start, end in batches(data)]
    expect([f[16:] for f in found], [s[16:] for s in sent], "batches from magic on")
    expect([RecordBatch.decode(f)[0].base_offset for f in found], [0, 2], "base offsets")
    expect(answer.high_watermark, 3, "high watermark")
    if version >= 5:
        expect(answer.log_start_offset, 0, "log start offset")


@case("FETCH-02", "Fetch", versions=ALL, spec="class LogSegment, read")
def test_an_offset_inside_a_batch_returns_the_whole_batch(wire: Wire, version: int) -> None:
    """Fetch from the middle of a batch returns that batch whole: its base offset is below the
    requested offset."""
    topic = filled(wire, [b"a"], [b"b", b"c", b"d"])
    data = bytes(wire.fetch(topic, 2, version).records)
    first, _ = RecordBatch.decode(data)
    expect(first.base_offset, 1, "base offset of the first batch")
    expect([r.value for r in first.records], [b"b", b"c", b"d"], "its records")


@case("FETCH-01", "Fetch", spec="FetchResponse.json, fields of PartitionData")
def test_each_partition_tells_its_own_end(wire: Wire, version: int) -> None:
    """In one fetch of the partitions of a topic each tells its own high watermark, and from version
    4 on its own last stable offset."""
    topic = wire.create_topic(2, on_one_broker=True)
    for partition, count in enumerate((1, 3)):
        for _ in range(count):
            wire.produce(topic, batch(b"a").encode(), partition=partition)
    body = wire.fetch_request(topic, 0, partition=0)
    body.topics[0].partitions += wire.fetch_request(topic, 0, partition=1).topics[0].partitions
    answer = wire.leader(topic).call("Fetch", version, body)
    told = {
        row.partition_index: (row.error_code, row.high_watermark, row.last_stable_offset)
        for row in answer.responses[0].partitions
    }
    expected = {
        partition: (0, count, count if version >= 4 else -1)
        for partition, count in enumerate((1, 3))
    }
    expect(told, expected, "(error, high watermark, last stable offset)")


@case("FETCH-03", "Fetch", versions=ALL, spec="class DelayedFetch")
def test_a_fetch_at_the_end_waits_and_returns_nothing(wire: Wire, version: int) -> None:
    """Fetch at the log end offset waits max_wait_ms, then answers NONE without records."""
    topic = filled(wire, [b"a"])
    started = time.monotonic()
    answer = wire.fetch(topic, 1, version, max_wait_ms=700)
    waited_s = time.monotonic() - started
    expect((answer.error_code, bytes(answer.records or b"")), (ErrorCode.NONE, b""), "answer")
    expect_that(0.6 <= waited_s < 10, "wait", "0.6 s to 10 s", f"{waited_s:.2f} s")


@case("FETCH-04", "Fetch", versions=ALL, spec="class ReplicaManager, readFromLog")
def test_an_offset_out_of_range_is_refused(wire: Wire, version: int) -> None:
    """An offset beyond the log end gets OFFSET_OUT_OF_RANGE (1) and no records."""
    # The high watermark beside the error is -1 on Apache Kafka 4.3.1; telling it does no harm.
    topic = filled(wire, [b"a"])
    answer = wire.fetch(topic, 2, version)
    expect(answer.error_code, ErrorCode.OFFSET_OUT_OF_RANGE, "error")
    expect(answer.high_watermark, {-1, 1}, "high watermark")
    expect(bytes(answer.records or b""), b"", "records")


@case("FETCH-04", "Fetch", versions=ALL, spec="class ReplicaManager, readFromLog; KIP-107")
def test_an_offset_below_the_log_start_is_refused(wire: Wire, version: int) -> None:
    """An offset below the log start offset gets OFFSET_OUT_OF_RANGE (1)."""
    topic = filled(wire, [b"a"], [b"b"])
    deleted = delete_records(wire, topic, 1, wire.version("DeleteRecords"))
    expect(deleted.error_code, ErrorCode.NONE, "DeleteRecords error")
    expect(wire.fetch(topic, 0, version).error_code, ErrorCode.OFFSET_OUT_OF_RANGE, "error")


@case("FETCH-05", "Fetch", versions=ALL, spec="FetchRequest.json, field MinBytes; DelayedFetch")
def test_a_waiting_fetch_is_answered_when_records_come(wire: Wire, version: int) -> None:
    """A fetch that waits (min_bytes 1, max_wait 20 s) is answered as soon as a record is written,
    not before and not only at the end of the wait."""
    topic = wire.create_topic()
    waiting = wire.connect_to_leader(topic)
    waiting.send("Fetch", version, wire.fetch_request(topic, 0, max_wait_ms=20_000))
    expect_that(waiting.is_silent(0.5), "before anything is written", "silence", "an answer")
    started = time.monotonic()
    wire.produce(topic, batch(b"a").encode())
    _, answer = waiting.receive("Fetch", version)
    took_s = time.monotonic() - started
    found = RecordBatch.decode(bytes(answer.responses[0].partitions[0].records))[0]
    expect([r.value for r in found.records], [b"a"], "records")
    expect_that(took_s < 10, "answer after the write", "< 10 s", f"{took_s:.1f} s")


@case("FETCH-46", "Fetch", versions=ALL, spec="ReplicaManager.fetchMessages", priority="P2")
def test_a_fetch_of_no_partition_does_not_wait(wire: Wire, version: int) -> None:
    """A fetch outside of a session that names no partition is answered at once, without topics,
    although it would wait 20 s for a byte."""
    body = wire.fetch_request(wire.create_topic(), 0, max_wait_ms=20_000)
    body.topics = []
    started = time.monotonic()
    answer = wire.bootstrap.call("Fetch", version, body)
    took_s = time.monotonic() - started
    expect((answer.error_code, list(answer.responses)), (0, []), "(error, topics)")
    expect_that(took_s < 10, "time of the answer", "< 10 s", f"{took_s:.1f} s")


@case("FETCH-06", "Fetch", versions=ALL, spec="FetchRequest.json, fields MinBytes, MaxWaitMs")
def test_min_bytes_is_given_up_at_max_wait(wire: Wire, version: int) -> None:
    """A fetch whose min_bytes cannot be reached is answered after max_wait_ms with the records that
    are there."""
    topic = filled(wire, [b"a"])
    started = time.monotonic()
    answer = wire.fetch(topic, 0, version, min_bytes=1 << 20, max_wait_ms=700)
    waited_s = time.monotonic() - started
    expect_that(len(bytes(answer.records)) > 0, "records", "the one batch", "none")
    expect_that(waited_s >= 0.6, "wait", ">= 0.6 s", f"{waited_s:.2f} s")


@case("FETCH-06", "Fetch", versions=ALL, spec="FetchRequest.json, field MinBytes; DelayedFetch")
def test_min_bytes_is_counted_to_the_byte(wire: Wire, version: int) -> None:
    """A fetch is answered at once where exactly min_bytes of records are there, and waits where
    one byte is missing."""
    topic = filled(wire, [b"a"])
    size = len(bytes(wire.fetch(topic, 0, version).records))
    started = time.monotonic()
    wire.fetch(topic, 0, version, min_bytes=size, max_wait_ms=20_000)
    took_s = time.monotonic() - started
    expect_that(took_s < 10, "answer with enough bytes", "< 10 s", f"{took_s:.1f} s")
    started = time.monotonic()
    answer = wire.fetch(topic, 0, version, min_bytes=size + 1, max_wait_ms=700)
    waited_s = time.monotonic() - started
    expect(len(bytes(answer.records)), size, "bytes after the wait")
    expect_that(waited_s >= 0.6, "wait for one byte more", ">= 0.6 s", f"{waited_s:.2f} s")


@case("FETCH-08", "Fetch", versions=ALL, spec="class KafkaApis, handleFetchRequest", priority="P1")
def test_nobody_waits_for_what_does_not_exist(wire: Wire, version: int) -> None:
    """A fetch of an unknown partition alone is answered at once, however long it may wait."""
    topic = wire.create_topic()
    started = time.monotonic()
    answer = wire.fetch(topic, 0, version, partition=7, max_wait_ms=20_000)
    took_s = time.monotonic() - started
    expect(answer.error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")
    expect_that(took_s < 10, "answer", "< 10 s", f"{took_s:.1f} s")


@case("FETCH-08", "Fetch", versions=ALL, spec="ReplicaManager.fetchMessages", priority="P1")
def test_an_error_of_the_log_ends_the_wait(wire: Wire, version: int) -> None:
    """OFFSET_OUT_OF_RANGE (1) of one partition makes the whole fetch answer at once, though other
    partitions have no records yet."""
    # The catalogue says so of every error. On Apache Kafka 4.3.1 an unknown partition does not end
    # the wait: KafkaApis answers for it, and the log never hears of it.
    topic = wire.create_topic(partitions=2, on_one_broker=True)
    body = wire.fetch_request(topic, 0, max_wait_ms=20_000)
    body.topics[0].partitions.append(
        part("Fetch", "FetchPartition", partition=1, fetch_offset=99, partition_max_bytes=1000)
    )
    started = time.monotonic()
    answer = wire.leader(topic).call("Fetch", version, body)
    took_s = time.monotonic() - started
    errors = {p.partition_index: p.error_code for p in answer.responses[0].partitions}
    expect(errors, {0: 0, 1: int(ErrorCode.OFFSET_OUT_OF_RANGE)}, "errors")
    expect_that(took_s < 10, "answer", "< 10 s", f"{took_s:.1f} s")


@case("FETCH-09", "Fetch", versions=ALL, spec="KIP-74, Proposed Changes")
def test_the_first_batch_comes_whole_however_small_the_limit(wire: Wire, version: int) -> None:
    """A first batch larger than partition_max_bytes and max_bytes is returned whole, so that a
    consumer always gets on."""
    topic = filled(wire, [b"x" * 5000], [b"y"])
    data = bytes(wire.fetch(topic, 0, version, partition_max_bytes=100, max_bytes=100).records)
    first, end = RecordBatch.decode(data)
    expect(first.records[0].value, b"x" * 5000, "first record")
    expect_that(end == len(data), "bytes behind the first batch", 0, len(data) - end)


@case("FETCH-09", "Fetch", versions=ALL, spec="KIP-74, Proposed Changes")
def test_an_empty_partition_before_it_shortens_no_first_batch(wire: Wire, version: int) -> None:
    """The first batch of a response is returned whole also if the request names a partition without
    records before it."""
    topic = wire.create_topic(partitions=2, on_one_broker=True)
    wire.produce(topic, batch(b"x" * 5000).encode(), partition=1)
    wanted = [
        part("Fetch", "FetchPartition", partition=index, fetch_offset=0, partition_max_bytes=100)
        for index in (0, 1)
    ]
    entry = part("Fetch", "FetchTopic", topic=topic.name, topic_id=topic.id, partitions=wanted)
    body = request("Fetch", max_wait_ms=0, min_bytes=1, max_bytes=100, topics=[entry])
    answer = wire.leader(topic).call("Fetch", version, body)
    sizes = {
        p.partition_index: len(bytes(p.records or b"")) for p in answer.responses[0].partitions
    }
    expect_that(sizes.get(1, 0) > 5000, "bytes of partition 1", "> 5000", sizes)


@case("FETCH-10", "Fetch", versions=ALL, spec="KIP-74; FetchRequestTest, order and size limits")
def test_max_bytes_is_shared_in_request_order(wire: Wire, version: int) -> None:
    """Partitions get data in the order of the request until max_bytes is used up; the remaining
    ones get no records."""
    topic = wire.create_topic(partitions=3, on_one_broker=True)
    for index in range(3):
        wire.produce(topic, batch(b"%d" % index * 3000).encode(), partition=index)
    wanted = [
        part(
            "Fetch", "FetchPartition", partition=index, fetch_offset=0, partition_max_bytes=1 << 20
        )
        for index in (2, 0, 1)
    ]
    entry = part("Fetch", "FetchTopic", topic=topic.name, topic_id=topic.id, partitions=wanted)
    body = request("Fetch", max_wait_ms=0, min_bytes=1, max_bytes=4000, topics=[entry])
    answer = wire.leader(topic).call("Fetch", version, body)
    sizes = {
        p.partition_index: len(bytes(p.records or b"")) for p in answer.responses[0].partitions
    }
    expect_that(sizes[2] > 3000, "bytes of partition 2, asked for first", "> 3000", sizes)
    total = sum(sizes.values())
    expect_that(total <= 4000, "bytes in all, the first batch being smaller", "<= 4000", sizes)


@case("FETCH-13", "Fetch", versions=(4, 12), spec="class KafkaApis, handleFetchRequest")
def test_an_unknown_topic_is_refused(wire: Wire, version: int) -> None:
    """A topic name that does not exist gets UNKNOWN_TOPIC_OR_PARTITION (3)."""
    nowhere = Topic(wire.new_name("missing"), uuid.UUID(int=0), 1)
    answer = wire.bootstrap.call("Fetch", version, wire.fetch_request(nowhere, 0))
    expect(only_partition(answer).error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")


@case("FETCH-13", "Fetch", versions=ALL, spec="class KafkaApis, handleFetchRequest")
def test_an_unknown_partition_is_refused(wire: Wire, version: int) -> None:
    """A partition that the topic does not have gets UNKNOWN_TOPIC_OR_PARTITION (3)."""
    topic = wire.create_topic()
    answer = wire.bootstrap.call("Fetch", version, wire.fetch_request(topic, 0, partition=5))
    expect(only_partition(answer).error_code, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "error")


@case("FETCH-14", "Fetch", versions=(13, 18), spec="KIP-516, Fetch")
def test_an_unknown_topic_id_is_refused(wire: Wire, version: int) -> None:
    """From v13 on topics are named by id; one that does not exist gets UNKNOWN_TOPIC_ID (100)."""
    nowhere = Topic("", uuid.uuid4(), 1)
    answer = wire.bootstrap.call("Fetch", version, wire.fetch_request(nowhere, 0))
    expect(only_partition(answer).error_code, ErrorCode.UNKNOWN_TOPIC_ID, "error")


@case("FETCH-18", "Fetch", versions=(9, 18), spec="KIP-320, Fetch; field CurrentLeaderEpoch")
def test_a_newer_leader_epoch_than_the_brokers_is_refused(wire: Wire, version: int) -> None:
    """A current_leader_epoch beyond the leader's own gets UNKNOWN_LEADER_EPOCH (75); the right one
    is served."""
    topic = filled(wire, [b"a"])
    epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    newer = wire.fetch(topic, 0, version, current_leader_epoch=epoch + 1)
    expect(newer.error_code, ErrorCode.UNKNOWN_LEADER_EPOCH, "error of the newer epoch")
    same = wire.fetch(topic, 0, version, current_leader_epoch=epoch)
    expect(same.error_code, ErrorCode.NONE, "error of the leader's epoch")


@case(
    "FETCH-45",
    "Fetch",
    versions=(9, 18),
    spec="KIP-320, Fetch; class FetchRequest, optionalEpoch",
    priority="P2",
)
def test_every_negative_leader_epoch_is_none(wire: Wire, version: int) -> None:
    """A fetch whose current_leader_epoch is -2 is served, as with -1: it names no epoch."""
    topic = filled(wire, [b"a"])
    answer = wire.fetch(topic, 0, version, current_leader_epoch=-2)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect_that(len(bytes(answer.records or b"")) > 0, "records", "the one batch", "none")


@case("FETCH-20", "Fetch", versions=ALL, spec="KIP-98; FetchResponse.json, AbortedTransactions")
def test_read_committed_of_plain_records_is_bounded_by_the_high_watermark(
    wire: Wire, version: int
) -> None:
    """Without transactions the last stable offset is the high watermark; read_committed returns
    everything and names no aborted transactions."""
    topic = filled(wire, [b"a", b"b"])
    answer = wire.fetch(topic, 0, version, isolation_level=1)
    expect((answer.high_watermark, answer.last_stable_offset), (2, 2), "(HW, LSO)")
    expect(list(answer.aborted_transactions or []), [], "aborted transactions")
    expect_that(len(bytes(answer.records)) > 0, "records", "the batch", "none")


def only_partition(answer: Struct) -> Struct:
    """Return the single partition of a fetch answer."""
    expect(len(answer.responses), 1, "topics in the answer")
    return answer.responses[0].partitions[0]  # type: ignore[no-any-return]
