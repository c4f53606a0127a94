"""Produce: records and headers which no client writes, and which must do no harm."""

from __future__ import annotations

import pytest

from conformance.case import case, expect
from conformance.cases.log.segments import COMPACTED, STEP_MS, keyed, now_ms
from conformance.cases.produce.test_batches import HEADER_BYTES, expect_refused
from conformance.wire import Wire, batch, eventually
from reference_impl.wire import (
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    Compression,
    ErrorCode,
    Record,
    compress,
    patched,
)
from reference_impl.wire.batches.records import encode_records, varint

V2 = (3, 13)
INVALID = ErrorCode.INVALID_RECORD
DELETE_HORIZON_BIT = 0x40


def raw_batch(records: bytes, count: int = 1, codec: Compression = Compression.NONE) -> bytes:
    """Return a batch whose records are these bytes, under a right CRC."""
    shell = batch(*[b""] * count).encode()[:HEADER_BYTES]
    payload = compress(codec, records)
    return bytes(
        patched(
            shell + payload, batch_length=HEADER_BYTES - 12 + len(payload), attributes=int(codec)
        )
    )


def sized(body: bytes) -> bytes:
    return varint(len(body)) + body


@case(
    "BATCH-25", "Produce", versions=V2, spec="class LogValidator, validateTimestamp", priority="P1"
)
def test_a_client_may_not_leave_the_time_to_the_broker(wire: Wire, version: int) -> None:
    """A batch with the LogAppendTime bit on a CreateTime topic: with a timestamp it is accepted,
    and keeps it; with timestamp -1 it gets INVALID_TIMESTAMP (32)."""
    topic = wire.create_topic()
    at = now_ms() - 5000
    stamped = batch(b"a", attributes=LOG_APPEND_TIME_BIT, base_timestamp=at, max_timestamp=at)
    answer = wire.produce(topic, stamped.encode(), version)
    expect(answer.error_code, ErrorCode.NONE, "error with a timestamp")
    expect(wire.batches(topic)[0].max_timestamp, at, "stored timestamp")
    without = batch(
        b"b",
        attributes=LOG_APPEND_TIME_BIT,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=NO_TIMESTAMP,
    )
    expect_refused(wire, topic, without.encode(), version, ErrorCode.INVALID_TIMESTAMP)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP], ids=lambda c: c.name)
@case(
    "BATCH-29",
    "Produce",
    versions=V2,
    spec="KIP-82; class DefaultRecord, readHeaders",
    priority="P1",
)
def test_a_header_without_key_is_refused(wire: Wire, version: int, codec: Compression) -> None:
    """A record header whose key is null gets INVALID_RECORD (87), and nothing is appended."""
    nameless = varint(1) + varint(-1) + varint(1) + b"v"  # one header: null key, value "v"
    record = sized(b"\0" + varint(0) + varint(0) + varint(-1) + varint(1) + b"a" + nameless)
    expect_refused(wire, wire.create_topic(), raw_batch(record, codec=codec), version, INVALID)


HOSTILE = {
    "record-size-max": varint(2**31 - 1) + b"\0" * 20,
    "record-size-negative": varint(-1) + b"\0" * 20,
    "key-size-max": sized(b"\0" + varint(0) + varint(0) + varint(2**31 - 1) + b"k" * 9),
    "value-size-max": sized(b"\0" + varint(0) + varint(0) + varint(-1) + varint(2**31 - 1) + b"v"),
    "headers-max": sized(b"\0\0\0" + varint(-1) + varint(-1) + varint(2**31 - 1)),
    "headers-negative": sized(b"\0\0\0" + varint(-1) + varint(-1) + varint(-1)),
    "header-key-size-max": sized(b"\0\0\0" + varint(-1) * 2 + varint(1) + varint(2**31 - 1) + b"h"),
    "endless-varint": b"\xff" * 30,
}


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP], ids=lambda c: c.name)
@pytest.mark.parametrize("records", HOSTILE.values(), ids=HOSTILE)
@case("BATCH-32", "Produce", versions=V2, spec="class DefaultRecord, readFrom", priority="P1")
def test_a_size_beyond_the_batch_is_refused(
    wire: Wire, version: int, records: bytes, codec: Compression
) -> None:
    """A record, key, value or header that claims up to 2^31-1 bytes, or a number without end, gets
    INVALID_RECORD (87), CORRUPT_MESSAGE (2) or UNKNOWN_SERVER_ERROR (-1: Kafka never promised
    which); nothing is appended and the broker goes on."""
    topic = wire.create_topic()
    codes = (INVALID, ErrorCode.CORRUPT_MESSAGE, ErrorCode.UNKNOWN_SERVER_ERROR)
    expect_refused(wire, topic, raw_batch(records, codec=codec), version, *codes)
    answer = wire.produce(topic, batch(b"next").encode(), version)
    expect((answer.error_code, answer.base_offset), (0, 0), "(error, base offset) of a good batch")


@case(
    "BATCH-31",
    "Produce",
    versions=V2,
    spec="KIP-534; Record Batch, attributes bit 6",
    priority="P1",
    requires=["quick-cleanup"],
)
def test_a_clients_delete_horizon_does_not_harm_compaction(wire: Wire, version: int) -> None:
    """A batch whose attributes carry the cleaner's own bit (delete horizon) is accepted; its
    records are compacted like all others: the newest value of each key stays."""
    topic = wire.create_topic(config=COMPACTED)
    old = now_ms() - 3_600_000
    for number, (key, value) in enumerate([(b"k", b"1"), (b"k", b"2"), (b"other", b"3")]):
        records = keyed([(key, value)], old + number * STEP_MS, attributes=DELETE_HORIZON_BIT)
        answer = wire.produce(topic, records, version)
        expect((answer.error_code, answer.base_offset), (0, number), "(error, base offset)")
    end = keyed([(b"end", b"!")], old + 3 * STEP_MS)
    expect(wire.produce(topic, end, version).error_code, ErrorCode.NONE, "error")
    eventually(
        lambda: wire.values(topic),
        lambda found: found == [b"2", b"3", b"!"],
        "only the newest values are left",
    )


@case("PROD-19", "Produce", versions=(8, 13), spec="KIP-467", priority="P1")
def test_each_bad_record_is_named(wire: Wire, version: int) -> None:
    """From v8 on the refusal of a batch, INVALID_RECORD (87), says which records were wrong, with a
    message for each, and a message for the partition; the good records of the batch are not
    named."""
    topic = wire.create_topic(config={"cleanup.policy": "compact"})
    records = [Record(b"v", b"k"), Record(b"no key"), Record(b"w", b"k"), Record(b"none either")]
    answer = wire.produce(topic, raw_batch(encode_records(records), 4), version)
    expect(answer.error_code, INVALID, "error")
    indexes = sorted(e.batch_index for e in answer.record_errors)
    expect(indexes, [1, 3], "batch_index of the errors")
    said = [bool(e.batch_index_error_message) for e in answer.record_errors]
    expect(said, [True, True], "is there a message for each record")
    expect(bool(answer.error_message), True, "is there a message for the partition")
    compressed = raw_batch(encode_records(records), 4, Compression.GZIP)
    expect(wire.produce(topic, compressed, version).error_code, INVALID, "error, compressed")
    expect(wire.end_offset(topic), 0, "end offset")
