"""Validate a batch before a leader appends it, in the order in which Kafka checks.

Source: UnifiedLog.java (analyzeAndValidateRecords) and LogValidator.java (validateBatch,
validateRecord, and the two ways to assign offsets); KIP-110 (zstd), KIP-32 and KIP-937
(timestamps), KIP-467 (which record is wrong).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from reference_impl.core.configs.keys import LONG_MAX
from reference_impl.core.log.log_config import LogConfig
from reference_impl.core.partitions.record_walk import (
    STEP_RECORDS,
    BadRecords,
    NotConsecutive,
    Walk,
    timestamps_and_keys,
    walk_pieces,
    walk_records,
)
from reference_impl.core.refused import RecordError, Refused
from reference_impl.wire import (
    NO_TIMESTAMP,
    BatchHeader,
    Compression,
    CorruptRecord,
    ErrorCode,
    Malformed,
    check_crc,
    read_header,
    set_timestamps,
)
from reference_impl.wire.batches.batch_header import (
    COMPRESSION_BITS,
    HEADER_BYTES,
    LOG_OVERHEAD,
    patched,
)
from reference_impl.wire.batches.compression import PIECE_BYTES, compress_pieces, expand

Result = TypeVar("Result")

SMALL_BYTES = 1024
RECORD_ERRORS_MAX = 10_000
"""The most records that an answer names as wrong, so that the answer stays bounded; more would not
help a client."""
_CODECS = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


@dataclass(slots=True)
class ValidatedBatch:
    """One batch that may be appended: only its offset and leader epoch must still be written."""

    data: bytearray | memoryview
    header: BatchHeader


class SurveyedBatch(bytearray):
    """A batch whose records were already checked, in steps, before the append."""

    survey: Survey


@dataclass(slots=True)
class Survey:
    """The result of checking every record of a batch under one configuration: header, figures
    (`walk`), and the recompressed batch if one is needed."""

    config: LogConfig
    header: BatchHeader
    walk: Walk
    rewritten: bytearray | None
    """The batch compressed as the topic's configuration wants, if the producer compressed it
    otherwise, else None."""


def is_large(header: BatchHeader, config: LogConfig) -> bool:
    """Return whether validation may take long: the batch holds many records, or has more than 1 KiB
    that are compressed or will be."""
    if header.records_count > STEP_RECORDS:
        return True
    wanted = _CODECS.get(config.compression_type, Compression.NONE)
    is_packed = header.attributes & COMPRESSION_BITS != 0 or wanted is not Compression.NONE
    return is_packed and header.size > SMALL_BYTES


def validated(data: memoryview | bytearray, config: LogConfig, now_ms: int) -> ValidatedBatch:
    """Return the batch with its final timestamps, in the topic's compression. Raise Refused if it
    is invalid. A SurveyedBatch is not checked again while the configuration is the same."""
    if isinstance(data, SurveyedBatch) and data.survey.config is config:
        found = data.survey
    else:
        found = _sound_at_once(data, config, now_ms) or drained(survey(data, config, now_ms))
    header = found.header
    if found.rewritten is not None:
        data, header = found.rewritten, read_header(found.rewritten)
    if len(data) > config.segment_size_max_bytes:
        raise Refused(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {len(data)} bytes in append, which exceeds the maximum"
            f" configured segment size of {config.segment_size_max_bytes}.",
        )
    return _stamped(data, header, found.walk, config, now_ms)


def survey(
    data: memoryview | bytearray, config: LogConfig, now_ms: int
) -> Generator[None, None, Survey]:
    """Check every record, in steps of a few milliseconds with a yield between them, and return the
    result. Raise Refused at the first damage, so that a decompression bomb is not expanded any
    further; wrong keys or timestamps are refused together at the end."""
    header = _checked_header(data, config)
    codec = _codec(header)
    walk = yield from _walked(data, header, codec)
    if _may_be_refused(header, walk, config, now_ms):
        yield from _refuse_records(data, header, config, now_ms)
    wanted = _CODECS.get(config.compression_type, codec)
    rewritten = None
    if wanted is not codec:
        rewritten = yield from _rewritten(data, codec, wanted, config)
    return Survey(config, header, walk, rewritten)


def _sound_at_once(data: memoryview | bytearray, config: LogConfig, now_ms: int) -> Survey | None:
    """Survey a small uncompressed batch in one pass, and return the survey. Return None for a batch
    that is large, compressed, to be compressed, or has a wrong key or timestamp: that needs steps
    or a full check. Raise Refused for a wrong header or malformed records. Nearly all batches are
    small."""
    header = _checked_header(data, config)
    if header.attributes & COMPRESSION_BITS or header.records_count > STEP_RECORDS:
        return None
    if _CODECS.get(config.compression_type, Compression.NONE) is not Compression.NONE:
        return None
    walk = _walked_at_once(data, header)
    if _may_be_refused(header, walk, config, now_ms):
        return None
    return Survey(config, header, walk, None)


def drained(steps: Generator[None, None, Result]) -> Result:
    """Run a generator to its end without pauses, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def _checked_header(data: memoryview | bytearray, config: LogConfig) -> BatchHeader:
    """Return the batch's header, or raise Refused if it is wrong (analyzeAndValidateRecords, then
    LogValidator.validateBatch)."""
    header = read_header(data)
    if header.base_offset != 0:
        raise _invalid(
            f"The baseOffset of the record batch should be 0, but it is {header.base_offset}"
        )
    if header.size > config.max_message_bytes:
        raise _too_large(header.size, config)
    try:
        check_crc(data, 0, len(data))
    except CorruptRecord as error:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt: {error}") from None
    claimed = header.last_offset_delta + 1
    if claimed <= 0:
        raise _invalid(f"Batch has an invalid offset range: [0, {header.last_offset_delta}]")
    if header.records_count <= 0:
        raise _invalid(f"Invalid reported count for record batch: {header.records_count}")
    if claimed != header.records_count:
        raise _invalid(
            f"Inconsistent batch offset range [0, {header.last_offset_delta}] and count of"
            f" records {header.records_count}"
        )
    if header.is_control:
        raise _invalid("Clients are not allowed to write control records.")
    if header.has_producer_id and header.base_sequence < 0:
        raise _invalid(
            f"Invalid sequence number {header.base_sequence} in record batch with producerId"
            f" {header.producer_id}"
        )
    return header


