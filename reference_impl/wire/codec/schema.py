"""Compile one reader and one writer per (message, version) from the message's field table.

Source: MessageDataGenerator.java (order and form of fields), KIP-482 (tagged fields). Compilation
happens on first use, so that a version costs nothing until it is used: primitives are closures,
structs are straight-line code (`straight.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference_impl.wire.codec.fields import Field, Struct, StructType, parse_versions, struct_type
from reference_impl.wire.codec.primitives import (
    FIXED,
    Codec,
    Reader,
    Writer,
    array,
    blob,
    error_message,
    nullable_struct,
    number_array,
    read_uvarint,
    string,
    uvarint,
)
from reference_impl.wire.codec.straight import make_reader, make_writer
from reference_impl.wire.malformed import (
    READ_ERRORS,
    WRITE_ERRORS,
    Budget,
    Malformed,
    unreadable,
    unwritable,
)

__all__ = ["Definition", "Malformed", "Struct", "compile_field", "compile_struct"]

Known = tuple[str, Reader, Writer, Any]
"""(name, reader, writer, default) of a tagged field."""


class Definition:
    """One message of a Kafka version: its classes, and its codec for each version."""

    def __init__(self, name: str, row: dict[str, Any]) -> None:
        self.name = name
        self.type: str = row["type"]
        self.api_key: int | None = row.get("api_key")
        self.module: str | None = row.get("module")
        self.valid_versions = parse_versions(row["versions"])
        self.flexible_versions = parse_versions(row["flexible"])
        unstable = bool(row.get("unstable"))
        self.stable_versions = self.valid_versions[:-1] if unstable else self.valid_versions
        """The valid versions without a last one that Kafka still calls unstable, and does not
        advertise."""
        self._structs: dict[str, StructType] = {}
        self.root = struct_type(name, row["fields"], row.get("structs", {}), self._structs)
        self._codecs: dict[int, Codec] = {}
        self._counting: dict[int, Codec] = {}
        self._budget = Budget()

    def __repr__(self) -> str:
        first, last = self.valid_versions[0], self.valid_versions[-1]
        return f"<Definition {self.name} v{first}-{last}>"

    def new(self, /, **fields: Any) -> Struct:
        """Return a message with these fields, the others at their defaults."""
        return self.root.cls(**fields)

    def struct(self, name: str, /, **fields: Any) -> Struct:
        """Return a struct of this message, by Kafka's name for it, with these fields, the others at
        their defaults. Raise TypeError if the message has no such struct."""
        return self.struct_class(name)(**fields)

    def struct_class(self, name: str) -> type[Struct]:
        """Return the class of a struct inside this message, by Kafka's name for it. Raise TypeError
        if the message has no such struct."""
        if name not in self._structs:
            raise TypeError(
                f"{self.name} has no struct {name!r}; it has {', '.join(self._structs)}"
            )
        return self._structs[name].cls

    def encode(self, message: Struct, version: int) -> bytes:
        """Return the bytes of a message, in this version. Raise Malformed if there is no such
        version, or a value does not fit into its field, TypeError for another message."""
        return b"".join(self.encode_parts(message, version))

    def encode_parts(
        self, message: Struct, version: int, elements_max: int | None = None
    ) -> list[Any]:
        """Return the bytes of a message as parts that the caller joins or writes one after the
        other. Raise Malformed as `encode` does, TypeError for another message, TooManyElements if
        its arrays have more than elements_max elements."""
        codec = self._codec(version, elements_max)
        # By name: a message of another Kafka's table may be spoken in a version both have.
        if type(message).__name__ != self.name:
            raise TypeError(f"expected a {self.name}, got a {type(message).__name__}")
        out: list[Any] = []
        try:
            codec.write(out, message)
        except Malformed as error:
            raise error.of(f"{self.name} v{version}") from None
        return out

    def decode(self, data: bytes | bytearray | memoryview, version: int) -> Struct:
        """Decode a message that must fill all of these bytes. Raise Malformed if it does not, or
        the version is unknown."""
        message, end = self.decode_prefix(data, version)
        if end != len(data):
            raise Malformed(
                f"{len(data) - end} bytes are left over after the last field",
                message=f"{self.name} v{version}",
            )
        return message

    def decode_prefix(
        self, data: bytes | bytearray | memoryview, version: int, elements_max: int | None = None
    ) -> tuple[Struct, int]:
        """Decode the message at the start of these bytes; return (message, its length). Brokers
        tolerate further bytes after it (RequestContext.parseRequest). Raise Malformed for other
        bytes or an unknown version, TooManyElements if its arrays have more than elements_max
        elements."""
        codec = self._codec(version, elements_max)
        try:
            return codec.read(memoryview(data), 0)
        except Malformed as error:
            raise error.of(f"{self.name} v{version}") from None

    def _codec(self, version: int, elements_max: int | None) -> Codec:
        """Return the codec of a version. With elements_max it is one that counts elements; only one
        thread may use that at a time."""
        if elements_max is None:
            return self._codecs.get(version) or self._compile(version, self._codecs, None)
        self._budget.left = elements_max
        return self._counting.get(version) or self._compile(version, self._counting, self._budget)

    def _compile(self, version: int, known: dict[int, Codec], budget: Budget | None) -> Codec:
        if version not in self.valid_versions:
            first, last = self.valid_versions[0], self.valid_versions[-1]
            raise Malformed(f"version {version} is not one of {first} to {last}", message=self.name)
        flexible = version in self.flexible_versions
        codec = known[version] = compile_struct(self.root, version, flexible, budget)
        return codec


def compile_field(
    field: Field, version: int, flexible: bool, budget: Budget | None = None
) -> Codec:
    """Return the codec of one field in one version. budget: counts elements of arrays, unless it is
    None."""
    if field.flexible is not None:
        flexible = version in field.flexible
    nullable = version in field.nullable
    one_may_be_null = nullable and not field.is_array
    if field.struct is not None:
        codec = compile_struct(field.struct, version, flexible, budget)
        if one_may_be_null:
            codec = nullable_struct(codec, version in field.tagged)
    elif field.type in FIXED:
        codec = FIXED[field.type]
    elif field.type == "string":
        of = error_message if field.name.endswith("error_message") else string
        codec = of(flexible, one_may_be_null)
    else:
        codec = blob(field.type, flexible, one_may_be_null)
    if not field.is_array:
        return codec
    return (number_array if codec.format else array)(codec, flexible, nullable, budget)


def compile_struct(
    struct: StructType, version: int, flexible: bool, budget: Budget | None = None
) -> Codec:
    """Return the codec of one struct in one version. budget: counts elements of arrays, unless it
    is None."""
    plain: list[tuple[str, Codec]] = []
    tagged: dict[int, Known] = {}
    absent: list[Field] = []
    for field in struct.fields:
        if version in field.tagged:
            codec = compile_field(field, version, True, budget)
            tagged[field.tag] = field.name, codec.read, codec.write, field.default_value()
            absent.append(field)
        elif version in field.versions:
            plain.append((field.name, compile_field(field, version, flexible, budget)))
        else:
            absent.append(field)
    missing = {field.name for field in absent}
    return Codec(
        make_reader(
            struct.cls,
            plain,
            [row for row in struct.cls._constants if row[0] in missing],
            [row for row in struct.cls._factories if row[0] in missing],
            tags_reader(tagged, budget) if flexible else None,
        ),
        make_writer(
            plain,
            tags_writer(tagged) if flexible else None,
            [(name, default) for name, _, _, default in tagged.values()],
        ),
        sum(codec.min_size for _, codec in plain) + flexible,
    )


def tags_reader(
    tagged: dict[int, Known], budget: Budget | None
) -> Callable[[memoryview, int, Struct], int]:
    """Return a reader of the tagged fields: a count, then (tag, size, bytes) in ascending order of
    tag. It stores them in the message, and raises Malformed for another order or a wrong size."""

    def read(buffer: memoryview, position: int, message: Struct) -> int:
        count, position = read_uvarint(buffer, position)
        if not count:
            return position
        if budget is not None:
            budget.spend(count)
        previous = -1
        for _ in range(count):
            tag, position = read_uvarint(buffer, position)
            if tag <= previous:
                raise Malformed(f"tag {tag} comes after tag {previous}: tags must ascend")
            previous = tag
            size, position = read_uvarint(buffer, position)
            end = position + size
            if end > len(buffer):
                raise Malformed(f"tag {tag}: size {size} runs past the end of {len(buffer)} bytes")
            if tag in tagged:
                name, read_field, _, _ = tagged[tag]
                try:
                    # The view ends where the field ends: no tagged field may look further.
                    value, stop = read_field(buffer[:end], position)
                except READ_ERRORS as error:
                    raise unreadable(error, name) from None
                if stop != end:
                    raise Malformed(f"tag {tag} has size {size} but holds {stop - position} bytes")
                setattr(message, name, value)
            elif message.unknown_tags is None:
                message.unknown_tags = {tag: bytes(buffer[position:end])}
            else:
                message.unknown_tags[tag] = bytes(buffer[position:end])
            position = end
        return position

    return read


def tags_to_write(tagged: dict[int, Known], message: Struct) -> list[tuple[int, bytes]]:
    """Return (tag, bytes) of each tagged field that differs from its default and of each unknown
    one, ordered by tag. Raise Malformed for a value that its field cannot hold."""
    found = dict(message.unknown_tags) if message.unknown_tags else {}
    for tag, (name, _, write_field, default) in tagged.items():
        value = getattr(message, name)
        if value != default:
            part: list[Any] = []
            try:
                write_field(part, value)
            except WRITE_ERRORS as error:
                raise unwritable(error, name, value) from None
            found[tag] = b"".join(part)
    return sorted(found.items())


def tags_writer(tagged: dict[int, Known]) -> Callable[[list[Any], Struct], None]:
    """Return a writer of the tagged fields."""

    def write(out: list[Any], message: Struct) -> None:
        found = tags_to_write(tagged, message)
        out.append(uvarint(len(found)))
        for tag, raw in found:
            out.append(uvarint(tag) + uvarint(len(raw)))
            out.append(raw)

    return write
