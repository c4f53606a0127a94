"""Bytes by chance and messages broken by chance: one error type, bounded memory."""

from __future__ import annotations

import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.robustness.fuzz import chance
from reference_impl.wire import (
    Malformed,
    RecordBatch,
    batches,
    decode_metadata_record,
    decode_record,
    decode_request,
    definition,
)
from reference_impl.wire.messages import api_keys, names, request_definition
from reference_impl.wire.tests.memory import peak_memory

BYTES_PER_BYTE = 64
"""An element of 3 bytes becomes a Python object with all its fields; more it must not become."""
ROOM = 64 * 1024

EVERY_VERSION = [(name, version) for name in names() for version in definition(name).valid_versions]


def decodes_or_is_malformed(name: str, version: int, data: bytes) -> bool:
    """Return whether the bytes decode to a message; any error but Malformed fails the test."""
    try:
        definition(name).decode(data, version)
    except Malformed as error:
        assert str(error).startswith(f"{name} v{version}")
        assert error.problem
        return False
    return True


@settings(max_examples=400)
@given(st.sampled_from(EVERY_VERSION), st.integers(0, 1 << 32), st.data())
def test_a_message_cut_short_is_malformed(
    which: tuple[str, int], seed: int, data: st.DataObject
) -> None:
    name, version = which
    encoded = definition(name).encode(
        chance.message(definition(name), version, Random(seed)), version
    )
    if encoded:  # a few messages have no field in some version
        cut = data.draw(st.integers(0, len(encoded) - 1))
        assert not decodes_or_is_malformed(name, version, encoded[:cut])


@settings(max_examples=600)
@given(st.sampled_from(EVERY_VERSION), st.integers(0, 1 << 32), st.data())
def test_flipped_bits_are_a_message_or_malformed(
    which: tuple[str, int], seed: int, data: st.DataObject
) -> None:
    name, version = which
    encoded = bytearray(
        definition(name).encode(chance.message(definition(name), version, Random(seed)), version)
    )
    for _ in range(data.draw(st.integers(1, 4))):
        if encoded:
            encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= 1 << data.draw(
                st.integers(0, 7)
            )
    decodes_or_is_malformed(name, version, bytes(encoded))


@settings(max_examples=300)
@given(st.sampled_from(api_keys()), st.data())
def test_a_frame_of_junk_is_a_request_or_malformed(key: int, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(request_definition(key).valid_versions))
    frame = struct.pack(">hhih", key, version, 1, -1) + data.draw(st.binary(max_size=60))
    try:
        decode_request(frame)
    except Malformed as error:
        assert error.problem


@settings(max_examples=300)
@given(st.binary(max_size=80))
def test_junk_in_a_log_is_malformed(junk: bytes) -> None:
    for read in (decode_metadata_record, lambda raw: decode_record(raw, raw)):
        try:
            read(junk)
        except Malformed as error:
            assert error.problem


@pytest.mark.parametrize("fill", [b"\xff\xff\xff\xff\x0f", b"\x7f", b"\x01", b"\x00", b"\x02"])
def test_no_frame_makes_the_reader_allocate_more_than_a_multiple_of_it(fill: bytes) -> None:
    frame = fill * (4000 // len(fill))
    for name, version in EVERY_VERSION[::3]:
        decodes_or_is_malformed(name, version, b"")  # compiles the codec outside the measurement
        with peak_memory() as peak:
            decodes_or_is_malformed(name, version, frame)
        assert peak() < BYTES_PER_BYTE * len(frame) + ROOM, (name, version)


def test_the_smallest_elements_allocate_no_more_than_a_multiple_of_their_bytes() -> None:
    arrays = 0
    for name in names():
        of = definition(name)
        version = of.valid_versions[-1]
        for field in of.root.fields:
            if field.is_array and field.struct and version in field.versions:
                elements = [field.struct.cls() for _ in range(300)]
                encoded = of.encode(of.new(**{field.name: elements}), version)
                with peak_memory() as peak:
                    of.decode(encoded, version)
                assert peak() < BYTES_PER_BYTE * len(encoded) + 8192, (name, field.name)
                arrays += 1
    assert arrays > 100


@pytest.mark.parametrize("count", [0x7FFFFFFF, 1_000_000])
def test_a_claimed_count_allocates_nothing(count: int) -> None:
    claims = {
        ("MetadataRequest", 4): struct.pack(">i", count),
        ("JoinGroupRequest", 0): struct.pack(">h1sih1sh1si", 1, b"g", 1, 1, b"m", 1, b"c", count),
        ("DescribeLogDirsRequest", 1): struct.pack(">ih1si", 1, 1, b"t", count),
    }
    for (name, version), data in claims.items():
        decodes_or_is_malformed(name, version, b"")
        with peak_memory() as peak:
            assert not decodes_or_is_malformed(name, version, data)
        assert peak() < ROOM


@settings(max_examples=300)
@given(st.binary(max_size=200), st.booleans())
def test_junk_is_no_record_batch(junk: bytes, with_magic: bool) -> None:
    if with_magic and len(junk) > 16:
        junk = junk[:16] + b"\2" + junk[17:]
    with pytest.raises(Malformed):
        RecordBatch.decode(junk)
    try:
        list(batches(junk))
    except Malformed as error:
        assert error.problem
