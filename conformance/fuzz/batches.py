"""List record batches that have exactly one field wrong: of the header, under a right and a wrong
CRC, of a record, and of a compressed payload."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from crc32c import crc32c

from reference_impl.wire import HEADER_BYTES, Compression, Record, RecordBatch

CRC_AT, SUMMED_FROM, LENGTH_AT = 17, 21, 8
HEADER_FIELDS = {
    "base offset": (0, ">q"),
    "batch length": (8, ">i"),
    "partition leader epoch": (12, ">i"),
    "magic": (16, ">b"),
    "CRC": (17, ">i"),
    "attributes": (21, ">h"),
    "last offset delta": (23, ">i"),
    "base timestamp": (27, ">q"),
    "maximum timestamp": (35, ">q"),
    "producer id": (43, ">q"),
    "producer epoch": (51, ">h"),
    "base sequence": (53, ">i"),
    "number of records": (57, ">i"),
}
RECORD_FIELDS = {
    "length of the record": 0,
    "attributes of the record": 1,
    "timestamp delta": 2,
    "offset delta": 3,
    "length of the key": 4,
    "length of the value": 6,
    "number of headers": 8,
}
"""Field -> its place among the parts that `_record` returns."""
NUMBERS = (0, 1, -1, -2, 2, 2**31 - 1, -(2**31), 2**63 - 1)
KEY, VALUE = b"key", b"value"
NOW_MS = 1_700_000_000_000


def batches() -> Iterator[tuple[str, bytes]]:
    """Yield (what is wrong, the bytes of the batch): first a valid batch, "unchanged", then each
    wrong one, and a valid batch of each codec before the wrong ones of that codec."""
    whole = _sound()
    yield "unchanged", whole
    yield from _headers(whole)
    yield from _records()
    yield from _payloads()
    for cut in (0, 1, 16, HEADER_BYTES - 1, HEADER_BYTES, len(whole) - 1):
        yield f"cut after {cut} bytes", whole[:cut]
    yield "followed by one byte", whole + b"x"
    yield "followed by half a batch", whole + whole[: len(whole) // 2]
    yield "twice", whole * 2


def _sound(compression: int = 0) -> bytes:
    records = [Record(VALUE, KEY, offset_delta=at) for at in range(3)]
    fields = {"base_timestamp": NOW_MS, "max_timestamp": NOW_MS}
    return RecordBatch(records, attributes=compression, **fields).encode()


def _headers(whole: bytes) -> Iterator[tuple[str, bytes]]:
    for name, (at, form) in HEADER_FIELDS.items():
        bits = 8 * struct.calcsize(form)
        (told,) = struct.unpack_from(form, whole, at)
        values = {0, 1, -1, -2, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), told ^ 1, told + 1}
        if name == "attributes":
            values |= {1 << bit for bit in range(15)} | {5, 6, 7}
        for value in sorted(values - {told}):
            wrong = bytearray(whole)
            if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
                continue
            struct.pack_into(form, wrong, at, value)
            yield f"{name} {value}", with_crc(wrong) if at >= SUMMED_FROM else bytes(wrong)
            if at >= SUMMED_FROM:
                yield f"{name} {value} under the CRC of {told}", bytes(wrong)


def _records() -> Iterator[tuple[str, bytes]]:
    for name, at in RECORD_FIELDS.items():
        for value in NUMBERS:
            parts = _record()
            parts[at] = varint(value)
            yield f"{name} {value}", _of_records(b"".join(parts), whole_length=at != 0)
    parts = _record()
    for at in range(len(parts)):
        yield f"a record that ends before its part {at}", _of_records(b"".join(parts[:at]))
    header = [*parts[:-1], varint(1), varint(-1), varint(-1)]
    yield "a header whose key is null", _of_records(b"".join(header))


def _record() -> list[bytes]:
    """Return the parts of a record: length, attributes, deltas, key, value, number of headers."""
    parts = [b"\0", varint(0), varint(0), varint(len(KEY)), KEY, varint(len(VALUE)), VALUE]
    parts += [varint(0)]
    return [varint(len(b"".join(parts))), *parts]


def _of_records(record: bytes, *, whole_length: bool = True) -> bytes:
    """Return a batch of one record; whole_length: whether to correct the length at the beginning of
    the record."""
    if whole_length and record:
        rest = record[1:]
        record = varint(len(rest)) + rest
    header = bytearray(_sound()[:HEADER_BYTES])
    struct.pack_into(">i", header, LENGTH_AT, HEADER_BYTES - 12 + len(record))
    struct.pack_into(">i", header, HEADER_FIELDS["last offset delta"][0], 0)
    struct.pack_into(">i", header, HEADER_FIELDS["number of records"][0], 1)
    return with_crc(header + record)


def _payloads() -> Iterator[tuple[str, bytes]]:
    """Yield (what is wrong, batch) for each codec: first a valid batch, then payloads that are cut,
    of zeros, not compressed, empty, doubled, followed by junk, or have a flipped bit."""
    for codec in list(Compression)[1:]:
        whole = _sound(codec)
        name = f"payload of {codec.name.lower()}"
        header, payload = whole[:HEADER_BYTES], whole[HEADER_BYTES:]
        plain = _sound()[HEADER_BYTES:]
        wrong = {"cut": payload[:-3], "of zeros": bytes(len(payload)), "not compressed": plain}
        wrong |= {"empty": b"", "doubled": payload * 2, "followed by junk": payload + b"junk"}
        wrong["with a flipped bit"] = payload[:-2] + bytes((payload[-2] ^ 4,)) + payload[-1:]
        yield name, whole
        for change, data in wrong.items():
            out = bytearray(header + data)
            struct.pack_into(">i", out, LENGTH_AT, len(out) - 12)
            yield f"{name} {change}", with_crc(out)


def with_crc(data: bytearray) -> bytes:
    """Return the batch with the CRC that its bytes have."""
    return (
        bytes(data[:CRC_AT])
        + struct.pack(">I", crc32c(bytes(data[SUMMED_FROM:])))
        + bytes(data[SUMMED_FROM:])
    )


def varint(value: int) -> bytes:
    """Return a zig-zag varint."""
    left, out = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])
