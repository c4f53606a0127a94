"""Find the one batch that a Produce holds for a partition.

Source: ProduceRequest.java (validateRecords), RequestUtils.java (hasTransactionalRecords), and
ByteBufferLogInputStream.java (nextBatch); KIP-724 (only magic 2).
"""

from __future__ import annotations

import struct

from reference_impl.core.refused import Refused
from reference_impl.wire import Compression, ErrorCode, read_header
from reference_impl.wire.batches.batch_header import (
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL_BIT,
)

ZSTD_SINCE = 7
"""The first version of Produce that may carry zstd (KIP-110)."""
_MAGIC_END = 17  # a batch must reach this far before its magic can be read
_ATTRIBUTES_END = 23  # the smallest batch is longer
_SMALLEST_RECORD = 14  # LegacyRecord.RECORD_OVERHEAD_V0: no length may be below it
_LENGTH = struct.Struct(">i")
_INT_MAX = 0x7FFF_FFFF
NOBODY = (-1, -1)
"""The producer id and epoch of a transactional batch that has none."""
_NO_WRITERS: frozenset[tuple[int, int]] = frozenset()
_UNNAMED = frozenset([NOBODY])


def writers_in_transactions(records: memoryview | bytearray | None) -> frozenset[tuple[int, int]]:
    """Return a set of one, (producer id, epoch) of the first batch, if it is transactional (NOBODY
    if it names no producer). Return the empty set if it is not transactional or there is no whole
    batch of magic 2. Raise Refused if these bytes cannot be the beginning of a batch."""
    if records is None:
        return _NO_WRITERS
    end = len(records)
    if not _is_one_batch(records):
        found = _bounds(records, 0)
        if found is None or found[1] != MAGIC:
            return _NO_WRITERS
        end = found[0]
    if not records[_ATTRIBUTES_END - 1] & TRANSACTIONAL_BIT:
        return _NO_WRITERS
    if end < HEADER_BYTES:
        return _UNNAMED
    header = read_header(records)
    return (
        frozenset([(header.producer_id, header.producer_epoch)])
        if header.has_producer_id
        else _UNNAMED
    )


def the_only_batch(
    records: memoryview | bytearray | None, api_version: int
) -> memoryview | bytearray:
    """Return the single batch of magic 2 that a Produce must contain for a partition, without bytes
    after it that are too few for another batch. Raise Refused for anything else, and for zstd
    before version 7 (ProduceRequest.validateRecords)."""
    if records is not None and api_version >= ZSTD_SINCE and _is_one_batch(records):
        return records  # nearly always; the code below finds the error to answer
    found = None if records is None else _bounds(records, 0)
    if records is None or found is None:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {api_version} must have at least one record batch per"
            " partition",
        )
    end, magic = found
    if magic != MAGIC:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {api_version} are only allowed to contain record"
            " batches with magic version 2",
        )
    if end < HEADER_BYTES:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, "The record batch is shorter than its header.")
    if api_version < ZSTD_SINCE and read_header(records).attributes & 7 == Compression.ZSTD:
        raise Refused(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {api_version} are not allowed to use ZStandard"
            " compression",
        )
    if end < len(records) and _bounds(records, end) is not None:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"Produce requests with version {api_version} are only allowed to contain exactly one"
            " record batch per partition",
        )
    return records[:end] if end < len(records) else records


def _is_one_batch(records: memoryview | bytearray) -> bool:
    """Return whether the bytes are exactly one batch of magic 2, by its length."""
    size = len(records)
    return (
        size >= HEADER_BYTES
        and records[_MAGIC_END - 1] == MAGIC
        and size == LOG_OVERHEAD + _LENGTH.unpack_from(records, 8)[0]
    )


def _bounds(records: memoryview | bytearray, start: int) -> tuple[int, int] | None:
    """Return (end, magic) of the batch that begins here, or None if fewer bytes are left than a
    batch needs (ByteBufferLogInputStream.nextBatch). Raise Refused for a length or magic that no
    batch can have."""
    left = len(records) - start
    if left < LOG_OVERHEAD:
        return None
    (length,) = _LENGTH.unpack_from(records, start + 8)
    if length < _SMALLEST_RECORD:
        raise Refused(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record size {length} is less than the minimum record overhead ({_SMALLEST_RECORD})",
        )
    if length > _INT_MAX - LOG_OVERHEAD:
        # Kafka's own sum overflows, and an unexpected exception ends the request.
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"Record size {length} is too large")
    if left < _MAGIC_END:
        return None
    magic = records[start + _MAGIC_END - 1]
    if magic > MAGIC:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    if LOG_OVERHEAD + length > left:
        return None
    return start + LOG_OVERHEAD + length, magic
