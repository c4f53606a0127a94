"""Produce: compressed batches, and topics which want a codec of their own (compression.type)."""

from __future__ import annotations

import random
import struct
import zlib

import lz4.frame
import pytest

from conformance.case import case, expect, expect_that
from conformance.cases.produce.test_batches import HEADER_BYTES, expect_refused
from conformance.wire import Wire, batch
from reference_impl.wire import Compression, ErrorCode, Record, RecordBatch, patched
from reference_impl.wire.batches.records import encode_records

ZSTD_FREE, WITH_ZSTD = (3, 6), (7, 13)
PRODUCED = (3, 13)
VALUES = [b"value %d " % number * 20 for number in range(10)]
COMPRESSED = [codec for codec in Compression if codec is not Compression.NONE]


def named(codec: Compression) -> str:
    return codec.name.lower()


def with_payload(codec: Compression, payload: bytes, count: int) -> bytes:
    """Return a batch of `count` records whose compressed bytes a case has made itself."""
    shell = batch(*[b""] * count).encode()[:HEADER_BYTES]
    length = HEADER_BYTES - 12 + len(payload)
    return bytes(patched(shell + payload, batch_length=length, attributes=int(codec)))


@case(
    "PROD-17",
    "Produce",
    versions=ZSTD_FREE,
    spec="KIP-110; class ProduceRequest, validateRecords",
    priority="P1",
)
def test_zstd_is_refused_before_version_7(wire: Wire, version: int) -> None:
    """A zstd batch in Produce v3 to v6 gets UNSUPPORTED_COMPRESSION_TYPE (76) and is not
    appended; the same batch is accepted from v7 on."""
    topic = wire.create_topic()
    sent = batch(*VALUES, attributes=int(Compression.ZSTD)).encode()
    expect_refused(wire, topic, sent, version, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    newer = wire.produce(topic, sent, wire.version("Produce", 7))
    expect(newer.error_code, ErrorCode.NONE, "error from v7 on")


@pytest.mark.parametrize("codec", COMPRESSED, ids=named)
@case(
    "BATCH-10",
    "Produce",
    versions=WITH_ZSTD,
    spec="class LogValidator, validateMessagesAndAssignOffsetsCompressed",
    priority="P1",
)
def test_compressed_records_with_gaps_are_never_appended_as_they_are(
    wire: Wire, version: int, codec: Compression
) -> None:
    """Compressed records whose offset deltas are not 0, 1, 2 …: the batch is refused
    (INVALID_RECORD (87) or UNKNOWN_SERVER_ERROR (-1)), nothing is appended, and the partition
    goes on."""
    # Apache Kafka 4.3.1 means to number such records again, and fails on the way in most versions
    # of Java: the catalogue leaves both errors open.
    topic = wire.create_topic()
    records = [Record(b"a", offset_delta=0), Record(b"b", offset_delta=2)]
    gaps = RecordBatch(
        records, attributes=int(codec), base_timestamp=1, max_timestamp=1, last_offset_delta=1
    )
    codes = (ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_SERVER_ERROR)
    expect_refused(wire, topic, gaps.encode(), version, *codes)
    expect(wire.produce(topic, batch(b"c").encode(), version).base_offset, 0, "next base offset")


@pytest.mark.parametrize("sent", [Compression.NONE, Compression.GZIP], ids=named)
@pytest.mark.parametrize("wanted", COMPRESSED, ids=named)
@case(
    "BATCH-12",
    "Produce",
    versions=PRODUCED,
    spec="topic config compression.type; KIP-390",
    priority="P1",
)
def test_the_topics_codec_is_applied(
    wire: Wire, version: int, sent: Compression, wanted: Compression
) -> None:
    """On a topic whose compression.type names a codec every batch is stored in that codec, with
    the same records, whatever the producer used."""
    topic = wire.create_topic(config={"compression.type": named(wanted)})
    answer = wire.produce(topic, batch(*VALUES, attributes=int(sent)).encode(), version)
    expect(answer.error_code, ErrorCode.NONE, "error")
    expect([b.compression for b in wire.batches(topic)], [wanted], "stored codecs")
    expect(wire.values(topic), VALUES, "records")


@pytest.mark.parametrize("sent", COMPRESSED, ids=named)
@case(
    "BATCH-13", "Produce", versions=WITH_ZSTD, spec="topic config compression.type", priority="P1"
)
def test_an_uncompressed_topic_stores_no_compression(
    wire: Wire, version: int, sent: Compression
) -> None:
    """On a topic with compression.type=uncompressed a compressed batch is stored without codec,
    its producer fields and records unchanged."""
    topic = wire.create_topic(config={"compression.type": "uncompressed"})
    made = batch(*VALUES, attributes=int(sent), producer_id=77, producer_epoch=3, base_sequence=0)
    expect(wire.produce(topic, made.encode(), version).error_code, ErrorCode.NONE, "error")
    stored = wire.batches(topic)[0]
    expect(stored.compression, Compression.NONE, "stored codec")
    expect(
        (stored.producer_id, stored.producer_epoch, stored.base_sequence),
        (77, 3, 0),
        "(producer id, epoch, sequence)",
    )
    expect(wire.values(topic), VALUES, "records")


def xerial(data: bytes) -> bytes:
    """Return Snappy as Java's SnappyOutputStream frames it: magic, two versions, sized blocks."""
    literal = bytes([61 << 2, *struct.pack("<H", len(data) - 1)]) + data  # one literal, 2-byte size
    size = bytearray()
    rest = len(data)
    while rest > 0x7F:
        size.append(rest & 0x7F | 0x80)
        rest >>= 7
    block = bytes([*size, rest]) + literal
    return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block


def two_gzip_members(data: bytes) -> bytes:
    """Return one gzip stream of two members (RFC 1952, 2.2), as concatenating compressors write."""
    parts = []
    for piece in (data[: len(data) // 2], data[len(data) // 2 :]):
        deflate = zlib.compressobj(wbits=31)
        parts.append(deflate.compress(piece) + deflate.flush())
    return b"".join(parts)


FRAMES = {
    "snappy-xerial": (Compression.SNAPPY, xerial),
    "lz4-checksums": (
        Compression.LZ4,
        lambda data: lz4.frame.compress(
            data, block_linked=False, content_checksum=True, block_checksum=True
        ),
    ),
    "lz4-64KiB-blocks": (
        Compression.LZ4,
        lambda data: lz4.frame.compress(
            data, block_linked=False, block_size=lz4.frame.BLOCKSIZE_MAX64KB, store_size=False
        ),
    ),
    "gzip-two-members": (Compression.GZIP, two_gzip_members),
}


@pytest.mark.parametrize("frame", FRAMES)
@case(
    "BATCH-16",
    "Produce",
    versions=WITH_ZSTD,
    spec="KIP-57; class SnappyFactory, Lz4BlockInputStream",
    priority="P1",
)
def test_each_framing_of_the_codecs_is_accepted(wire: Wire, version: int, frame: str) -> None:
    """Snappy in the xerial framing, lz4 frames of independent blocks with and without checksums,
    gzip of several members: all are accepted, and the records come back."""
    codec, compressed = FRAMES[frame]
    topic = wire.create_topic()
    payload = compressed(encode_records([Record(value) for value in VALUES]))
    answer = wire.produce(topic, with_payload(codec, payload, len(VALUES)), version)
    expect((answer.error_code, answer.base_offset), (ErrorCode.NONE, 0), "(error, base offset)")
    expect(wire.values(topic), VALUES, "records")


@case(
    "BATCH-18",
    "Produce",
    versions=WITH_ZSTD,
    spec="topic config max.message.bytes; class UnifiedLog",
    priority="P1",
)
def test_the_size_limit_is_on_the_batch_as_sent(wire: Wire, version: int) -> None:
    """A compressed batch below max.message.bytes is accepted although its records are larger."""
    topic = wire.create_topic(config={"max.message.bytes": "1000"})
    sent = batch(b"x" * 50_000, attributes=int(Compression.GZIP)).encode()
    expect_that(len(sent) < 1000, "the compressed batch", "< 1000 bytes", len(sent))
    expect(wire.produce(topic, sent, version).error_code, ErrorCode.NONE, "error")
    expect(wire.values(topic), [b"x" * 50_000], "records")


@case(
    "BATCH-19",
    "Produce",
    versions=PRODUCED,
    spec="class UnifiedLog, append; topic config compression.type",
    priority="P1",
)
def test_a_batch_that_outgrows_the_limit_when_rewritten_is_refused(
    wire: Wire, version: int
) -> None:
    """Where applying the topic's codec makes a batch larger than max.message.bytes it gets
    MESSAGE_TOO_LARGE (10), and nothing is appended."""
    topic = wire.create_topic(
        config={"max.message.bytes": "1000", "compression.type": "uncompressed"}
    )
    sent = batch(b"x" * 50_000, attributes=int(Compression.GZIP)).encode()
    expect_that(len(sent) < 1000, "the compressed batch", "< 1000 bytes", len(sent))
    expect_refused(wire, topic, sent, version, ErrorCode.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize(
    ("level_key", "codec", "levels"),
    [
        ("compression.gzip.level", Compression.GZIP, ("1", "9")),
        ("compression.lz4.level", Compression.LZ4, ("1", "17")),
        ("compression.zstd.level", Compression.ZSTD, ("-5", "22")),
    ],
    ids=["gzip", "lz4", "zstd"],
)
@case(
    "BATCH-12",
    "Produce",
    versions=(13, 13),
    spec="KIP-390, Support Compression Level",
    priority="P1",
)
def test_the_level_of_the_codec_is_applied(
    wire: Wire, version: int, level_key: str, codec: Compression, levels: tuple[str, str]
) -> None:
    """The topic's compression level is used when a batch is rewritten: the highest level stores
    fewer bytes than the lowest, and the records are the same."""
    drawn = random.Random(7)
    words = [bytes(drawn.choices(b"abcdefgh", k=6)) for _ in range(200)]
    values = [b" ".join(drawn.choices(words, k=400)) for _ in range(20)]
    sizes = []
    for level in levels:
        topic = wire.create_topic(config={"compression.type": named(codec), level_key: level})
        answer = wire.produce(topic, batch(*values).encode(), version)
        expect(answer.error_code, ErrorCode.NONE, f"error at level {level}")
        expect(wire.values(topic), values, f"records at level {level}")
        sizes.append(len(bytes(wire.fetch(topic, 0).records)))
    expect_that(sizes[1] < sizes[0], f"bytes at levels {levels}", "fewer at the second", sizes)


@pytest.mark.parametrize("codec", COMPRESSED, ids=named)
@case(
    "BATCH-33",
    "Produce",
    versions=WITH_ZSTD,
    spec="Record Batch, crc; class UnifiedLog",
    priority="P1",
)
def test_a_wrong_crc_of_compressed_records_is_refused(
    wire: Wire, version: int, codec: Compression
) -> None:
    """A compressed batch that states another CRC-32C than that of its bytes gets
    CORRUPT_MESSAGE (2), though its records can be read, and is not appended."""
    sent = batch(*VALUES, attributes=int(codec)).encode()
    wrong = bytes(patched(sent, crc=int.from_bytes(sent[17:21], "big") ^ 1))
    expect_refused(wire, wire.create_topic(), wrong, version, ErrorCode.CORRUPT_MESSAGE)
