"""Produce: which record batches are let in, and what they look like afterwards."""

from __future__ import annotations

import struct

import pytest

from conformance.case import case, expect, expect_that
from conformance.wire import Topic, Wire, batch
from reference_impl.wire import Compression, ErrorCode, Record, RecordBatch, patched

V2 = (3, 13)
HEADER_BYTES = 61
INVALID = ErrorCode.INVALID_RECORD


def expect_refused(
    wire: Wire, topic: Topic, records: bytes | None, version: int, *codes: ErrorCode
) -> None:
    """Require one of these errors, and that nothing was appended: the log ends where it did."""
    end = wire.end_offset(topic)
    answer = wire.produce(topic, records, version)
    expect(answer.error_code, frozenset(codes), "error")
    expect(wire.end_offset(topic), end, "end offset afterwards")


@case("PROD-14", "Produce", versions=V2, spec="class ProduceRequest, validateRecords")
def test_empty_records_are_refused(wire: Wire, version: int) -> None:
    """A partition entry without any batch gets INVALID_RECORD (87)."""
    expect_refused(wire, wire.create_topic(), b"", version, INVALID)


@case("PROD-15", "Produce", versions=V2, spec="class ProduceRequest, validateRecords")
def test_two_batches_in_one_entry_are_refused(wire: Wire, version: int) -> None:
    """A partition entry holds exactly one batch: two get INVALID_RECORD (87), and neither is
    appended."""
    two = batch(b"a").encode() + batch(b"b").encode()
    expect_refused(wire, wire.create_topic(), two, version, INVALID)


@pytest.mark.parametrize("magic", [0, 1], ids="magic={}".format)
@case("PROD-16", "Produce", versions=V2, spec="KIP-724; class ProduceRequest, validateRecords")
def test_old_message_formats_are_refused(wire: Wire, version: int, magic: int) -> None:
    """Message formats 0 and 1 are no longer written: INVALID_RECORD (87)."""
    payload = struct.pack(">bb", magic, 0) + (b"\0" * 8 if magic else b"")
    payload += struct.pack(">i", -1) + struct.pack(">i", 1) + b"a"
    import zlib  # the CRC of the old formats, used nowhere else

    message = struct.pack(">I", zlib.crc32(payload)) + payload
    old = struct.pack(">qi", 0, len(message)) + message
    expect_refused(wire, wire.create_topic(), old, version, INVALID)


@case("BATCH-01", "Produce", versions=V2, spec="Record Batch, crc; class UnifiedLog")
def test_a_wrong_crc_is_refused(wire: Wire, version: int) -> None:
    """A batch whose bytes do not have the CRC-32C that it states gets CORRUPT_MESSAGE (2)."""
    corrupt = bytearray(batch(b"abcdef").encode())
    corrupt[-2] ^= 0x01
    expect_refused(wire, wire.create_topic(), bytes(corrupt), version, ErrorCode.CORRUPT_MESSAGE)


@case("BATCH-02", "Produce", versions=V2, spec="Record Batch, batchLength; class MemoryRecords")
def test_a_batch_longer_than_its_bytes_is_refused(wire: Wire, version: int) -> None:
    """A batch that states more bytes than there are is no complete batch: INVALID_RECORD (87)."""
    whole = batch(b"abcdef").encode()
    longer = whole[:8] + struct.pack(">i", len(whole) - 12 + 5) + whole[12:]
    expect_refused(wire, wire.create_topic(), longer, version, INVALID)


@case("BATCH-02", "Produce", versions=V2, spec="Record Batch, batchLength; class MemoryRecords")
def test_a_batch_shorter_than_its_bytes_is_refused(wire: Wire, version: int) -> None:
    """A batch that states fewer bytes than there are: CORRUPT_MESSAGE (2), or INVALID_RECORD (87);
    nothing is appended."""
    whole = batch(b"abcdef").encode()
    shorter = whole[:8] + struct.pack(">i", len(whole) - 12 - 3) + whole[12:]
    codes = (ErrorCode.CORRUPT_MESSAGE, INVALID)
    expect_refused(wire, wire.create_topic(), shorter, version, *codes)


