"""Produce: keys, values, headers and timestamps of single records."""

from __future__ import annotations

import pytest

from conformance.case import case, expect, expect_that
from conformance.target.clock import local_ms
from conformance.wire import Wire, batch
from reference_impl.wire import Compression, ErrorCode, Record, RecordBatch

V2 = (3, 13)
DAY_MS = 86_400_000
LIMIT_MS, BEYOND_DAYS = 10 * DAY_MS, 30
"""The limit of a topic on the times in its records, and what exceeds it by any clock."""
SLACK_MS = 60_000


@case("BATCH-21", "Produce", versions=V2, spec="KIP-467; class LogValidator, validateKey")
def test_a_compacted_topic_refuses_records_without_a_key(wire: Wire, version: int) -> None:
    """A record without key on a compacted topic refuses the whole batch with INVALID_RECORD (87);
    from v8 on record_errors name each such record."""
    topic = wire.create_topic(config={"cleanup.policy": "compact"})
    records = [Record(b"v", b"k"), Record(b"no key"), Record(b"w", b"k"), Record(b"none either")]
    answer = wire.produce(topic, RecordBatch(records, base_timestamp=local_ms()).encode(), version)
    expect(answer.error_code, ErrorCode.INVALID_RECORD, "error")
    if version >= 8:
        expect(sorted(e.batch_index for e in answer.record_errors), [1, 3], "record_errors")
    expect(wire.end_offset(topic), 0, "end offset")


@case("BATCH-22", "Produce", versions=V2, spec="KIP-32; topic config message.timestamp.type")
def test_log_append_time_replaces_the_timestamps(wire: Wire, version: int) -> None:
    """With message.timestamp.type=LogAppendTime the answer gives the append time, and the stored
    batch carries it, with bit 3 of the attributes set."""
    topic = wire.create_topic(config={"message.timestamp.type": "LogAppendTime"})
    before_ms = local_ms()
    old = batch(b"a", b"b", base_timestamp=1000, max_timestamp=1000).encode()
    answer = wire.produce(topic, old, version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    stored = wire.batches(topic)[0]
    expect_that(stored.is_log_append_time, "timestamp type bit", "set", "not set")
    expect(stored.max_timestamp, answer.log_append_time_ms, "stored max timestamp")
    again = wire.produce(topic, old, version)
    passed_ms, told_ms = local_ms() - before_ms, answer.log_append_time_ms
    expect_that(
        abs(again.log_append_time_ms - told_ms) <= passed_ms + SLACK_MS,
        "append time of the next batch",
        f"{told_ms}, within {passed_ms + SLACK_MS} ms",
        again.log_append_time_ms,
    )
    # The clock of a cluster that was not started here may be wrong.
    ahead_ms = 0 if wire.is_shared else abs(told_ms - before_ms)
    expect_that(ahead_ms <= SLACK_MS and told_ms > 0, "log append time", "about now", told_ms)


@case(
    "PROD-20",
    "Produce",
    versions=V2,
    spec="KIP-32; ProduceResponse.json, LogAppendTimeMs",
    priority="P1",
)
def test_create_time_answers_without_an_append_time(wire: Wire, version: int) -> None:
    """On a CreateTime topic log_append_time_ms is -1, and the records keep their timestamps."""
    topic = wire.create_topic()
    stamp = local_ms() - 5000
    answer = wire.produce(
        topic, batch(b"a", base_timestamp=stamp, max_timestamp=stamp).encode(), version
    )
    expect(answer.log_append_time_ms, -1, "log append time")
    expect(wire.batches(topic)[0].base_timestamp, stamp, "stored timestamp")


@case("BATCH-23", "Produce", versions=V2, spec="KIP-937; message.timestamp.after.max.ms")
def test_a_timestamp_far_in_the_future_is_refused(wire: Wire, version: int) -> None:
    """A CreateTime timestamp more than message.timestamp.after.max.ms ahead gets
    INVALID_TIMESTAMP (32); from v8 on record_errors names the record."""
    topic = wire.create_topic(config={"message.timestamp.after.max.ms": str(LIMIT_MS)})
    future = local_ms() + BEYOND_DAYS * DAY_MS
    answer = wire.produce(
        topic, batch(b"a", base_timestamp=future, max_timestamp=future).encode(), version
    )
    expect(answer.error_code, ErrorCode.INVALID_TIMESTAMP, "error")
    if version >= 8:
        expect([e.batch_index for e in answer.record_errors], [0], "record_errors")
    expect(wire.end_offset(topic), 0, "end offset")


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP], ids=lambda c: c.name)
@case("BATCH-23", "Produce", versions=V2, spec="class LogValidator, validateTimestamp; KIP-467")
def test_the_time_of_each_record_is_checked(wire: Wire, version: int, codec: Compression) -> None:
    """A batch in which only a later record is too far in the future, or in the past, gets
    INVALID_TIMESTAMP (32), compressed or not; from v8 on record_errors names only that record."""
    ahead = {"message.timestamp.after.max.ms": str(LIMIT_MS)}
    topic = wire.create_topic(config=ahead | {"message.timestamp.before.max.ms": str(LIMIT_MS)})
    for days in (BEYOND_DAYS, -BEYOND_DAYS):
        deltas = (0, 1, days * DAY_MS, 2)
        made = RecordBatch(
            [Record(b"v", timestamp_delta=delta) for delta in deltas],
            base_timestamp=local_ms(),
            attributes=int(codec),
        )
        answer = wire.produce(topic, made.encode(), version)
        expect(answer.error_code, ErrorCode.INVALID_TIMESTAMP, f"error of {days} days")
        if version >= 8:
            named = [error.batch_index for error in answer.record_errors]
            expect(named, [2], f"record_errors of {days} days")
    expect(wire.end_offset(topic), 0, "end offset")


