"""Compress and decompress record batches, with a limit on the output.

Source: KIP-57 (LZ4 frames), KIP-110 (Zstandard), Java classes CompressionType, SnappyFactory,
Lz4BlockOutputStream. Pitfalls: Java refuses linked LZ4 blocks; snappy data are one raw block
(librdkafka, franz-go) or in xerial framing (Java), and a reader must accept both.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum

import cramjam
import lz4.frame

from reference_impl.wire.malformed import CorruptRecord

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

UNCOMPRESSED_BYTES_MAX = 128 * 1024 * 1024
"""The largest decompressed size. Kafka has no such limit; this one is above its largest request,
and stops a decompression bomb."""
XERIAL_MAGIC = b"\x82SNAPPY\0"
XERIAL_BLOCK_BYTES = 32 * 1024
GZIP_START = b"\x1f\x8b\x08"
ZSTD_LEVEL, ZSTD_LEVEL_ULTRA = 3, 20
ZSTD_TABLES_LOG = 20
"""From the ultra levels on, zstd would keep 650 MB of tables, and clear them for each batch. Tables
of a million entries and a window of 1 MiB, the largest batch by default, cost little compression.
"""
ZSTD_LONG_MATCH_BYTES = 256
"""The length from which on a match is taken without a search for a longer one, as up to level 19.
The ultra levels search up to 999 bytes: 64 KiB of shorter repetitions take 200 ms instead of 10."""
PIECE_BYTES = 64 * 1024
FED_BYTES = 16 * 1024
SNAPPY_RATIO_MAX = 22
"""The largest ratio of snappy: three bytes become 64 at most (snappy's format description,
copies)."""


class Compression(IntEnum):
    """The compression codecs: bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


Bytes = bytes | bytearray | memoryview


def compress(kind: int, data: Bytes, level: int | None = None) -> bytes:
    """Return the data compressed in a form that Kafka's Java client accepts. level: in the codec's
    own range (KIP-390; gzip -1 to 9, lz4 1 to 17, zstd -131072 to 22), None for its default; snappy
    has no levels. Raise CorruptRecord for an unknown kind."""
    return b"".join(compress_pieces(kind, [bytes(data)], level))


def compress_pieces(
    kind: int, pieces: Iterable[bytes], level: int | None = None
) -> Iterator[bytes]:
    """Yield the compressed data for input that comes in pieces, at least one output for each piece.
    level: None for the codec's default. Raise CorruptRecord for an unknown kind."""
    compressor = _COMPRESSORS.get(kind)
    if compressor is None:
        raise CorruptRecord(
            f"compression type {kind} does not exist; there are 0 to 4", "attributes"
        )
    return compressor(pieces, level)


def _compress_not(pieces: Iterable[bytes], level: int | None) -> Iterator[bytes]:
    yield from pieces


def _compress_gzip(pieces: Iterable[bytes], level: int | None) -> Iterator[bytes]:
    deflate = zlib.compressobj(-1 if level is None else level, wbits=31)
    for piece in pieces:
        yield deflate.compress(piece)
    yield deflate.flush()


def _compress_xerial(pieces: Iterable[bytes], level: int | None) -> Iterator[bytes]:
    yield XERIAL_MAGIC + struct.pack(">ii", 1, 1)
    for piece in pieces:
        yield b""  # even for an empty piece
        for start in range(0, len(piece), XERIAL_BLOCK_BYTES):
            part = piece[start : start + XERIAL_BLOCK_BYTES]
            block = bytes(cramjam.snappy.compress_raw(part))
            yield len(block).to_bytes(4, "big") + block


def _compress_lz4(pieces: Iterable[bytes], level: int | None) -> Iterator[bytes]:
    frame = lz4.frame.LZ4FrameCompressor(compression_level=level or 0, block_linked=False)
    yield frame.begin()
    for piece in pieces:
        yield frame.compress(piece)
    yield frame.flush()


def _compress_zstd(pieces: Iterable[bytes], level: int | None) -> Iterator[bytes]:
    parameter = zstd.CompressionParameter
    options: dict[int, int] = {parameter.compression_level: ZSTD_LEVEL if level is None else level}
    if level is not None and level >= ZSTD_LEVEL_ULTRA:
        tables = (parameter.window_log, parameter.hash_log, parameter.chain_log)
        options |= dict.fromkeys(tables, ZSTD_TABLES_LOG)
        options[parameter.target_length] = ZSTD_LONG_MATCH_BYTES
    frame = zstd.ZstdCompressor(options=options)
    for piece in pieces:
        yield frame.compress(piece)
    yield frame.flush()


def decompress(kind: int, data: Bytes, max_size: int = UNCOMPRESSED_BYTES_MAX) -> bytes:
    """Return the decompressed data. Raise CorruptRecord for an unknown kind, or if they are damaged
    or larger than `max_size`."""
    return b"".join(expand(kind, data, max_size))