@pytest.mark.parametrize("count", [1, 3], ids="count={}".format)
@case("BATCH-03", "Produce", versions=V2, spec="class LogValidator, validateBatch")
def test_a_record_count_unlike_the_last_offset_delta_is_refused(
    wire: Wire, version: int, count: int
) -> None:
    """records_count must be last_offset_delta + 1: otherwise INVALID_RECORD (87)."""
    wrong = patched(batch(b"a", b"b").encode(), records_count=count)
    expect_refused(wire, wire.create_topic(), wrong, version, INVALID)


@pytest.mark.parametrize("count", [0, -1], ids="count={}".format)
@case("BATCH-04", "Produce", versions=V2, spec="class LogValidator, validateBatch", priority="P1")
def test_a_record_count_below_one_is_refused(wire: Wire, version: int, count: int) -> None:
    """A batch of a client holds at least one record: otherwise INVALID_RECORD (87)."""
    wrong = patched(batch(b"a").encode(), records_count=count, last_offset_delta=count - 1)
    expect_refused(wire, wire.create_topic(), wrong, version, INVALID)


@case("BATCH-05", "Produce", versions=V2, spec="class DefaultRecordBatch, iterator", priority="P1")
def test_fewer_records_than_the_header_counts_are_refused(wire: Wire, version: int) -> None:
    """A header that counts more records than the body holds: INVALID_RECORD (87), nothing
    appended."""
    wrong = patched(batch(b"a").encode(), records_count=2, last_offset_delta=1)
    expect_refused(wire, wire.create_topic(), wrong, version, INVALID)


@case("BATCH-06", "Produce", versions=V2, spec="class LogValidator, validateBatch")
def test_a_control_batch_of_a_client_is_refused(wire: Wire, version: int) -> None:
    """Clients may not write control records: INVALID_RECORD (87)."""
    control = RecordBatch([Record(b"\0\0\0\0\0\0", b"\0\0\0\1")], attributes=0x20, base_timestamp=1)
    expect_refused(wire, wire.create_topic(), control.encode(), version, INVALID)


@case("BATCH-07", "Produce", versions=V2, spec="class LogValidator, validateBatch", priority="P1")
def test_a_producer_id_without_a_sequence_is_refused(wire: Wire, version: int) -> None:
    """A batch with a producer id must have a base sequence: INVALID_RECORD (87) for -1."""
    wrong = batch(b"a", producer_id=4711, producer_epoch=0, base_sequence=-1).encode()
    expect_refused(wire, wire.create_topic(), wrong, version, INVALID)


@case("BATCH-08", "Produce", versions=V2, spec="class UnifiedLog, analyzeAndValidateRecords")
def test_a_base_offset_other_than_zero_is_refused(wire: Wire, version: int) -> None:
    """The broker assigns offsets: a client's batch with base offset 1000 gets INVALID_RECORD
    (87)."""
    wrong = batch(b"a", base_offset=1000).encode()
    expect_refused(wire, wire.create_topic(), wrong, version, INVALID)


