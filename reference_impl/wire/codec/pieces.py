"""Encode a message as labelled pieces, so that a test can break exactly one of them.

This is a second, slower writer, which interprets the field tables instead of compiling them. Joined
together, its pieces equal the bytes of the codec (a test compares them).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reference_impl.wire.codec.fields import Field, Struct, StructType
from reference_impl.wire.codec.primitives import FIXED, encoded_length, uvarint
from reference_impl.wire.codec.schema import Definition, compile_field
from reference_impl.wire.codec.straight import TAGS


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one primitive, with the path of its field.

    `kind` is the primitive: a number's type, "length", "data" (of strings, bytes and records),
    "count" (of arrays), "present" (of structs which may be null), and "tag_count", "tag_header",
    "tag_data" of tagged fields.
    """

    path: str
    data: bytes
    kind: str


def pieces(definition: Definition, message: Struct, version: int) -> list[Piece]:
    """Return the message in this version, one piece per primitive, in order."""
    flexible = version in definition.flexible_versions
    return list(_struct(definition.root, message, version, flexible, ""))


def _struct(
    struct: StructType, message: Struct, version: int, flexible: bool, path: str
) -> Iterator[Piece]:
    tagged: dict[int, tuple[str, bytes]] = {}
    for field in struct.fields:
        value = getattr(message, field.name)
        where = f"{path}.{field.name}" if path else field.name
        if version in field.tagged:
            if value != field.default_value():
                out: list[Any] = []
                compile_field(field, version, True).write(out, value)
                tagged[field.tag] = where, b"".join(out)
        elif version in field.versions:
            yield from _field(field, value, version, flexible, where)
    if flexible:
        unknown = message.unknown_tags or {}
        tagged |= {tag: (f"{path}.tag{tag}".lstrip("."), raw) for tag, raw in unknown.items()}
        yield Piece(f"{path}.{TAGS}".lstrip("."), uvarint(len(tagged)), "tag_count")
        for tag, (where, raw) in sorted(tagged.items()):
            yield Piece(where, uvarint(tag) + uvarint(len(raw)), "tag_header")
            yield Piece(where, raw, "tag_data")


def _field(field: Field, value: Any, version: int, flexible: bool, path: str) -> Iterator[Piece]:
    if field.flexible is not None:
        flexible = version in field.flexible
    if not field.is_array:
        yield from _one(field, value, version, flexible, path, version in field.nullable)
        return
    yield Piece(path, _length("array", flexible, value), "count")
    for index, item in enumerate(value or ()):
        yield from _one(field, item, version, flexible, f"{path}[{index}]", False)


def _one(
    field: Field, value: Any, version: int, flexible: bool, path: str, nullable: bool
) -> Iterator[Piece]:
    if field.struct is not None:
        if nullable:
            yield Piece(path, b"\xff" if value is None else b"\1", "present")
        if value is not None:
            yield from _struct(field.struct, value, version, flexible, path)
    elif field.type in FIXED:
        out: list[bytes] = []
        FIXED[field.type].write(out, value)
        yield Piece(path, b"".join(out), field.type)
    else:
        raw = value.encode() if isinstance(value, str) else value
        yield Piece(path, _length(field.type, flexible, raw), "length")
        if raw is not None:
            yield Piece(path, bytes(raw), "data")


def _length(kind: str, flexible: bool, value: Any) -> bytes:
    return encoded_length(kind, flexible, -1 if value is None else len(value))
