"""One quick look at every record of a batch, without building any.

Source: DefaultRecord.java (readFrom, which checks the same things) and DefaultRecordBatch.java (its
iterators). Validation needs only the extremes of the timestamps, whether offsets are consecutive,
and whether a key is missing; building record objects for that would cost ten times as much.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

from reference_impl.wire.batches.compression import UNCOMPRESSED_BYTES_MAX

Bytes = bytes | bytearray | memoryview
LONG = 63
"""The value of `shift_max` for a number of 64 bits."""
SIZE_BYTES_MAX = 5
"""The most bytes of the varint that begins a record with its size."""
STEP_RECORDS, STEP_BYTES = 4096, 1 << 20
"""The amount of work, in records and in bytes, after which other requests have their turn: a few
milliseconds."""
RECORD_WORK = STEP_BYTES // STEP_RECORDS
PIECE_WORK = STEP_BYTES // 128
"""The bytes of work that count for fetching one piece, however small: a megabyte may consist of a
hundred thousand compressed frames without content."""


class BadRecords(Exception):
    """The records of a batch contradict its header or each other."""


class NotConsecutive(BadRecords):
    """The offsets of the records are not 0, 1, 2 and so on."""


class Walk(NamedTuple):
    """The result of one pass over a batch's records: the smallest and the largest timestamp delta,
    whether offsets are consecutive, whether all records have keys."""

    timestamp_delta_min: int
    timestamp_delta_max: int
    offsets_are_consecutive: bool
    all_have_keys: bool


NOTHING_SEEN = Walk(0, 0, True, True)
ENDS_EARLY = "the records end too early"


class Window:
    """The bytes of a payload that are in memory now; the payload arrives in pieces."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._work = 0
        self.data: Bytes = bytearray()
        self.is_last = False
        """Whether no more bytes follow after `data`."""

    def advance(self, position: int, wanted: int) -> Iterator[None]:
        """Drop the bytes before the position and add at least one piece, until `wanted` bytes are
        there or `is_last` is set. Yield after each step of work."""
        # Append in place: joining the pieces of a record of 120 MB at once would take long.
        data = self.data
        assert isinstance(data, bytearray)
        del data[:position]
        is_first = True
        while len(data) < wanted or is_first:
            piece = next(self._pieces, None)
            if piece is None:
                self.is_last = True
                break
            is_first = False
            data += piece
            yield from self.count(PIECE_WORK + len(piece))

    def count(self, work: int) -> Iterator[None]:
        """Add this much work to the count. Yield when the count has reached one step."""
        self._work += work
        if self._work >= STEP_BYTES:
            self._work = 0
            yield


def varint(data: Bytes, position: int, shift_max: int = 28) -> tuple[int, int]:
    """Read a zigzag number of at most 5 bytes, or 10 with `LONG` (ByteUtils.readVarint,
    readVarlong). Return (number, position after it). Raise BadRecords if it is longer, and
    IndexError if the data end within it."""
    byte = data[position]
    if byte >= 0x80 > (second := data[position + 1]):  # as most sizes of records and values
        value = byte & 0x7F | second << 7
        return (value >> 1) ^ -(value & 1), position + 2
    value, shift = byte & 0x7F, 7
    while byte >= 0x80:
        if shift > shift_max:
            raise BadRecords(f"a varint is longer than {shift_max // 7 + 1} bytes")
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), position + 1


def walk_records(data: Bytes, count: int) -> Walk:
    """Visit exactly `count` records, and return what was found. Raise BadRecords if they do not
    fill `data`, or one is wrong."""
    try:
        _, position, _, seen = _walk(data, True, 0, 0, count, NOTHING_SEEN)
    except IndexError:
        raise BadRecords(ENDS_EARLY) from None
    if left := len(data) - position:
        raise BadRecords(f"{left} bytes are left over after the last record")
    return seen


def walk_pieces(
    pieces: Iterable[bytes], count: int, *, must_be_consecutive: bool = False
) -> Generator[None, None, Walk]:
    """Visit exactly `count` records, which must fill the pieces, and return what was found. Yield
    after each step of work. Raise BadRecords at the first record that is wrong or if the records do
    not fill the pieces, and NotConsecutive if offsets must be consecutive and are not."""
    window = Window(pieces)
    seen = NOTHING_SEEN
    index = position = 0
    wanted = 1
    while index < count:
        if wanted:
            yield from window.advance(position, wanted)
            position = 0
        first, stop = index, min(count, index + STEP_RECORDS)
        try:
            index, position, wanted, seen = _walk(
                window.data, window.is_last, position, index, stop, seen
            )
        except IndexError:
            raise BadRecords(ENDS_EARLY) from None
        if must_be_consecutive and not seen.offsets_are_consecutive:
            raise NotConsecutive("the offsets of the records are not consecutive")
        if index < count:
            yield from window.count((index - first) * RECORD_WORK)
    left = len(window.data) - position
    while not left and not window.is_last:
        yield from window.advance(position, 1)
        position, left = 0, len(window.data)
    if left:
        raise BadRecords(f"{left} bytes or more are left over after the last record")
    return seen


