"""Record batches: golden bytes, reading and patching in place, what is refused."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.wire.batches.batch_header import LOG_OVERHEAD
from reference_impl.wire.batches.compression import Compression, compress
from reference_impl.wire.batches.control_records import (
    ControlRecordType,
    control_record,
    control_type,
    end_txn_marker,
)
from reference_impl.wire.batches.records import (
    NO_TIMESTAMP,
    Record,
    RecordBatch,
    assign_offset_and_epoch,
    batches,
    check_crc,
    patched,
    read_header,
    read_varint,
    set_timestamps,
    stream_records,
    varint,
)
from reference_impl.wire.malformed import CorruptRecord, Malformed

# Written down by hand from the documentation of the record batch.
AFTER_THE_CRC = bytes.fromhex(
    "0000"  # attributes
    "00000001"  # last offset delta
    "0000000000000064"  # base timestamp 100
    "0000000000000067"  # max timestamp 103
    "0000000000000009"  # producer id
    "0001"  # producer epoch
    "00000000"  # base sequence
    "00000002"  # records
    # 7 bytes: attributes, timestamp +0, offset +0, key null, value "v", no headers
    "0e 00 00 00 01 02 76 00"
    # 10 bytes: attributes, timestamp +3, offset +1, key "k", value null, 1 header: "h", null
    "14 00 06 02 02 6b 01 02 02 68 01"
)


def crc32c_bit_by_bit(data: bytes) -> int:
    """Compute CRC-32C as RFC 3720 defines it, to compare the library with."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


GOLDEN = (
    bytes.fromhex("0000000000000000 00000044 ffffffff 02")  # base offset, length 68, epoch, magic
    + crc32c_bit_by_bit(AFTER_THE_CRC).to_bytes(4, "big")
    + AFTER_THE_CRC
)


def two_records(compression: Compression = Compression.NONE) -> RecordBatch:
    second = Record(None, b"k", headers=[("h", None)], timestamp_delta=3)
    return RecordBatch(
        [Record(b"v"), second],
        attributes=compression,
        base_timestamp=100,
        producer_id=9,
        producer_epoch=1,
        base_sequence=0,
    )


def test_a_batch_is_these_bytes() -> None:
    assert two_records().encode() == GOLDEN


def test_a_batch_comes_back_with_what_was_computed_for_it() -> None:
    batch, end = RecordBatch.decode(b"before" + GOLDEN + b"after", 6)
    assert end == 6 + len(GOLDEN)
    assert (batch.last_offset_delta, batch.max_timestamp) == (1, 103)
    first, second = batch.records
    assert (first.value, first.key, list(first.headers)) == (b"v", None, [])
    assert (second.value, second.key, list(second.headers)) == (None, b"k", [("h", None)])
    assert [offset for offset, _ in replace(batch, base_offset=40).offsets()] == [40, 41]
    assert [batch.timestamp_of(record) for record in batch.records] == [100, 103]
    assert batch.encode() == GOLDEN


@pytest.mark.parametrize("compression", Compression)
def test_records_survive_every_compression(compression: Compression) -> None:
    batch = RecordBatch([Record(b"abc" * 50_000), Record(b"")], attributes=compression)
    decoded, _ = RecordBatch.decode(batch.encode())
    assert [record.value for record in decoded.records] == [b"abc" * 50_000, b""]
    assert decoded.compression is compression


def test_headers_keep_order_duplicates_and_keys_which_are_no_text() -> None:
    headers: list[tuple[str | bytes, bytes | None]] = [
        ("b", b"1"),
        ("a", None),
        ("b", b""),
        ("", b"2"),
        (b"\xff", b"3"),
    ]
    decoded, _ = RecordBatch.decode(RecordBatch([Record(b"x", headers=headers)]).encode())
    assert decoded.records[0].headers == headers


def test_an_empty_batch_keeps_its_last_offset() -> None:
    # Compaction leaves this of a producer's last batch (DefaultRecordBatch.writeEmptyHeader).
    batch = RecordBatch([], last_offset_delta=7, producer_id=1, base_sequence=3, max_timestamp=5)
    header = read_header(batch.encode())
    assert (header.last_offset, header.records_count, header.last_sequence) == (7, 0, 10)
    assert RecordBatch.decode(batch.encode())[0].records == []


