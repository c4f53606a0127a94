"""Readers and writers of the primitive types.

Source: Kafka protocol guide, Protocol Primitive Types; KIP-482, The Kafka Protocol should Support
Optional Tagged Fields (compact types, unsigned varints); Java class MessageDataGenerator.

A reader takes (buffer, position) and returns (value, position after it). A writer appends to a
list of byte strings, which are joined once at the end.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from reference_impl.wire.malformed import (
    READ_ERRORS,
    WRITE_ERRORS,
    Budget,
    Malformed,
    unreadable,
    unwritable,
)

Reader = Callable[[memoryview, int], tuple[Any, int]]
Writer = Callable[[list[Any], Any], None]

STRING_BYTES_MAX = 0x7FFF  # MessageDataGenerator.java: compact strings keep the old limit
ZERO_UUID = uuid.UUID(int=0)
NUMBERS_PER_ELEMENT = 64
"""The number of an array's numbers that take as long as one other element."""
PARTS_MAX = 4096
"""The number of parts of an array that are joined into one while it is encoded."""
FORMATS = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "bool": "?",  # any byte but 0 is true, as in Java's reader
}


class Codec(NamedTuple):
    """The reader and the writer of one type, and the fewest bytes that a value takes.

    `min_size` is used to refuse an array whose count cannot fit into the remaining bytes, before
    anything is allocated. `format` is the struct letter of a fixed-size number, else empty.
    """

    read: Reader
    write: Writer
    min_size: int
    format: str = ""


def fixed(letter: str) -> Codec:
    """Return the codec of a big-endian number. letter: its format in the module `struct`."""
    number = struct.Struct(">" + letter)
    unpack, pack, size = number.unpack_from, number.pack, number.size

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        return unpack(buffer, position)[0], position + size

    def write(out: list[Any], value: Any) -> None:
        out.append(pack(value))

    return Codec(read, write, size, letter)


@lru_cache(4096)
def _uuid_of(raw: bytes) -> uuid.UUID:
    # Brokers see the same few topic ids in every Fetch; building a UUID costs a microsecond.
    return uuid.UUID(bytes=raw)


def _read_uuid(buffer: memoryview, position: int) -> tuple[uuid.UUID, int]:
    end = position + 16
    if end > len(buffer):
        raise Malformed(f"uuid runs past the end of {len(buffer)} bytes")
    return _uuid_of(bytes(buffer[position:end])), end


def _write_uuid(out: list[Any], value: uuid.UUID) -> None:
    out.append(value.bytes)