def _walk(
    data: Bytes, is_last: bool, position: int, first: int, stop: int, seen: Walk
) -> tuple[int, int, int, Walk]:
    """Visit records from `first` up to `stop`, or to the end of `data`, which more may follow
    unless it is the last.

    Return the index of the next record, its position, the bytes that it needs there (0: those at
    hand are enough), and what was found.

    Raise BadRecords if a size or a length does not fit, IndexError if the data end inside a record.
    """
    # Numbers of one byte are read in place: they are nearly all, and a call costs more than a read.
    low, high, consecutive, keys = seen
    limit = len(data)
    safe = limit if is_last else limit - SIZE_BYTES_MAX
    for index in range(first, stop):
        start = position
        if start > safe:
            return index, start, SIZE_BYTES_MAX, Walk(low, high, consecutive, keys)
        if (byte := data[position]) < 0x80:
            size, position = (byte >> 1) ^ -(byte & 1), position + 1
        else:
            size, position = varint(data, position)
        end = position + size
        if size < 0 or end > limit:
            _check_more_may_follow(is_last, size, index)
            return index, start, end - start, Walk(low, high, consecutive, keys)
        if (byte := data[position + 1]) < 0x80:  # after the attributes
            timestamp, position = (byte >> 1) ^ -(byte & 1), position + 2
        else:
            timestamp, position = varint(data, position + 1, LONG)
        if timestamp > high or index == 0:
            high = timestamp
        if timestamp < low or index == 0:
            low = timestamp
        if data[position] == index << 1 < 0x80:  # the next offset
            position += 1
        else:
            offset, position = varint(data, position)
            consecutive &= offset == index
        if (byte := data[position]) < 0x80:
            key_size, position = (byte >> 1) ^ -(byte & 1), position + 1
        else:
            key_size, position = varint(data, position)
        if key_size >= 0:
            position += key_size
        elif key_size == -1:
            keys = False
        else:
            raise _negative(key_size, index)
        value_size, position = varint(data, position)
        if value_size > 0:
            position += value_size
        elif value_size < -1:
            raise _negative(value_size, index)
        if position > end:
            raise BadRecords(f"record {index} has a key or value that runs past its end")
        if data[position]:
            position = _skip_headers(data, position, index)
        else:
            position += 1
        if position != end:
            raise BadRecords(f"record {index} has size {size}, but holds {position - end + size}")
    return stop, position, 0, Walk(low, high, consecutive, keys)


def _check_more_may_follow(is_last: bool, size: int, index: int) -> None:
    """Raise BadRecords if the record cannot continue after the bytes at hand: they are the last, or
    its size is absurd."""
    if size < 0 or is_last or size > UNCOMPRESSED_BYTES_MAX:
        raise BadRecords(f"record {index} has size {size}, which does not fit into the batch")


def _negative(size: int, index: int) -> BadRecords:
    """Return the error for a negative length other than -1, which Java's reader takes for null but
    no client writes."""
    return BadRecords(f"record {index} has the negative length {size}")


def _skip_headers(data: Bytes, position: int, index: int) -> int:
    """Skip the headers of a record, whose keys must not be null (KIP-82), and return the position
    after them. Raise BadRecords if a count, key or value is not valid."""
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
        elif value_size < -1:
            raise _negative(value_size, index)
    return position


def timestamps_and_keys(pieces: Iterable[bytes], count: int) -> Iterator[tuple[int, bool] | None]:
    """Yield (timestamp delta, has a key) of each record, so that wrong records can be named, and
    None after each step of work. The records must be well-formed: `walk_pieces` has visited
    them."""
    window = Window(pieces)
    position = 0
    for _ in range(count):
        wanted = SIZE_BYTES_MAX
        while True:
            if position + wanted <= len(window.data) or window.is_last:
                size, inner = varint(window.data, position)
                if inner + size <= len(window.data):
                    break
                wanted = inner + size - position
            for _step in window.advance(position, wanted):
                yield None
            position = 0
        timestamp, at = varint(window.data, inner + 1, LONG)
        _, at = varint(window.data, at)
        key_size, _ = varint(window.data, at)
        yield timestamp, key_size >= 0
        position = inner + size
        for _step in window.count(RECORD_WORK):
            yield None