@case(
    "BATCH-24",
    "Produce",
    versions=V2,
    spec="KIP-937; message.timestamp.before.max.ms",
    priority="P1",
)
def test_a_timestamp_too_far_in_the_past_is_refused(wire: Wire, version: int) -> None:
    """A CreateTime timestamp older than message.timestamp.before.max.ms gets
    INVALID_TIMESTAMP (32)."""
    topic = wire.create_topic(config={"message.timestamp.before.max.ms": str(LIMIT_MS)})
    old = local_ms() - BEYOND_DAYS * DAY_MS
    answer = wire.produce(
        topic, batch(b"a", base_timestamp=old, max_timestamp=old).encode(), version
    )
    expect(answer.error_code, ErrorCode.INVALID_TIMESTAMP, "error")
    expect(wire.end_offset(topic), 0, "end offset")


@case("BATCH-26", "Produce", versions=V2, spec="class LogValidator", priority="P1")
def test_records_without_a_timestamp_are_accepted(wire: Wire, version: int) -> None:
    """A batch whose timestamps are -1 is accepted."""
    topic = wire.create_topic()
    plain = batch(b"a", base_timestamp=-1, max_timestamp=-1).encode()
    expect(wire.produce(topic, plain, version).error_code, ErrorCode.NONE, "error")
    expect(wire.values(topic), [b"a"], "records")


@case("BATCH-27", "Produce", versions=V2, spec="Record, key and value")
def test_null_and_empty_keys_and_values_are_told_apart(wire: Wire, version: int) -> None:
    """Null and empty keys and values come back as they were sent."""
    topic = wire.create_topic()
    sent = [(None, None), (b"", b""), (None, b""), (b"", None), (b"k", None), (None, b"v")]
    records = [Record(value, key) for key, value in sent]
    answer = wire.produce(topic, RecordBatch(records, base_timestamp=local_ms()).encode(), version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    found = [(r.key, r.value) for b in wire.batches(topic) for r in b.records]
    expect(found, sent, "(key, value) of each record")


@case("BATCH-28", "Produce", versions=V2, spec="KIP-82, Wire protocol change")
def test_headers_come_back_in_order_with_duplicates_and_nulls(wire: Wire, version: int) -> None:
    """Headers keep order and duplicates; null and empty values, and an empty key, are kept."""
    topic = wire.create_topic()
    headers: list[tuple[str | bytes, bytes | None]] = [
        ("b", b"1"),
        ("a", b"2"),
        ("b", b"3"),
        ("n", None),
        ("e", b""),
        ("", b"empty key"),
    ]
    records = [Record(b"v", headers=headers)]
    answer = wire.produce(topic, RecordBatch(records, base_timestamp=local_ms()).encode(), version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect(list(wire.batches(topic)[0].records[0].headers), headers, "headers")


@case("BATCH-30", "Produce", versions=V2, spec="class LogValidator", priority="P1")
def test_the_max_timestamp_is_that_of_the_records(wire: Wire, version: int) -> None:
    """The stored batch's max timestamp is the largest of its records, whatever the client said."""
    topic = wire.create_topic()
    base = local_ms() - 10_000
    records = [Record(b"a"), Record(b"b", timestamp_delta=500), Record(b"c", timestamp_delta=20)]
    wrong = RecordBatch(records, base_timestamp=base, max_timestamp=base + 9000).encode()
    expect(wire.produce(topic, wrong, version).error_code, ErrorCode.NONE, "error")
    expect(wire.batches(topic)[0].max_timestamp, base + 500, "stored max timestamp")
