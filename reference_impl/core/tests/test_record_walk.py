"""What the walk accepts, the codec reads: a log never holds records that the broker cannot read."""

from __future__ import annotations

from random import Random

import pytest

from reference_impl.core.record_walk import LONG, BadRecords, varint, walk_records
from reference_impl.wire import CorruptRecord, Record
from reference_impl.wire.records import decode_records, encode_records


def altered_records(random: Random) -> tuple[bytes, int]:
    """The payload of a batch with some bytes altered or put in, and the count of its records."""
    records = [
        Record(
            random.choice((None, b"", b"value")),
            random.choice((None, b"", b"key")),
            [("name", random.choice((None, b"x")))] * random.choice((0, 0, 1, 3)),
            timestamp_delta=random.choice((0, 5, -1)),
        )
        for _ in range(random.randint(1, 3))
    ]
    data = bytearray(encode_records(records))
    for _ in range(random.randint(0, 2)):
        at = random.randrange(len(data))
        data[at : at + random.randint(0, 1)] = bytes((random.choice((0, 1, 3, 5, 0x7F, 0x80)),))
    return bytes(data), len(records)


def test_the_walk_accepts_nothing_that_cannot_be_read() -> None:
    accepted = 0
    for seed in range(20_000):
        payload, count = altered_records(Random(seed))
        try:
            walk_records(payload, count)
        except BadRecords:
            continue
        accepted += 1
        assert len(decode_records(payload, count)) == count, payload.hex()
    assert accepted > 1000


@pytest.mark.parametrize("length", [-2, -100])
def test_a_negative_length_that_is_not_null_is_refused(length: int) -> None:
    zigzag = ((length << 1) ^ (length >> 63)) & 0x7F
    payload = bytes((12, 0, 0, 0, zigzag, 1, 0))
    with pytest.raises(CorruptRecord):
        decode_records(payload, 1)
    with pytest.raises(BadRecords):
        walk_records(payload, 1)


def test_numbers_of_32_bits_have_five_bytes_at_most() -> None:
    padded = b"\x82\x80\x80\x80\x80\x00"
    assert varint(padded, 0, LONG) == (1, 6)
    with pytest.raises(BadRecords):
        varint(padded, 0)
