"""One quick look at every record of a batch, without building any.

Source: DefaultRecord.java (readFrom, which checks the same things) and DefaultRecordBatch.java (its
iterators). Validation needs only the extremes of the timestamps, whether offsets are consecutive,
and whether a key is missing; building record objects for that would cost ten times as much.
"""

from __future__ import annotations

from typing import NamedTuple

LONG = 63
"""As `shift_max`: a number of 64 bits."""


class BadRecords(Exception):
    """The records of a batch contradict its header or themselves."""


class Walk(NamedTuple):
    """What one pass over the records found."""

    timestamp_delta_min: int
    timestamp_delta_max: int
    offsets_are_consecutive: bool
    all_have_keys: bool


def varint(data: bytes, position: int, shift_max: int = 28) -> tuple[int, int]:
    """A zigzag number of at most 5 bytes, or 10 with `LONG` (ByteUtils.readVarint, readVarlong)."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
        if shift > shift_max:
            raise BadRecords(f"a varint is longer than {shift_max // 7 + 1} bytes")


def walk_records(data: bytes, count: int) -> Walk:
    """Visit exactly `count` records, which must fill `data`; raises BadRecords."""
    try:
        return _walk(data, count)
    except IndexError:
        raise BadRecords("the records end too early") from None


def _walk(data: bytes, count: int) -> Walk:
    # Numbers of one byte are read in place: they are nearly all, and a call costs more than a read.
    low = high = 0
    consecutive = keys = True
    position, limit = 0, len(data)
    for index in range(count):
        byte = data[position]
        if byte < 0x80:
            size, position = (byte >> 1) ^ -(byte & 1), position + 1
        else:
            size, position = varint(data, position)
        end = position + size
        if size < 0 or end > limit:
            raise BadRecords(f"record {index} has size {size}, which does not fit into the batch")
        byte = data[position + 1]  # after the attributes
        if byte < 0x80:
            timestamp, position = (byte >> 1) ^ -(byte & 1), position + 2
        else:
            timestamp, position = varint(data, position + 1, LONG)
        high = max(high, timestamp)
        if timestamp < low or index == 0:
            low = timestamp
            if index == 0:
                high = timestamp
        offset, position = varint(data, position)
        if offset != index:
            consecutive = False
        byte = data[position]
        if byte < 0x80:
            key_size, position = (byte >> 1) ^ -(byte & 1), position + 1
        else:
            key_size, position = varint(data, position)
        if key_size >= 0:
            position += key_size
        else:
            keys = False
            _check_null(key_size, index)
        value_size, position = varint(data, position)
        if value_size > 0:
            position += value_size
        elif value_size:
            _check_null(value_size, index)
        if position > end:
            raise BadRecords(f"record {index} has a key or value that runs past its end")
        if data[position]:
            position = _skip_headers(data, position, index)
        else:
            position += 1
        if position != end:
            raise BadRecords(f"record {index} has size {size}, but holds {position - end + size}")
    if position != limit:
        raise BadRecords(f"{limit - position} bytes are left over after the last record")
    return Walk(low, high, consecutive, keys)


def _check_null(size: int, index: int) -> None:
    """Java's reader takes every negative length for null; no client writes another than -1."""
    if size != -1:
        raise BadRecords(f"record {index} has the negative length {size}")


def _skip_headers(data: bytes, position: int, index: int) -> int:
    """KIP-82: the key of a header must not be null, its value may be."""
    count, position = varint(data, position)
    if count < 0 or count > len(data) - position:
        raise BadRecords(f"record {index} claims {count} headers")
    for _ in range(count):
        key_size, position = varint(data, position)
        if key_size < 0:
            raise BadRecords(f"record {index} has a header whose key is null")
        value_size, position = varint(data, position + key_size)
        if value_size > 0:
            position += value_size
        elif value_size:
            _check_null(value_size, index)
    return position


def timestamps_and_keys(data: bytes, count: int) -> list[tuple[int, bool]]:
    """(timestamp delta, has a key) of each record, to say which ones are wrong and why."""
    found = []
    position = 0
    for _ in range(count):
        size, position = varint(data, position)
        timestamp, inner = varint(data, position + 1, LONG)
        _, inner = varint(data, inner)
        key_size, _ = varint(data, inner)
        found.append((timestamp, key_size >= 0))
        position += size
    return found
