"""The codec reads what the walk accepts: a log never holds records that the broker cannot read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from reference_impl.core.partitions.record_walk import (
    LONG,
    STEP_RECORDS,
    BadRecords,
    NotConsecutive,
    Walk,
    timestamps_and_keys,
    varint,
    walk_pieces,
    walk_records,
)
from reference_impl.wire import CorruptRecord, Record
from reference_impl.wire.batches.records import decode_records, encode_records


def altered_records(random: Random) -> tuple[bytes, int]:
    """Return the payload of a batch with some bytes altered or put in, and the count of its
    records."""
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


def walked(pieces: list[bytes], count: int) -> tuple[Walk | None, int]:
    """Return what a walk over pieces finds (None: it refuses), and after how many steps."""
    steps = walk_pieces(pieces, count)
    done = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, done
        except BadRecords:
            return None, done
        done += 1


def in_pieces(random: Random, data: bytes) -> list[bytes]:
    """Return the same bytes, cut anywhere; some pieces are empty."""
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(random.randrange(8)))
    edges = [0, *cuts, len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


def test_pieces_are_walked_as_the_whole_is() -> None:
    accepted = refused = 0
    for seed in range(5_000):
        random = Random(seed)
        payload, count = altered_records(random)
        try:
            whole: Walk | None = walk_records(payload, count)
        except BadRecords:
            whole = None
        pieces = in_pieces(random, payload)
        assert walked(pieces, count)[0] == whole, (payload.hex(), pieces)
        if whole is None:
            refused += 1
            continue
        accepted += 1
        each = [one for one in timestamps_and_keys(pieces, count) if one is not None]
        records = decode_records(payload, count)
        assert each == [(record.timestamp_delta, record.key is not None) for record in records]
    assert min(accepted, refused) > 500


def test_a_long_walk_is_made_in_steps() -> None:
    count = 10 * STEP_RECORDS
    payload = encode_records([Record(b"") for _ in range(count)])
    walk, steps = walked([payload], count)
    assert walk is not None
    assert 8 <= steps <= 12


def test_many_empty_pieces_are_walked_in_steps() -> None:
    """A megabyte of Zstandard frames that hold nothing takes seconds to open, one after another."""
    record = encode_records([Record(b"a")])
    for pieces in ([b""] * 2_000 + [record], [record] + [b""] * 2_000):
        walk, steps = walked(pieces, 1)
        assert walk is not None
        assert steps >= 10
        assert sum(one is None for one in timestamps_and_keys([b""] * 2_000 + [record], 1)) >= 10


def test_the_walk_stops_at_the_first_bad_record() -> None:
    """The pieces behind it are never made."""

    def pieces() -> Iterator[bytes]:
        yield encode_records([Record(b"a"), Record(b"b")])[:-1] + b"\x02"
        raise AssertionError("expanded behind a bad record")

    with pytest.raises(BadRecords, match="record 1"):
        for _ in walk_pieces(pieces(), 1000):
            pass
    same = encode_records([Record(b"a")]) * 1000
    with pytest.raises(NotConsecutive):
        for _ in walk_pieces([same], 1000, must_be_consecutive=True):
            pass


def test_a_record_over_many_pieces_costs_its_length_and_not_its_square() -> None:
    payload = encode_records([Record(bytes(24 << 20))])
    pieces = [payload[at : at + 4096] for at in range(0, len(payload), 4096)]
    started_s = time.process_time()
    assert walked(pieces, 1)[0] == Walk(0, 0, True, False)
    assert time.process_time() - started_s < 3