def _codec(header: BatchHeader) -> Compression:
    """Return the compression codec of the records, or raise Refused if there is no such codec. (The
    error code is UNKNOWN_SERVER_ERROR, because Kafka's CompressionType.forId throws an exception
    that is not expected.)"""
    if not header.attributes & COMPRESSION_BITS:
        return Compression.NONE
    try:
        return header.compression
    except CorruptRecord as error:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None


def _walked_at_once(data: memoryview | bytearray, header: BatchHeader) -> Walk:
    """Check the records of a batch that is neither compressed nor large, in one pass. Return the
    Walk. Raise Refused for invalid records."""
    records = memoryview(data)[HEADER_BYTES:]
    # The bytes of a copy are read faster, but many bytes take longer to copy than their few numbers
    # take to read.
    is_short = len(records) <= PIECE_BYTES
    try:
        return walk_records(bytes(records) if is_short else records, header.records_count)
    except BadRecords as error:
        raise _invalid(str(error)) from None


def _walked(
    data: memoryview | bytearray, header: BatchHeader, codec: Compression
) -> Generator[None, None, Walk]:
    """Visit every record while the payload is decompressed, step by step. Return the result. Raise
    Refused if the records are malformed.

    A payload that does not decompress gets UNKNOWN_SERVER_ERROR, as from Kafka, which lets the
    exceptions of its libraries through.
    """
    is_compressed = codec is not Compression.NONE
    pieces = expand(codec, memoryview(data)[HEADER_BYTES:])
    try:
        return (
            yield from walk_pieces(pieces, header.records_count, must_be_consecutive=is_compressed)
        )
    except Malformed as error:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None
    except NotConsecutive as error:
        # LogValidator should renumber such records, for old clients, but fails in 4.3.1 before they
        # are appended. So refuse them here, too.
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None
    except BadRecords as error:
        raise _invalid(str(error)) from None


