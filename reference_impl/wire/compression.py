"""The compressions of record batches, with bounded output.

Source: KIP-57 (LZ4 frames), KIP-110 (Zstandard), Java classes CompressionType, SnappyFactory,
Lz4BlockOutputStream. Traps: Java refuses linked LZ4 blocks; snappy comes as one raw block
(librdkafka, franz-go) or in the xerial framing (Java), and a reader must take both.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum

import cramjam
import lz4.frame

from reference_impl.wire.malformed import CorruptRecord

UNCOMPRESSED_BYTES_MAX = 128 * 1024 * 1024
"""Kafka has no limit of its own; this one is above its largest request, and stops a bomb."""
XERIAL_MAGIC = b"\x82SNAPPY\0"
XERIAL_BLOCK_BYTES = 32 * 1024


class Compression(IntEnum):
    """Bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


Bytes = bytes | bytearray | memoryview


def compress(kind: int, data: Bytes, level: int | None = None) -> bytes:
    """The data, compressed as Kafka's Java client would accept it. A level other than None is the
    codec's own (KIP-390; gzip -1 to 9, lz4 1 to 17, zstd -131072 to 22); snappy has none."""
    if kind == Compression.NONE:
        return bytes(data)
    if kind == Compression.GZIP:
        deflate = zlib.compressobj(-1 if level is None else level, wbits=31)
        return deflate.compress(data) + deflate.flush()
    if kind == Compression.SNAPPY:
        return _compress_xerial(data)
    if kind == Compression.LZ4:
        return bytes(
            lz4.frame.compress(bytes(data), compression_level=level or 0, block_linked=False)
        )
    if kind == Compression.ZSTD:
        return bytes(cramjam.zstd.compress(bytes(data), level))
    raise CorruptRecord(f"compression type {kind} does not exist; there are 0 to 4", "attributes")


def decompress(kind: int, data: Bytes, max_size: int = UNCOMPRESSED_BYTES_MAX) -> bytes:
    """The data, decompressed; refused when it is not what it says, or larger than `max_size`."""
    if kind == Compression.NONE:
        if len(data) > max_size:
            raise _too_large(max_size)
        return bytes(data)
    expand = _EXPANDERS.get(kind)
    if expand is None:
        raise CorruptRecord(
            f"compression type {kind} does not exist; there are 0 to 4", "attributes"
        )
    try:
        return expand(bytes(data), max_size)
    except CorruptRecord:
        raise
    except (zlib.error, cramjam.DecompressionError, RuntimeError, EOFError, ValueError) as error:
        raise CorruptRecord(f"not {Compression(kind).name.lower()}: {error}") from None


def _too_large(max_size: int) -> CorruptRecord:
    return CorruptRecord(f"decompresses to more than {max_size} bytes")


def _expand_gzip(data: bytes, max_size: int) -> bytes:
    out = []
    left = max_size
    while data:  # a stream may consist of several members (GZIPInputStream reads on)
        inflate = zlib.decompressobj(wbits=31)
        part = inflate.decompress(data, left + 1)
        if len(part) > left:
            raise _too_large(max_size)
        if not inflate.eof:
            raise CorruptRecord("gzip ends too early")
        out.append(part)
        left -= len(part)
        data = inflate.unused_data
    return b"".join(out)


def _compress_xerial(data: Bytes) -> bytes:
    out = [XERIAL_MAGIC, struct.pack(">ii", 1, 1)]
    for start in range(0, len(data), XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(bytes(data[start : start + XERIAL_BLOCK_BYTES])))
        out += [len(block).to_bytes(4, "big"), block]
    return b"".join(out)


def _expand_snappy(data: bytes, max_size: int) -> bytes:
    if not data.startswith(XERIAL_MAGIC):
        return _expand_snappy_block(data, max_size)
    out = []
    size = 0
    position = len(XERIAL_MAGIC) + 8  # magic, then version and compatible version
    while position != len(data):
        start = position + 4
        position = start + int.from_bytes(data[position:start], "big")
        if position > len(data):
            raise CorruptRecord("not snappy: the last block runs past the end")
        out.append(_expand_snappy_block(data[start:position], max_size, size))
        size += len(out[-1])
    return b"".join(out)


def _expand_snappy_block(block: bytes, max_size: int, already: int = 0) -> bytes:
    # The block begins with the size which the library would allocate at once.
    if already + cramjam.snappy.decompress_raw_len(block) > max_size:
        raise _too_large(max_size)
    return bytes(cramjam.snappy.decompress_raw(block))


def _expand_lz4(data: bytes, max_size: int) -> bytes:
    decompressor = lz4.frame.LZ4FrameDecompressor()
    out: bytes = decompressor.decompress(data, max_length=max_size + 1)
    if len(out) > max_size:
        raise _too_large(max_size)
    if not decompressor.eof:
        raise CorruptRecord("lz4 frame ends too early")
    return out


def _expand_zstd(data: bytes, max_size: int) -> bytes:
    # The library either trusts the size which the frame claims or grows without a bound; so it
    # writes into buffers of our own, doubled until the output fits.
    size = min(max_size, max(4096, 4 * len(data)))
    while True:
        buffer = bytearray(size)
        try:
            return bytes(memoryview(buffer)[: cramjam.zstd.decompress_into(data, buffer)])
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):
                raise
        if size == max_size:
            raise _too_large(max_size)
        size = min(max_size, 4 * size)


_EXPANDERS: dict[int, Callable[[bytes, int], bytes]] = {
    Compression.GZIP: _expand_gzip,
    Compression.SNAPPY: _expand_snappy,
    Compression.LZ4: _expand_lz4,
    Compression.ZSTD: _expand_zstd,
}