@pytest.mark.parametrize("epoch", [0, -1, 77], ids="epoch={}".format)
@case("BATCH-09", "Produce", versions=V2, spec="Record Batch, partitionLeaderEpoch")
def test_the_leader_epoch_of_a_batch_is_the_brokers(wire: Wire, version: int, epoch: int) -> None:
    """The partition leader epoch that a client sends is ignored; the leader's own is stored."""
    topic = wire.create_topic()
    answer = wire.produce(topic, batch(b"a", partition_leader_epoch=epoch).encode(), version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    leader_epoch = wire.topic_metadata(topic.name).partitions[0].leader_epoch
    expect(wire.batches(topic)[0].partition_leader_epoch, leader_epoch, "stored leader epoch")


@pytest.mark.parametrize("codec", list(Compression), ids=lambda codec: codec.name.lower())
@case("BATCH-11", "Produce", versions=(7, 13), spec="KIP-110; topic config compression.type")
def test_each_codec_is_stored_as_it_was_sent(wire: Wire, version: int, codec: Compression) -> None:
    """With compression.type=producer a batch of each codec is stored as sent (all but offset and
    epoch) and its records come back."""
    topic = wire.create_topic()
    values = [b"value %d " % n * 20 for n in range(10)]
    sent = batch(*values, attributes=int(codec)).encode()
    expect(wire.produce(topic, sent, version).error_code, ErrorCode.NONE, "error")
    stored = bytes(wire.fetch(topic, 0).records)
    expect_that(stored[16:] == sent[16:], "bytes from magic on", "as sent", "altered")
    expect(wire.values(topic), values, "records")


@pytest.mark.parametrize("codec", [c for c in Compression if c], ids=lambda codec: codec.name)
@case("BATCH-14", "Produce", versions=(7, 13), spec="ProduceRequestTest, corrupt lz4; KIP-110")
def test_a_payload_that_does_not_decompress_is_refused(
    wire: Wire, version: int, codec: Compression
) -> None:
    """A compressed payload of junk under a valid CRC is refused (2, 87 or -1: Kafka never promised
    which) and nothing is appended."""
    whole = batch(b"a" * 100, attributes=int(codec)).encode()
    junk = patched(
        whole[:HEADER_BYTES] + b"\x07junk" * ((len(whole) - HEADER_BYTES) // 5 + 1),
        batch_length=HEADER_BYTES - 12 + 5 * ((len(whole) - HEADER_BYTES) // 5 + 1),
    )
    codes = (ErrorCode.CORRUPT_MESSAGE, INVALID, ErrorCode.UNKNOWN_SERVER_ERROR)
    expect_refused(wire, wire.create_topic(), junk, version, *codes)


@pytest.mark.parametrize("codec", [5, 7], ids="codec={}".format)
@case("BATCH-15", "Produce", versions=V2, spec="class CompressionType, forId", priority="P1")
def test_an_unknown_codec_is_refused(wire: Wire, version: int, codec: int) -> None:
    """Codec ids 5 to 7 mean nothing: refused (-1, 2, 76 or 87: Kafka never promised which) and
    nothing is appended."""
    wrong = patched(batch(b"a").encode(), attributes=codec)
    codes = (
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.CORRUPT_MESSAGE,
        INVALID,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    )
    expect_refused(wire, wire.create_topic(), wrong, version, *codes)


@case("BATCH-17", "Produce", versions=V2, spec="topic config max.message.bytes; class UnifiedLog")
def test_a_batch_beyond_max_message_bytes_is_refused(wire: Wire, version: int) -> None:
    """A batch larger than the topic's max.message.bytes gets MESSAGE_TOO_LARGE (10)."""
    topic = wire.create_topic(config={"max.message.bytes": "1000"})
    expect_refused(wire, topic, batch(b"x" * 1100).encode(), version, ErrorCode.MESSAGE_TOO_LARGE)
    overhead = len(batch(b"x" * 900).encode()) - 900
    for size, code in ((1001, ErrorCode.MESSAGE_TOO_LARGE), (1000, ErrorCode.NONE)):
        made = batch(b"x" * (size - overhead)).encode()
        expect(len(made), size, "size of the batch")
        answer = wire.produce(topic, made, version)
        expect(answer.error_code, code, f"error of a batch of {size} bytes")


@case("BATCH-20", "Produce", versions=V2, spec="class UnifiedLog, append", priority="P1")
def test_a_batch_beyond_the_segment_size_is_refused(wire: Wire, version: int) -> None:
    """A batch larger than segment.bytes gets RECORD_LIST_TOO_LARGE (18)."""
    # 1 MiB is the least that Kafka 4 accepts as segment.bytes
    topic = wire.create_topic(
        config={"segment.bytes": str(1 << 20), "max.message.bytes": str(4 << 20)}
    )
    large = batch(b"x" * ((1 << 20) + 1)).encode()
    expect_refused(wire, topic, large, version, ErrorCode.RECORD_LIST_TOO_LARGE)
