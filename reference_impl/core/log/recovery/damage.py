"""Tell damage from a torn tail: in both cases a batch differs from the one that was written.

A crash tears what was not synced: the end of a file is missing, or sectors of it were never
written. It does not flip a single bit of a batch that is followed by whole batches. If a bit is
flipped, nothing may be cut off: the batches that follow were acknowledged, and may have been read.
"""

from __future__ import annotations

from crc32c import crc32c

from reference_impl.core.storage import File
from reference_impl.wire.batches.batch_header import HEADER_BYTES, LOG_OVERHEAD
from reference_impl.wire.batches.records import CorruptRecord, check_crc, read_header

SEARCHED_BYTES = 4 << 20
"""The number of bytes after a bad batch that are searched for the next whole batch."""
TRIED_BYTES = 64 << 20
"""The number of bytes over which the search for the flipped bit may compute checksums in all; each
attempt computes one over the whole batch."""
_MAGIC_AT, _CRC_AT, _CRC_FROM = 16, 17, 21
_OFFSETS_MAX = 2**31


class Misplaced(CorruptRecord):
    """A whole batch at the position of another one."""


def is_damage(file: File, position: int, next_offset: int) -> bool:
    """Return whether the bytes here are a batch with one wrong bit, followed by whole batches."""
    window = file.read(position, min(SEARCHED_BYTES, file.size() - position))
    following = _next_whole_batch(window, next_offset)
    return following is not None and _is_off_by_one_bit(bytearray(window[:following]))


def _next_whole_batch(window: bytes, next_offset: int) -> int | None:
    """Return the position of the first whole batch with a later offset, or None."""
    magic_at = window.find(b"\x02", LOG_OVERHEAD + _MAGIC_AT)
    while magic_at != -1:
        start = magic_at - _MAGIC_AT
        if start >= HEADER_BYTES and _is_whole_batch(window, start, next_offset):
            return start
        magic_at = window.find(b"\x02", magic_at + 1)
    return None


def _is_whole_batch(window: bytes, start: int, next_offset: int) -> bool:
    try:
        header = read_header(window, start)
        end = start + header.size
        if end > len(window) or not 0 < header.base_offset - next_offset < _OFFSETS_MAX:
            return False
        check_crc(window, start, end)
    except CorruptRecord:
        return False
    return True


def _is_off_by_one_bit(batch: bytearray) -> bool:
    stated = int.from_bytes(batch[_CRC_AT:_CRC_FROM], "big")
    covered = memoryview(batch)[_CRC_FROM:]
    if (stated ^ crc32c(covered)).bit_count() <= 1:
        return True  # the wrong bit is in the CRC, or before it
    for at in range(min(len(covered), max(HEADER_BYTES, TRIED_BYTES // (8 * len(covered))))):
        for bit in range(8):
            covered[at] ^= 1 << bit
            if crc32c(covered) == stated:
                return True
            covered[at] ^= 1 << bit
    return False