def test_sequences_wrap_at_the_largest_int32() -> None:
    header = read_header(replace(two_records(), base_sequence=0x7FFFFFFF).encode())
    assert header.last_sequence == 0
    assert read_header(RecordBatch([Record(b"x")]).encode()).last_sequence == -1


def test_offset_and_epoch_are_patched_in_place_and_the_crc_stays() -> None:
    stream = bytearray(GOLDEN * 2)
    for number, (_, start, _) in enumerate(batches(stream)):
        assign_offset_and_epoch(stream, start, 1000 + number, 7)
    found = list(batches(stream))
    assert [(header.base_offset, header.partition_leader_epoch) for header, _, _ in found] == [
        (1000, 7),
        (1001, 7),
    ]
    for _, start, end in found:
        check_crc(stream, start, end)


def test_log_append_time_is_every_records_timestamp_and_has_its_own_crc() -> None:
    stream = bytearray(GOLDEN)
    set_timestamps(stream, 0, len(stream), 5000, log_append_time=True)
    batch, _ = RecordBatch.decode(stream)
    assert batch.is_log_append_time
    assert [batch.timestamp_of(record) for record in batch.records] == [5000, 5000]
    set_timestamps(stream, 0, len(stream), 103)
    assert bytes(stream) == GOLDEN


def test_a_fetch_may_end_in_the_middle_of_a_batch() -> None:
    for cut in (1, 16, 60, len(GOLDEN) - 1):
        stream = GOLDEN + GOLDEN[:cut]
        assert [end for _, _, end in batches(stream, allow_partial=True)] == [len(GOLDEN)]
        with pytest.raises(CorruptRecord):
            list(batches(stream))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"crc": 1}, "crc: states 0x00000001, but its bytes have"),
        ({"magic": 1}, "magic: magic 1 is not 2"),
        ({"batch_length": 69}, "batch_length: length 69 runs past the end of 80 bytes"),
        ({"batch_length": 48}, "batch_length: length 48 is less than a header"),
        ({"batch_length": -1}, "batch_length: length -1 is less than a header"),
        ({"records_count": 3}, r"records\[2\]: the bytes end too early"),
        ({"records_count": 1}, "records: 11 bytes follow the last record"),
        ({"records_count": -1}, "records_count: the count -1 is negative"),
        ({"records_count": 0x7FFFFFFF}, r"records\[2\]: the bytes end too early"),
        ({"attributes": 5}, "attributes: compression type 5 does not exist"),
        ({"attributes": 1}, "not gzip"),
        ({"attributes": 2}, "not snappy"),
        ({"attributes": 3}, "not lz4"),
        ({"attributes": 4}, "not zstd"),
    ],
)
def test_a_batch_which_contradicts_itself_says_where(fields: dict[str, int], problem: str) -> None:
    with pytest.raises(CorruptRecord, match=problem):
        RecordBatch.decode(patched(GOLDEN, **fields))


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ("01", r"records\[0\]: size -1 does not fit"),
        ("feffffff0f", r"records\[0\]: size 2147483647 does not fit"),
        ("8080808080 00", r"records\[0\]: varint is too long"),
        ("0e 00 00 00 03 02 76 00", r"records\[0\]: negative length -2"),
        ("0e 00 00 00 01 10 76 00", r"records\[0\]: length 8 runs past the end of the record"),
        ("0e 00 00 00 01 02 76 08", r"records\[0\]: 4 headers cannot be in the 0 bytes left"),
        ("0e 00 00 00 01 02 76 01", r"records\[0\]: -1 headers"),
        ("12 00 00 00 01 02 76 02 01 01", r"records\[0\]: a header key is null"),
        ("10 00 00 00 01 02 76 00 00", r"records\[0\]: size 8 is not what the record takes"),
    ],
)
def test_a_record_which_is_none_says_why(record: str, problem: str) -> None:
    body = bytes.fromhex(record)
    raw = GOLDEN[:61] + body
    with pytest.raises(CorruptRecord, match=problem):
        RecordBatch.decode(patched(raw, batch_length=49 + len(body), records_count=1))


def test_a_compressed_batch_is_bounded_before_it_is_expanded() -> None:
    raw = RecordBatch([Record(bytes(1 << 20))], attributes=Compression.ZSTD).encode()
    assert len(raw) < 2000
    with pytest.raises(CorruptRecord, match="decompresses to more than 4096 bytes"):
        RecordBatch.decode(raw, max_size=4096)


