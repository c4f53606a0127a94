"""List requests that have exactly one piece broken: each piece of each request, in each way.

A request is split into pieces that carry their field paths (`wire/codec/pieces.py`); a mutant
changes one piece and keeps the rest, so a finding names the field.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.connection import api_key
from reference_impl.wire import ZERO_UUID, Struct, encode_request_header, request_definition
from reference_impl.wire.codec.fields import Field, StructType
from reference_impl.wire.codec.pieces import Piece, pieces
from reference_impl.wire.codec.primitives import uvarint

CLIENT_ID = "touchstone"
CORRELATION_ID = 7
WIDTHS = {"int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8}
HUGE, LOWEST = 2**31 - 1, -(2**31)
A_STRING = b"\0\1x"
TAGS = {
    "a duplicated tag": b"\2\x64\1x\x64\1x",
    "unordered tags": b"\2\x65\1x\x64\1x",
    "a tag that ends behind the frame": b"\1\x64\xff\xff\xff\xff\x07",
    "2^31 tags": b"\x80\x80\x80\x80\x08",
    "an endless number of tags": b"\x80" * 9 + b"\1",
}


@dataclass(frozen=True)
class Mutant:
    """A frame without its size, the API and version that it claims, and what is wrong with it."""

    api: str
    version: int
    path: str
    change: str
    data: bytes

    @property
    def name(self) -> str:
        """The API, the version, the field and the change, in words."""
        where = f"{self.path}: " if self.path else ""
        return f"{self.api} v{self.version}, {where}{self.change}"


def mutants(api: str, version: int, body: Struct) -> Iterator[Mutant]:
    """Yield the request itself, then every mutant of its header and of its body."""
    key, definition = api_key(api), request_definition(api_key(api))
    header = encode_request_header(key, version, CORRELATION_ID, CLIENT_ID)
    parts = pieces(definition, body, version)
    flexible = version in definition.flexible_versions
    whole = b"".join(piece.data for piece in parts)
    yield Mutant(api, version, "", "unchanged", header + whole)
    for change, data in _of_header(header, key):
        yield Mutant(api, version, "the header", change, data + whole)
    yield Mutant(api, version, "", "bytes after the body", header + whole + b"more")
    at = 0
    for number, piece in enumerate(parts):
        before, after = whole[:at], whole[at + len(piece.data) :]
        at += len(piece.data)
        for change, data in _changes(piece, flexible):
            yield Mutant(api, version, piece.path, change, header + before + data + after)
        for change, data in _cuts(piece):
            yield Mutant(api, version, piece.path, change, header + before + data)
        if number + 1 < len(parts):
            following = parts[number + 1]
            rest = after[len(following.data) :]
            swapped = header + before + following.data + piece.data + rest
            yield Mutant(api, version, piece.path, "after its successor", swapped)


def _of_header(header: bytes, key: int) -> Iterator[tuple[str, bytes]]:
    """Yield (change, header) with a client id that is null, too long, or no UTF-8, and with a
    version that no API has."""
    start, rest = header[:8], header[10 + len(CLIENT_ID) :]
    for change, length in (("null", -1), ("negative", -2), ("huge", 2**15 - 1)):
        client_id = struct.pack(">h", length) + (b"" if length == -1 else CLIENT_ID.encode())
        yield f"{change} client id", start + client_id + rest
    yield "a client id that is not UTF-8", start + b"\0\2\xff\xfe" + rest
    for change, version in (("negative", -1), ("huge", 2**15 - 1)):
        yield f"{change} version", struct.pack(">hh", key, version) + header[4:]


def _cuts(piece: Piece) -> Iterator[tuple[str, bytes]]:
    yield "the frame ends before it", b""
    if len(piece.data) > 1:
        yield "the frame ends inside it", piece.data[: len(piece.data) // 2]


def _changes(piece: Piece, flexible: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the changes of one piece as (description, bytes), except those that change nothing."""
    for change, data in _all_changes(piece, flexible):
        if data != piece.data:
            yield change, data


def _all_changes(piece: Piece, flexible: bool) -> Iterator[tuple[str, bytes]]:
    size = len(piece.data)
    yield "dropped", b""
    yield "doubled", piece.data * 2
    if piece.kind in WIDTHS:
        yield "zero", bytes(size)
        yield "negative", b"\xff" * size
        yield "huge", b"\x7f" + b"\xff" * (size - 1)
        yield "lowest", b"\x80" + bytes(size - 1)
        yield "of another type", A_STRING
    elif piece.kind in ("length", "count"):
        yield from _lengths(piece, flexible)
    elif piece.kind == "data":
        yield "not UTF-8", b"\xff" * size
        yield "of zeros", bytes(size)
    elif piece.kind == "tag_count":
        if piece.data == b"\0":
            yield from TAGS.items()
    else:
        yield "of ones", b"\xff" * size
        yield "of zeros", bytes(size)


def _lengths(piece: Piece, flexible: bool) -> Iterator[tuple[str, bytes]]:
    """Yield lengths that contradict the content: null, negative, the greatest, the lowest, zero,
    off by one. flexible: whether to encode them as flexible versions do."""
    told = _uvarint(piece.data) - 1 if flexible else int.from_bytes(piece.data, "big", signed=True)
    wanted = {"null": -1, "negative": -2, "huge": HUGE, "lowest": LOWEST, "empty": 0}
    wanted |= {"one too many": told + 1, "one too few": max(told - 1, -1)}
    for change, length in wanted.items():
        if flexible:
            yield change, uvarint(length + 1 & 0xFFFFFFFF)
        else:
            low = -(1 << 8 * len(piece.data) - 1)
            fitting = min(max(length, low), -low - 1)
            yield change, fitting.to_bytes(len(piece.data), "big", signed=True)


def _uvarint(data: bytes) -> int:
    return sum((byte & 0x7F) << 7 * at for at, byte in enumerate(data))


def filled(api: str, body: Struct, name: str) -> Struct:
    """Return a copy of a request in which no array is empty and no string or struct is missing, so
    that every field has a piece to break. name: the value of such strings."""
    return _filled(request_definition(api_key(api)).root, body, name)


def _filled(kind: StructType, given: Struct | None, name: str) -> Struct:
    out = kind.cls()
    for field in kind.fields:
        value = getattr(given, field.name) if given is not None else field.default_value()
        setattr(out, field.name, _value(field, value, name))
    return out


def _value(field: Field, value: object, name: str) -> object:
    if field.is_array:
        rows = value if isinstance(value, list) and value else [None]
        if field.struct is None:
            return [_primitive(field, name) if row is None else row for row in rows]
        return [_filled(field.struct, row, name) for row in rows]
    if field.struct is not None:
        return _filled(field.struct, value if isinstance(value, Struct) else None, name)
    return _primitive(field, name) if value in (None, "", b"") else value


def _primitive(field: Field, name: str) -> object:
    usual: dict[str, object] = {"string": name, "bytes": b"x", "records": b"x", "uuid": ZERO_UUID}
    return usual.get(field.type, False if field.type == "bool" else 0)