def _refuse_records(
    data: memoryview | bytearray, header: BatchHeader, config: LogConfig, now_ms: int
) -> Generator[None, None, None]:
    """Raise Refused if records of a compacted topic have no key, or records have a wrong timestamp.
    It names each of them with its error (KIP-467), up to RECORD_ERRORS_MAX, and has the error code
    of the first. Yield after each step of work."""
    wrong: list[tuple[ErrorCode, RecordError]] = []
    pieces = expand(header.compression, memoryview(data)[HEADER_BYTES:])
    index = 0
    for record in timestamps_and_keys(pieces, header.records_count):
        if record is None:
            yield
            continue
        delta, has_key = record
        if config.is_compacted and not has_key:
            text = "Compacted topic cannot accept message without key."
            wrong.append((ErrorCode.INVALID_RECORD, RecordError(index, text)))
        elif problem := _timestamp_problem(header, delta, config, now_ms):
            wrong.append((ErrorCode.INVALID_TIMESTAMP, RecordError(index, problem)))
        if len(wrong) == RECORD_ERRORS_MAX:
            break
        index += 1
    if not wrong:
        return
    code = wrong[0][0]
    reason = (
        "One or more records have been rejected due to invalid timestamp"
        if code is ErrorCode.INVALID_TIMESTAMP
        else f"One or more records have been rejected due to {len(wrong)} record errors in total"
    )
    raise Refused(code, reason, tuple(error for _, error in wrong))


def _may_be_refused(header: BatchHeader, walk: Walk, config: LogConfig, now_ms: int) -> bool:
    """Return whether some record may be wrong, because a key is missing or the smallest or largest
    timestamp is invalid, so that each record must be checked."""
    if config.is_compacted and not walk.all_have_keys:
        return True
    low, high = walk.timestamp_delta_min, walk.timestamp_delta_max
    if _timestamp_problem(header, low, config, now_ms):
        return True
    return high != low and _timestamp_problem(header, high, config, now_ms) is not None


def _timestamp_problem(
    header: BatchHeader, delta: int, config: LogConfig, now_ms: int
) -> str | None:
    """Return a sentence that says why a record's timestamp is invalid, or None if it is valid
    (LogValidator.validateTimestamp). delta: the record's timestamp less the batch's base
    timestamp."""
    timestamp = header.base_timestamp + delta
    if header.is_log_append_time:
        timestamp = header.max_timestamp  # readers take this as the time of every record
    if not config.uses_log_append_time and timestamp != NO_TIMESTAMP:
        age_ms = now_ms - timestamp
        # A base timestamp and a delta may add up to more than a timestamp can be (Java wraps).
        if timestamp > LONG_MAX or not (
            -config.message_timestamp_after_max_ms
            <= age_ms
            <= config.message_timestamp_before_max_ms
        ):
            return (
                f"Timestamp {timestamp} of message is out of range. The timestamp should be within"
                f" [{now_ms - config.message_timestamp_before_max_ms},"
                f" {now_ms + config.message_timestamp_after_max_ms}]"
            )
    elif header.is_log_append_time:
        return (
            "Invalid timestamp type in message. Producer should not set timestamp type to"
            " LogAppendTime."
        )
    return None


def _rewritten(
    data: memoryview | bytearray, codec: Compression, wanted: Compression, config: LogConfig
) -> Generator[None, None, bytearray]:
    """Return a batch of the same records in the wanted compression, or raise Refused once they
    exceed the size limit. Yield after each piece: at zstd's level 22 one may take 200 ms."""
    pieces = expand(codec, memoryview(data)[HEADER_BYTES:])
    out = bytearray(memoryview(data)[:HEADER_BYTES])
    for piece in compress_pieces(wanted, pieces, config.compression_level(wanted)):
        out += piece
        if len(out) > config.max_message_bytes:
            raise _too_large(len(out), config)
        yield
    attributes = read_header(data).attributes & ~COMPRESSION_BITS | wanted
    return bytearray(patched(out, batch_length=len(out) - LOG_OVERHEAD, attributes=attributes))


def _stamped(
    data: memoryview | bytearray, header: BatchHeader, walk: Walk, config: LogConfig, now_ms: int
) -> ValidatedBatch:
    """Return the batch with its final timestamps, which are written into `data`: the broker's clock
    (KIP-32), or the producer's timestamps with the true maximum in the header."""
    if config.uses_log_append_time:
        set_timestamps(data, 0, len(data), now_ms, log_append_time=True)
        return ValidatedBatch(data, read_header(data))
    newest = header.base_timestamp + walk.timestamp_delta_max
    is_stamped = header.is_log_append_time
    if is_stamped:
        newest = header.max_timestamp
    if newest != header.max_timestamp or is_stamped:
        set_timestamps(data, 0, len(data), newest)
        header = read_header(data)
    return ValidatedBatch(data, header)


def _invalid(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, message)


def _too_large(size: int, config: LogConfig) -> Refused:
    return Refused(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch size in the append is {size} bytes which exceeds the maximum configured"
        f" value of {config.max_message_bytes}.",
    )