def test_a_transaction_marker_is_a_control_batch_with_these_bytes() -> None:
    # EndTransactionMarker.java: key = version 0, type; value = version 0, coordinator epoch.
    batch = end_txn_marker(
        ControlRecordType.COMMIT, producer_id=4, producer_epoch=2, coordinator_epoch=9
    )
    assert batch.is_control
    assert batch.is_transactional
    [record] = batch.records
    assert (record.key, record.value) == (bytes.fromhex("00000001"), bytes.fromhex("000000000009"))
    assert control_type(record) is ControlRecordType.COMMIT
    decoded, _ = RecordBatch.decode(batch.encode())
    assert (decoded.producer_id, decoded.producer_epoch, decoded.base_sequence) == (4, 2, -1)


def test_a_control_record_of_an_unknown_type_is_refused() -> None:
    assert control_type(control_record(ControlRecordType.LEADER_CHANGE, b"")) == 2
    with pytest.raises(Malformed, match="control record type 9 is unknown"):
        control_type(Record(b"", struct.pack(">hh", 0, 9)))
    with pytest.raises(CorruptRecord, match="shorter than 4 bytes"):
        control_type(Record(b"", b"\0"))


def test_a_record_without_a_timestamp_has_none() -> None:
    batch = RecordBatch([Record(b"x")])
    assert read_header(batch.encode()).max_timestamp == NO_TIMESTAMP


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varints_come_back(number: int) -> None:
    raw = varint(number)
    assert len(raw) <= 10
    assert read_varint(raw, 0, 63) == (number, len(raw))


OPTIONAL_BYTES = st.none() | st.binary(max_size=30)
RECORDS = st.builds(
    Record,
    value=OPTIONAL_BYTES,
    key=OPTIONAL_BYTES,
    headers=st.lists(st.tuples(st.text(max_size=5), OPTIONAL_BYTES), max_size=3),
    offset_delta=st.integers(-(1 << 31), (1 << 31) - 1),
    timestamp_delta=st.integers(-(1 << 62), 1 << 62),
    attributes=st.integers(0, 255),
)


@settings(max_examples=100)
@given(st.lists(RECORDS, max_size=4), st.sampled_from(Compression), st.integers(0, 1 << 62))
def test_any_batch_comes_back(
    records: list[Record], compression: Compression, base_offset: int
) -> None:
    batch = RecordBatch(
        records, base_offset, 3, compression, last_offset_delta=len(records), max_timestamp=4
    )
    assert RecordBatch.decode(batch.encode()) == (batch, len(batch.encode()))


@settings(max_examples=300)
@given(st.integers(0, len(GOLDEN) * 8 - 1), st.sampled_from(Compression))
def test_a_flipped_bit_never_goes_unnoticed(bit: int, compression: Compression) -> None:
    raw = bytearray(two_records(compression).encode())
    covered = 17 * 8 + bit % ((len(raw) - 17) * 8)  # the CRC and all that it covers
    raw[covered // 8] ^= 1 << covered % 8
    with pytest.raises(CorruptRecord):
        RecordBatch.decode(raw)


@pytest.mark.parametrize("kind", list(Compression))
@pytest.mark.parametrize("large", [1, 70_000, 300_000])
def test_streamed_records_are_those_that_decode_finds(kind: Compression, large: int) -> None:
    """They lie across the pieces in which a payload is decompressed."""
    records = [Record(b"v" * (large if n % 7 == 3 else n), offset_delta=n) for n in range(20)]
    data = RecordBatch(records, attributes=kind).encode()
    streamed = [record for record in stream_records(data) if record is not None]
    assert streamed == RecordBatch.decode(data)[0].records


@pytest.mark.parametrize("count", [2, 4])
def test_streamed_records_that_are_not_as_many_as_the_header_says_are_refused(count: int) -> None:
    data = RecordBatch([Record(b"v", offset_delta=n) for n in range(3)]).encode()
    with pytest.raises(CorruptRecord):
        list(stream_records(patched(data, records_count=count)))


def test_empty_frames_behind_the_last_record_are_streamed_in_steps() -> None:
    whole = RecordBatch([Record(b"a")], attributes=Compression.ZSTD).encode()
    data = whole + compress(Compression.ZSTD, b"") * 100
    data = patched(data, batch_length=len(data) - LOG_OVERHEAD)
    assert sum(record is None for record in stream_records(data)) >= 100
