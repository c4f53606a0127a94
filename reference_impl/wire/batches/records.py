"""Encode and decode record batches (magic 2).

Source: Kafka documentation, Record Batch and Record; KIP-82 (headers); Java classes
DefaultRecordBatch, DefaultRecord.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from reference_impl.wire.batches.batch_header import (
    CONTROL_BIT,
    HEADER,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Buffer,
    assign_offset_and_epoch,
    batches,
    check_crc,
    compression_of,
    crc_of,
    patched,
    read_header,
    set_timestamps,
    with_header,
)
from reference_impl.wire.batches.compression import (
    UNCOMPRESSED_BYTES_MAX,
    Compression,
    compress,
    decompress,
    expand,
)
from reference_impl.wire.malformed import READ_ERRORS, CorruptRecord

__all__ = [
    "BY_POSITION",
    "NO_TIMESTAMP",
    "BatchHeader",
    "Compression",
    "CorruptRecord",
    "Record",
    "RecordBatch",
    "assign_offset_and_epoch",
    "batches",
    "check_crc",
    "crc_of",
    "decode_records",
    "encode_records",
    "patched",
    "read_header",
    "set_timestamps",
]

NO_TIMESTAMP = -1
BY_POSITION = -(1 << 31) - 1
"""An offset delta that stands for the record's position in the batch. It is not an int32, so it
cannot be meant as a value."""
STREAMED_AT_ONCE = 4096
"""The number of records after which `stream_records` lets its caller do other things."""

Header = tuple[str | bytes, bytes | None]


@dataclass(slots=True)
class Record:
    """One record. A header key that is not UTF-8 is given as bytes."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[Header] = field(default_factory=list)
    offset_delta: int = BY_POSITION
    timestamp_delta: int = 0
    attributes: int = 0