def expand(kind: int, data: Bytes, max_size: int = UNCOMPRESSED_BYTES_MAX) -> Iterator[bytes]:
    """Yield the decompressed data in pieces, so that a decompression bomb is stopped early.

    Raise CorruptRecord for an unknown kind, or if the data are damaged or larger than `max_size`.
    """
    pieces = _EXPANDERS.get(kind)
    if pieces is None:
        raise CorruptRecord(
            f"compression type {kind} does not exist; there are 0 to 4", "attributes"
        )
    size = 0
    try:
        for piece in pieces(memoryview(data), max_size):
            size += len(piece)
            if size > max_size:
                raise _too_large(max_size)
            yield piece
    except CorruptRecord:
        raise
    except _ERRORS as error:
        raise CorruptRecord(f"not {Compression(kind).name.lower()}: {error}") from None


def _too_large(max_size: int) -> CorruptRecord:
    return CorruptRecord(f"decompresses to more than {max_size} bytes")


def _as_it_is(data: memoryview, max_size: int) -> Iterator[bytes]:
    for start in range(0, len(data), PIECE_BYTES):
        yield bytes(data[start : start + PIECE_BYTES])


def _expand_gzip(data: memoryview, max_size: int) -> Iterator[bytes]:
    """Yield the content of all members, piece by piece. Ignore bytes after the last one, as Java's
    GZIPInputStream does. Raise EOFError if the last member is not complete."""
    position = 0
    while position == 0 or data[position : position + len(GZIP_START)] == GZIP_START:
        inflate = zlib.decompressobj(wbits=31)
        fed = b""
        while not inflate.eof:
            if not fed:
                fed = bytes(data[position : position + FED_BYTES])
                position += len(fed)
            piece = inflate.decompress(fed, PIECE_BYTES)
            if not fed and not piece and not inflate.eof:
                raise EOFError("it ends too early")
            yield piece
            fed = inflate.unconsumed_tail
        position -= len(inflate.unused_data)


def _expand_snappy(data: memoryview, max_size: int) -> Iterator[bytes]:
    if data[: len(XERIAL_MAGIC)] != XERIAL_MAGIC:
        yield _expand_snappy_block(data, max_size)
        return
    size = 0
    position = len(XERIAL_MAGIC) + 8  # magic, then version and compatible version
    while position != len(data):
        start = position + 4
        position = start + int.from_bytes(data[position:start], "big")
        if position > len(data):
            raise EOFError("the last block runs past the end")
        block = _expand_snappy_block(data[start:position], max_size, size)
        size += len(block)
        yield block


def _expand_snappy_block(block: memoryview, max_size: int, already: int = 0) -> bytes:
    # The block begins with the size which the library would allocate at once.
    claimed = cramjam.snappy.decompress_raw_len(block)
    if already + claimed > max_size:
        raise _too_large(max_size)
    if claimed > SNAPPY_RATIO_MAX * len(block):
        raise ValueError(f"{len(block)} bytes cannot become {claimed}")
    return bytes(cramjam.snappy.decompress_raw(block))


def _expand_lz4(data: memoryview, max_size: int) -> Iterator[bytes]:
    decompressor = lz4.frame.LZ4FrameDecompressor()
    position = 0
    while not decompressor.eof:
        fed = b""
        if decompressor.needs_input:
            fed = bytes(data[position : position + FED_BYTES])
            position += len(fed)
            if not fed:
                raise EOFError("it ends too early")
        yield decompressor.decompress(fed, max_length=PIECE_BYTES)


def _expand_zstd(data: memoryview, max_size: int) -> Iterator[bytes]:
    """Yield the content of all frames, piece by piece. Raise EOFError if the last frame is not
    complete."""
    position = 0
    while position < len(data):
        frame = zstd.ZstdDecompressor()
        while not frame.eof:
            fed = memoryview(b"")
            if frame.needs_input:
                fed = data[position : position + FED_BYTES]
                position += len(fed)
                if not fed:
                    raise EOFError("it ends too early")
            yield frame.decompress(fed, max_length=PIECE_BYTES)
        position -= len(frame.unused_data)


_COMPRESSORS: dict[int, Callable[[Iterable[bytes], int | None], Iterator[bytes]]] = {
    Compression.NONE: _compress_not,
    Compression.GZIP: _compress_gzip,
    Compression.SNAPPY: _compress_xerial,
    Compression.LZ4: _compress_lz4,
    Compression.ZSTD: _compress_zstd,
}
_EXPANDERS: dict[int, Callable[[memoryview, int], Iterator[bytes]]] = {
    Compression.NONE: _as_it_is,
    Compression.GZIP: _expand_gzip,
    Compression.SNAPPY: _expand_snappy,
    Compression.LZ4: _expand_lz4,
    Compression.ZSTD: _expand_zstd,
}
_ERRORS = (
    zlib.error,
    zstd.ZstdError,
    cramjam.DecompressionError,
    RuntimeError,
    EOFError,
    ValueError,
)