def read_uvarint(buffer: memoryview, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits, so at most 5 bytes
    (ByteUtils.readUnsignedVarint). Return (number, position after it). Raise Malformed if it is
    longer, IndexError if the bytes end before it does."""
    byte = buffer[position]
    if byte < 0x80:
        return byte, position + 1
    value, shift = byte & 0x7F, 7
    while True:
        position += 1
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position + 1
        shift += 7
        if shift > 28:
            raise Malformed("unsigned varint is longer than 5 bytes")


_SMALL = tuple(bytes((value,)) for value in range(0x80))


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint."""
    if 0 <= value < 0x80:
        return _SMALL[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_compact_length(buffer: memoryview, position: int) -> tuple[int, int]:
    length = buffer[position]
    if length < 0x80:  # nearly always, and this is the hottest line of all
        return length - 1, position + 1
    length, position = read_uvarint(buffer, position)
    return length - 1, position


def _write_compact_length(out: list[Any], length: int) -> None:
    out.append(_SMALL[length + 1] if length < 0x7F else uvarint(length + 1))


FIXED = {name: fixed(letter) for name, letter in FORMATS.items()}
FIXED["uuid"] = Codec(_read_uuid, _write_uuid, 16)
COMPACT_LENGTH = Codec(_read_compact_length, _write_compact_length, 1)


def length_codec(kind: str, flexible: bool) -> Codec:
    """Return the codec of the length in front of a value. kind: "string", "bytes", "records" or
    "array". In flexible versions it is COMPACT_LENGTH for all of them."""
    if flexible:
        return COMPACT_LENGTH
    return FIXED["int16" if kind == "string" else "int32"]


def encoded_length(kind: str, flexible: bool, length: int) -> bytes:
    """Return a length as `length_codec` writes it; -1 stands for null."""
    out: list[bytes] = []
    length_codec(kind, flexible).write(out, length)
    return out[0]


def checked_length(length: int, kind: str, nullable: bool) -> None:
    """Accept the negative length -1 (null) if null is allowed, else raise Malformed, as for any
    other length below 0. The caller has checked that it is below 0."""
    if length != -1:
        raise Malformed(f"{kind} has the negative length {length}")
    if not nullable:
        raise Malformed(f"{kind} is null, which this version does not allow")


def string(flexible: bool, nullable: bool) -> Codec:
    """Return the codec of text: a length in bytes, then UTF-8 of at most STRING_BYTES_MAX bytes. It
    raises Malformed for longer text, and for null unless that is allowed."""
    read_length, write_length, length_size, _ = length_codec("string", flexible)
    null = encoded_length("string", flexible, -1)

    def read(buffer: memoryview, position: int) -> tuple[str | None, int]:
        if flexible and (byte := buffer[position]) < 0x80:  # almost always true, and saves a call
            length, position = byte - 1, position + 1
        else:
            length, position = read_length(buffer, position)
        if length < 0:
            checked_length(length, "string", nullable)
            return None, position
        end = position + length
        if end > len(buffer):
            raise Malformed(f"length {length} runs past the end of {len(buffer)} bytes")
        if length > STRING_BYTES_MAX:
            raise Malformed(f"length {length} is over the limit of {STRING_BYTES_MAX} for strings")
        return str(buffer[position:end], "utf-8"), end

    def write(out: list[Any], value: str | None) -> None:
        if value is None:
            if not nullable:
                checked_length(-1, "string", nullable)
            out.append(null)
            return
        raw = value.encode()
        if len(raw) > STRING_BYTES_MAX:
            raise Malformed(
                f"{len(raw)} bytes are over the limit of {STRING_BYTES_MAX} for strings"
            )
        if flexible and len(raw) < 0x7F:
            out.append(_SMALL[len(raw) + 1])
        else:
            write_length(out, len(raw))
        out.append(raw)

    return Codec(read, write, length_size)


def fitting(text: str, bytes_max: int = STRING_BYTES_MAX) -> str:
    """Return the text, or its longest beginning that has at most bytes_max bytes."""
    raw = text.encode()
    return text if len(raw) <= bytes_max else raw[:bytes_max].decode(errors="ignore")


def error_message(flexible: bool, nullable: bool) -> Codec:
    """Return the codec of an error message: a string that is cut if it is too long to be written.
    It may repeat a long name of the request, and the error must reach the client all the same."""
    text = string(flexible, nullable)

    def write(out: list[Any], value: str | None) -> None:
        text.write(out, None if value is None else fitting(value))

    return text._replace(write=write)


def blob(kind: str, flexible: bool, nullable: bool) -> Codec:
    """Return the codec of bytes or records: a length, then that many bytes. It raises Malformed for
    null unless that is allowed, TypeError for text. A value of `records` stays a view into the
    frame: the broker patches batches in place and copies nothing. A value of `bytes` is a copy,
    since it is small and kept for long (member metadata), and must not keep the frame in memory."""
    read_length, write_length, length_size, _ = length_codec(kind, flexible)
    keep_view = kind == "records"

    def read(buffer: memoryview, position: int) -> tuple[memoryview | bytes | None, int]:
        length, position = read_length(buffer, position)
        if length < 0:
            checked_length(length, kind, nullable)
            return None, position
        end = position + length
        if end > len(buffer):
            raise Malformed(f"length {length} runs past the end of {len(buffer)} bytes")
        raw = buffer[position:end]
        return (raw if keep_view else bytes(raw)), end

    def write(out: list[Any], value: bytes | bytearray | memoryview | None) -> None:
        if value is None:
            checked_length(-1, kind, nullable)
            write_length(out, -1)
            return
        if isinstance(value, str):
            raise TypeError(f"{kind} must be bytes, not text")
        write_length(out, len(value))
        out.append(value)

    return Codec(read, write, length_size)


def checked_count(count: int, nullable: bool, item_size: int, left: int) -> None:
    """Raise Malformed for a count of items that cannot fit into the bytes left, before a list of
    them is built, and for a negative one other than an allowed -1 (null)."""
    if count < 0:
        checked_length(count, "array", nullable)
    elif count * item_size > left:
        raise Malformed(f"array of {count} elements cannot fit into the remaining {left} bytes")


def join_parts(out: list[Any], begin: int) -> None:
    """Join the parts from `begin` on into one, since the parts of millions of numbers and short
    strings take fifty times the memory of their bytes. Change nothing if one of them is not
    `bytes`: a sender may treat it specially."""
    parts = out[begin:]
    if all(type(part) is bytes for part in parts):
        out[begin:] = [b"".join(parts)]


def array(item: Codec, flexible: bool, nullable: bool, budget: Budget | None = None) -> Codec:
    """Return the codec of an array: a count, then that many items. budget: loses as many elements
    as each array has, unless it has only one, until it raises TooManyElements."""
    read_count, write_count, count_size, _ = length_codec("array", flexible)
    read_item, write_item, item_size, _ = item
    item_size = max(1, item_size)
    null, empty = (encoded_length("array", flexible, length) for length in (-1, 0))

    def read(buffer: memoryview, position: int) -> tuple[list[Any] | None, int]:
        if flexible and (byte := buffer[position]) < 0x80:
            count, position = byte - 1, position + 1
        else:
            count, position = read_count(buffer, position)
        if count < 0 or count * item_size > len(buffer) - position:
            checked_count(count, nullable, item_size, len(buffer) - position)
            return None, position
        if budget is not None and count > 1:  # a single one is counted with what holds it
            budget.spend(count)
        items: list[Any] = []
        try:
            for _ in range(count):
                value, position = read_item(buffer, position)
                items.append(value)
        except READ_ERRORS as error:
            raise unreadable(error, f"[{len(items)}]") from None
        return items, position

    def write(out: list[Any], items: list[Any] | None) -> None:
        if items is None:
            if not nullable:
                checked_length(-1, "array", nullable)
            out.append(null)
            return
        count = len(items)
        if not count:
            out.append(empty)
            return
        if budget is not None and count > 1:
            budget.spend(count)
        if flexible and count < 0x7F:
            out.append(_SMALL[count + 1])
        else:
            write_count(out, count)
        index, joined = -1, len(out)
        try:
            for index, value in enumerate(items):  # noqa: B007 (the handler names it)
                write_item(out, value)
                if len(out) - joined > PARTS_MAX:
                    join_parts(out, joined)
                    joined = len(out)
        except WRITE_ERRORS as error:
            raise unwritable(error, f"[{index}]", items[index]) from None

    return Codec(read, write, count_size)


def number_array(
    item: Codec, flexible: bool, nullable: bool, budget: Budget | None = None
) -> Codec:
    """Return the codec of an array of numbers, all of which are read or written by one call of
    `struct`. It raises Malformed for null unless that is allowed. budget: loses one element for
    each NUMBERS_PER_ELEMENT numbers, which take no longer than one."""
    read_count, write_count, count_size, _ = length_codec("array", flexible)
    size, letter = item.min_size, item.format

    def read(buffer: memoryview, position: int) -> tuple[list[Any] | None, int]:
        count, position = read_count(buffer, position)
        checked_count(count, nullable, size, len(buffer) - position)
        if count < 0:
            return None, position
        if budget is not None:
            budget.spend(count // NUMBERS_PER_ELEMENT)
        numbers = struct.unpack_from(f">{count}{letter}", buffer, position)
        return list(numbers), position + count * size

    def write(out: list[Any], numbers: list[Any] | None) -> None:
        if numbers is None:
            checked_length(-1, "array", nullable)
            write_count(out, -1)
            return
        if budget is not None:
            budget.spend(len(numbers) // NUMBERS_PER_ELEMENT)
        write_count(out, len(numbers))
        out.append(struct.pack(f">{len(numbers)}{letter}", *numbers))

    return Codec(read, write, count_size)


def nullable_struct(item: Codec, tagged: bool) -> Codec:
    """Return the codec of a nullable struct: a presence marker, then the struct. The marker of a
    plain field is a signed byte, negative for null; that of a tagged field is an unsigned varint, 0
    for null (MessageDataGenerator.java, generateClassReader)."""
    read_item, write_item, _, _ = item
    null = b"\0" if tagged else b"\xff"

    def read(buffer: memoryview, position: int) -> tuple[Any, int]:
        present = buffer[position]
        if present == 0 if tagged else present >= 0x80:
            return None, position + 1
        return read_item(buffer, position + 1)

    def write(out: list[Any], value: Any) -> None:
        if value is None:
            out.append(null)
            return
        out.append(b"\1")
        write_item(out, value)

    return Codec(read, write, 1)