@lru_cache(1 << 14)
def varint(value: int) -> bytes:
    """Return the zigzag varint of a signed number (ByteUtils.writeVarlong, which also serves
    int32)."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(buffer: bytes, position: int, shift_max: int = 28) -> tuple[int, int]:
    """Return (value, position after it) of a zigzag varint: at most 5 bytes, or 10 if shift_max is
    63. Raise CorruptRecord if it is longer, IndexError if the bytes end before it does."""
    byte = buffer[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    value, shift = byte & 0x7F, 7
    while True:
        position += 1
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position + 1
        shift += 7
        if shift > shift_max:
            raise CorruptRecord("varint is too long")


def _sized(raw: bytes | None) -> bytes:
    return varint(-1) if raw is None else varint(len(raw)) + raw


def encode_records(records: Iterable[Record]) -> bytes:
    """Return the encoded records of a batch, without compression."""
    out = []
    for index, record in enumerate(records):
        delta = index if record.offset_delta == BY_POSITION else record.offset_delta
        parts = [
            bytes((record.attributes & 0xFF,)),
            varint(record.timestamp_delta),
            varint(delta),
            _sized(record.key),
            _sized(record.value),
            varint(len(record.headers)),
        ]
        for key, value in record.headers:
            parts.append(_sized(key.encode() if isinstance(key, str) else key) + _sized(value))
        body = b"".join(parts)
        out.append(varint(len(body)))
        out.append(body)
    return b"".join(out)


def decode_records(payload: bytes, count: int) -> list[Record]:
    """Decode exactly `count` records, which must fill the whole payload (DefaultRecordBatch's
    iterators). Raise CorruptRecord if they do not, or if a record is malformed."""
    records: list[Record] = []
    position = 0
    if count < 0:
        raise CorruptRecord(f"the count {count} is negative", "records_count")
    try:
        for _ in range(count):
            record, position = _read_record(payload, position)
            records.append(record)
    except CorruptRecord as error:
        raise error.inside(f"records[{len(records)}]") from None
    except READ_ERRORS:
        raise CorruptRecord("the bytes end too early", f"records[{len(records)}]") from None
    if position != len(payload):
        raise CorruptRecord(f"{len(payload) - position} bytes follow the last record", "records")
    return records


def stream_records(batch: Buffer) -> Iterator[Record | None]:
    """Yield each record of a batch, and None after each step of work: before each further piece of
    the payload, which is decompressed as the caller asks for more, and after STREAMED_AT_ONCE
    records, since a piece of snappy may hold millions. The CRC is not checked. Raise CorruptRecord
    where decode_records would."""
    header = read_header(batch)
    pieces = expand(header.attributes & 7, memoryview(batch)[HEADER.size : header.size])
    data, position = b"", 0
    for index in range(header.records_count):
        try:
            while (missing := _missing(data, position)) > 0:
                parts, position = [data[position:]], 0
                while missing > 0:
                    if index or len(parts) > 1:
                        yield None
                    parts.append(next(pieces))
                    missing -= len(parts[-1])
                data = b"".join(parts)
            record, position = _read_record(data, position)
        except CorruptRecord as error:
            raise error.inside(f"records[{index}]") from None
        except (*READ_ERRORS, StopIteration):
            raise CorruptRecord("the bytes end too early", f"records[{index}]") from None
        yield record
        if index % STREAMED_AT_ONCE == STREAMED_AT_ONCE - 1:
            yield None
    if position != len(data):
        raise CorruptRecord("bytes follow the last record", "records")
    for piece in pieces:
        if piece:
            raise CorruptRecord("bytes follow the last record", "records")
        yield None


def _missing(data: bytes, position: int) -> int:
    """Return how many more bytes the record at this position needs at least, 0 if it is whole."""
    try:
        size, position = read_varint(data, position)
    except IndexError:
        return 1
    return position + size - len(data)


def _read_record(buffer: bytes, position: int) -> tuple[Record, int]:
    size, position = read_varint(buffer, position)
    end = position + size
    if size < 0 or end > len(buffer):
        raise CorruptRecord(
            f"size {size} does not fit into the {len(buffer) - position} bytes that are left"
        )
    attributes = buffer[position]
    timestamp_delta, position = read_varint(buffer, position + 1, 63)
    offset_delta, position = read_varint(buffer, position)
    key, position = _read_sized(buffer, position, end)
    value, position = _read_sized(buffer, position, end)
    headers: list[Header] = []
    if buffer[position] == 0:
        position += 1
    else:
        position = _read_headers(buffer, position, end, headers)
    if position != end:
        raise CorruptRecord(f"size {size} is not what the record takes")
    return Record(value, key, headers, offset_delta, timestamp_delta, attributes), end


def _read_headers(buffer: bytes, position: int, limit: int, headers: list[Header]) -> int:
    count, position = read_varint(buffer, position)
    if not 0 <= count <= limit - position:
        raise CorruptRecord(f"{count} headers cannot be in the {limit - position} bytes left")
    for _ in range(count):
        name, position = _read_sized(buffer, position, limit)
        if name is None:
            raise CorruptRecord("a header key is null")
        value, position = _read_sized(buffer, position, limit)
        headers.append((_header_key(name), value))
    return position


def _read_sized(buffer: bytes, position: int, limit: int) -> tuple[bytes | None, int]:
    byte = buffer[position]
    if byte == 1:
        return None, position + 1
    if byte < 0x80 and not byte & 1:  # short varints are read without a call
        size = byte >> 1
        position += 1
    else:
        size, position = read_varint(buffer, position)
    if size < 0:
        raise CorruptRecord(f"negative length {size}")
    end = position + size
    if end > limit:
        raise CorruptRecord(f"length {size} runs past the end of the record")
    return buffer[position:end], end


def _header_key(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


@dataclass(slots=True)
class RecordBatch:
    """A record batch as a value. A field that is None is computed when the batch is encoded."""

    records: Sequence[Record]
    base_offset: int = 0
    partition_leader_epoch: int = -1
    attributes: int = 0
    last_offset_delta: int | None = None
    base_timestamp: int = NO_TIMESTAMP
    max_timestamp: int | None = None
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1

    @property
    def compression(self) -> Compression:
        """The compression codec of the records. Raise CorruptRecord for the unused codes 5, 6 and
        7."""
        return compression_of(self.attributes)

    @property
    def is_transactional(self) -> bool:
        """Return whether the batch was written inside a transaction."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Return whether the batch holds control records, such as a transaction marker."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def is_log_append_time(self) -> bool:
        """Return whether the broker set the timestamps."""
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    def offsets(self) -> Iterator[tuple[int, Record]]:
        """Yield each record with its absolute offset."""
        for index, record in enumerate(self.records):
            delta = index if record.offset_delta == BY_POSITION else record.offset_delta
            yield self.base_offset + delta, record

    def timestamp_of(self, record: Record) -> int:
        """Return the record's absolute timestamp; it is the batch's max timestamp if the broker set
        the timestamps (KIP-32)."""
        if self.is_log_append_time and self.max_timestamp is not None:
            return self.max_timestamp
        return self.base_timestamp + record.timestamp_delta

    def encode(self, level: int | None = None) -> bytes:
        """Return the bytes of the batch. level: the compression level, None for the codec's
        default. Raise CorruptRecord for an unused codec."""
        payload = compress(self.attributes & 7, encode_records(self.records), level)
        last = self.last_offset_delta
        if last is None:
            last = len(self.records) - 1
        newest = self.max_timestamp
        if newest is None:
            deltas = [record.timestamp_delta for record in self.records]
            newest = self.base_timestamp + max(deltas, default=0)
        return with_header(
            payload,
            base_offset=self.base_offset,
            partition_leader_epoch=self.partition_leader_epoch,
            attributes=self.attributes,
            last_offset_delta=last,
            base_timestamp=self.base_timestamp,
            max_timestamp=newest,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            records_count=len(self.records),
        )

    @classmethod
    def decode(
        cls, data: Buffer, position: int = 0, *, max_size: int = UNCOMPRESSED_BYTES_MAX
    ) -> tuple[Self, int]:
        """Decode the batch at this position; return (batch, position after it). Every byte of its
        records is validated. Raise CorruptRecord if the batch is not whole, or a byte is wrong."""
        header = read_header(data, position)
        end = position + header.size
        if end > len(data):
            raise CorruptRecord(
                f"length {header.batch_length} runs past the end of {len(data)} bytes",
                "batch_length",
            )
        check_crc(data, position, end)
        body = memoryview(data)[position + HEADER.size : end]
        payload = decompress(header.attributes & 7, body, max_size)
        batch = cls(
            decode_records(payload, header.records_count),
            header.base_offset,
            header.partition_leader_epoch,
            header.attributes,
            header.last_offset_delta,
            header.base_timestamp,
            header.max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
        )
        return batch, end
