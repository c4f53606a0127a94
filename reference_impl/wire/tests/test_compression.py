"""The five compressions: what peers send is read, junk is refused, bombs do not go off."""

from __future__ import annotations

import gzip
import random
import struct
import time

import cramjam
import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_impl.wire.batches.compression import Compression, compress, decompress, expand
from reference_impl.wire.malformed import CorruptRecord
from reference_impl.wire.tests.memory import peak_memory

REAL = [kind for kind in Compression if kind is not Compression.NONE]
KINDS = pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)


@settings(max_examples=100)
@given(st.sampled_from(Compression), st.binary(max_size=500), st.integers(1, 300))
def test_data_comes_back(kind: Compression, data: bytes, times: int) -> None:
    assert decompress(kind, compress(kind, data * times)) == data * times


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [(Compression.GZIP, 1, 9), (Compression.LZ4, 1, 17), (Compression.ZSTD, -5, 22)],
    ids=lambda value: value.name if isinstance(value, Compression) else str(value),
)
def test_a_higher_level_compresses_harder(kind: Compression, low: int, high: int) -> None:
    data = b"".join(b"%d %d;" % (n % 97, n * n) for n in range(3000))
    small, large = compress(kind, data, high), compress(kind, data, low)
    assert len(small) < len(large)
    assert decompress(kind, small) == decompress(kind, large) == data


def test_snappy_is_read_raw_and_framed() -> None:
    data = b"abc" * 30_000
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(data))) == data
    framed = compress(Compression.SNAPPY, data)
    assert framed.startswith(b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1))
    assert decompress(Compression.SNAPPY, framed) == data


def test_lz4_blocks_are_independent() -> None:
    # FLG byte, bit 5: Java's Lz4BlockInputStream refuses dependent blocks.
    assert compress(Compression.LZ4, b"a" * 100_000)[4] & 0x20


def test_lz4_with_a_content_checksum_is_read() -> None:
    raw = lz4.frame.compress(b"abc" * 9, content_checksum=True)
    assert decompress(Compression.LZ4, raw) == b"abc" * 9


def test_gzip_of_several_members_is_read() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"


def test_zstd_with_and_without_a_stated_size_is_read() -> None:
    data = b"abc" * 100_000
    stream = cramjam.zstd.Compressor()
    stream.compress(data)
    assert decompress(Compression.ZSTD, bytes(stream.finish())) == data
    assert decompress(Compression.ZSTD, bytes(cramjam.zstd.compress(data))) == data


@KINDS
def test_junk_is_refused(kind: Compression) -> None:
    with pytest.raises(CorruptRecord, match=rf"not {kind.name.lower()}"):
        decompress(kind, b"\x82junk which is no stream of any kind")


@KINDS
def test_a_stream_cut_short_is_refused(kind: Compression) -> None:
    raw = compress(kind, bytes(range(256)) * 400)
    for cut in (1, 10, len(raw) // 2, len(raw) - 1):
        with pytest.raises(CorruptRecord):
            decompress(kind, raw[:cut])


@KINDS
def test_a_bomb_is_refused_before_it_expands(kind: Compression) -> None:
    bomb = compress(kind, bytes(64 << 20))
    limit = 1 << 20
    with peak_memory() as peak, pytest.raises(CorruptRecord, match="to more than 1048576 bytes"):
        decompress(kind, bomb, limit)
    assert peak() < 4 * limit + 2 * len(bomb)


@KINDS
def test_output_of_exactly_the_limit_is_allowed(kind: Compression) -> None:
    assert decompress(kind, compress(kind, b"x" * 5000), 5000) == b"x" * 5000
    with pytest.raises(CorruptRecord):
        decompress(kind, compress(kind, b"x" * 5001), 5000)


@pytest.mark.parametrize("kind", [5, 6, 7])
def test_a_compression_which_does_not_exist_is_refused(kind: int) -> None:
    for call in (compress, decompress):
        with pytest.raises(CorruptRecord, match=f"compression type {kind} does not exist"):
            call(kind, b"")


@settings(max_examples=300)
@given(st.sampled_from(REAL), st.binary(max_size=60), st.data())
def test_a_broken_stream_is_data_or_refused(
    kind: Compression, plain: bytes, data: st.DataObject
) -> None:
    raw = bytearray(compress(kind, plain * 20))
    for _ in range(3):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        decompress(kind, bytes(raw), 1 << 20)
    except CorruptRecord as error:
        assert error.problem


@KINDS
def test_a_bomb_comes_in_pieces(kind: Compression) -> None:
    bomb = compress(kind, bytes(32 << 20))
    with peak_memory() as peak:
        size = sum(len(piece) for piece in expand(kind, bomb))
    assert size == 32 << 20
    assert peak() < 24 << 20, "more than a part of it was in memory at once"


def test_junk_behind_a_member_of_gzip_is_not_looked_at() -> None:
    """Java's streams end there too. A second gzip member is read."""
    assert decompress(Compression.GZIP, gzip.compress(b"a") + b"\x07junk") == b"a"
    with pytest.raises(CorruptRecord):
        decompress(Compression.GZIP, gzip.compress(b"a") + gzip.compress(b"b")[:-3])


def test_snappy_may_not_claim_what_its_bytes_cannot_become() -> None:
    with pytest.raises(CorruptRecord, match="cannot become"):
        decompress(Compression.SNAPPY, b"\xff\xff\xff\x07" + b"\0" * 50)


def test_the_highest_levels_of_zstd_keep_tables_of_a_million_entries_at_most() -> None:
    """Level 22 would keep 650 MB of tables; the frame's header names its window."""
    compressed = compress(Compression.ZSTD, b"mouse " * 100_000, 22)
    window_log = 10 + (compressed[5] >> 3)
    assert window_log <= 20
    assert decompress(Compression.ZSTD, compressed) == b"mouse " * 100_000


def test_the_highest_level_of_zstd_takes_long_repetitions_without_a_further_search() -> None:
    """Data with repetitions of 800 bytes took fourteen times as long at level 22."""
    draw = random.Random(1)
    data = b"".join(draw.randbytes(1000) + b"hello world " * 70 for _ in range(300))

    def seconds(level: int) -> float:
        began = time.process_time()
        assert decompress(Compression.ZSTD, compress(Compression.ZSTD, data, level)) == data
        return time.process_time() - began

    assert min(seconds(22) for _ in range(3)) < 4 * min(seconds(19) for _ in range(3))
