"""Read and patch the 61-byte header of a record batch (magic 2) in place.

Source: Kafka documentation, Record Batch; KIP-98 (producer id, epoch, sequence), KIP-534 (delete
horizon); Java class DefaultRecordBatch. The broker's hot path reads only headers: it looks at the
records themselves only to validate them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from crc32c import crc32c

from reference_impl.wire.batches.compression import Compression
from reference_impl.wire.malformed import CorruptRecord

Buffer = bytes | bytearray | memoryview

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
_BASE_OFFSET, _LEADER_EPOCH, _CRC = struct.Struct(">q"), struct.Struct(">i"), struct.Struct(">I")
LOG_OVERHEAD = 12
"""The size of base offset and batch length in bytes; the value of batch length does not include
them."""
MAGIC = 2
_MAGIC_AT = 16
_CRC_AT = 17
_CRC_FROM = 21  # the CRC covers everything after itself, so not base offset and leader epoch
_ATTRIBUTES_AT = 21
_MAX_TIMESTAMP_AT = 35

COMPRESSION_BITS = 0x07
_COMPRESSIONS = tuple(Compression)
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40


class BatchHeader(NamedTuple):
    """The header of a record batch: its fields in their order on disk and on the wire."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size(self) -> int:
        """The size of the whole batch in bytes."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        """The offset of the batch's last record, even if compaction has removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, or -1 if the records have none; sequence numbers
        wrap at 2^31 (DefaultRecordBatch.java)."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

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

    def placed(self, base_offset: int, leader_epoch: int) -> BatchHeader:
        """Return the same header with this base offset and leader epoch. (`_replace` takes many
        times as long.)"""
        values = (base_offset, self.batch_length, leader_epoch, *self[3:])
        return tuple.__new__(BatchHeader, values)

    @property
    def has_producer_id(self) -> bool:
        """Return whether an idempotent or transactional producer wrote the batch."""
        return self.producer_id >= 0


def compression_of(attributes: int) -> Compression:
    """Return the compression in a batch's attributes. Raise CorruptRecord if it does not exist."""
    kind = attributes & COMPRESSION_BITS
    if kind >= len(_COMPRESSIONS):
        raise CorruptRecord(
            f"compression type {kind} does not exist; there are 0 to 4", "attributes"
        )
    return _COMPRESSIONS[kind]


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at this position. Raise CorruptRecord if the bytes are too few, or its magic
    or length is impossible; nothing else is checked."""
    if len(buffer) - position < HEADER_BYTES:
        raise _too_few(buffer, position)
    # This does the same as `_make`, but faster.
    header = tuple.__new__(BatchHeader, HEADER.unpack_from(buffer, position))
    if header.magic != MAGIC:
        raise _wrong_magic(header.magic)
    if header.batch_length < HEADER_BYTES - LOG_OVERHEAD:
        raise CorruptRecord(f"length {header.batch_length} is less than a header", "batch_length")
    return header


def _too_few(buffer: Buffer, position: int) -> CorruptRecord:
    """Return the error for bytes that are shorter than a header: a wrong magic, if they include
    it."""
    left = len(buffer) - position
    if left > _MAGIC_AT and buffer[position + _MAGIC_AT] != MAGIC:
        return _wrong_magic(buffer[position + _MAGIC_AT])
    return CorruptRecord(f"{left} bytes are too few for a record batch")


def _wrong_magic(magic: int) -> CorruptRecord:
    return CorruptRecord(f"magic {magic} is not 2, the only one since Kafka 4.0 (KIP-896)", "magic")


def with_header(
    payload: Buffer,
    *,
    base_offset: int,
    partition_leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    records_count: int,
) -> bytes:
    """Return a whole batch: the header with length, magic and CRC computed, and the (compressed)
    records."""
    header = BatchHeader(
        base_offset,
        HEADER_BYTES - LOG_OVERHEAD + len(payload),
        partition_leader_epoch,
        MAGIC,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        records_count,
    )
    out = bytearray(HEADER.pack(*header))
    out += payload
    struct.pack_into(">I", out, _CRC_AT, crc_of(out, 0, len(out)))
    return bytes(out)


def batches(
    buffer: Buffer, *, allow_partial: bool = False
) -> Iterator[tuple[BatchHeader, int, int]]:
    """Yield (header, start, end) of each batch. A Fetch response may end in the middle of a batch
    (max_bytes): with `allow_partial` such an end is ignored. Raise CorruptRecord for it otherwise,
    and for an impossible header in any case."""
    position, limit = 0, len(buffer)
    while position < limit:
        if allow_partial and limit - position < HEADER_BYTES:
            return
        header = read_header(buffer, position)
        end = position + LOG_OVERHEAD + header.batch_length
        if end > limit:
            if allow_partial:
                return
            raise CorruptRecord(
                f"length {header.batch_length} runs past the end of {limit} bytes", "batch_length"
            )
        yield header, position, end
        position = end


def crc_of(buffer: Buffer, start: int, end: int) -> int:
    """Return the CRC-32C of the batch between start and end; it covers everything from its
    attributes on."""
    return int(crc32c(memoryview(buffer)[start + _CRC_FROM : end]))


def check_crc(buffer: Buffer, start: int, end: int) -> None:
    """Raise CorruptRecord unless the batch between start and end has the CRC in its header."""
    (stated,) = _CRC.unpack_from(buffer, start + _CRC_AT)
    found = crc_of(buffer, start, end)
    if stated != found:
        raise CorruptRecord(f"states {stated:#010x}, but its bytes have {found:#010x}", "crc")


def assign_offset_and_epoch(
    buffer: bytearray | memoryview, start: int, base_offset: int, epoch: int
) -> None:
    """Write the base offset and leader epoch into a batch in place; the CRC does not cover these
    fields."""
    _BASE_OFFSET.pack_into(buffer, start, base_offset)
    _LEADER_EPOCH.pack_into(buffer, start + LOG_OVERHEAD, epoch)


def set_timestamps(
    buffer: bytearray | memoryview,
    start: int,
    end: int,
    max_timestamp: int,
    *,
    log_append_time: bool = False,
) -> None:
    """Set a batch's max timestamp and timestamp type in place, with a new CRC.

    With LogAppendTime the max timestamp is every record's (KIP-32; DefaultRecordBatch.java,
    setMaxTimestamp); the base timestamp stays as it was sent.
    """
    attributes: int = struct.unpack_from(">h", buffer, start + _ATTRIBUTES_AT)[0]
    attributes &= ~LOG_APPEND_TIME_BIT
    if log_append_time:
        attributes |= LOG_APPEND_TIME_BIT
    struct.pack_into(">h", buffer, start + _ATTRIBUTES_AT, attributes)
    struct.pack_into(">q", buffer, start + _MAX_TIMESTAMP_AT, max_timestamp)
    struct.pack_into(">I", buffer, start + _CRC_AT, crc_of(buffer, start, end))


def patched(batch: Buffer, **fields: int) -> bytes:
    """Return a copy of one batch with some header fields changed, and a correct CRC unless `crc` is
    given. Use it to send a batch that is wrong in exactly one place."""
    out = bytearray(batch)
    header = BatchHeader._make(HEADER.unpack_from(out))._replace(**fields)
    HEADER.pack_into(out, 0, *header)
    if "crc" not in fields:
        struct.pack_into(">I", out, _CRC_AT, crc_of(out, 0, len(out)))
    return bytes(out)
