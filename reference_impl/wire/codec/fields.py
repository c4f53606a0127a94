"""The field tables as Python values: the fields of a message in every version.

Source: FieldSpec.java, StructSpec.java and Versions.java of Kafka's message generator; the rows
come from `schemas/kafka-VERSION.json` (`schemas/derive.py` describes their form).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from reference_impl.wire.codec.primitives import ZERO_UUID
from reference_impl.wire.codec.straight import make_init

VERSION_MAX = 0x7FFF


def parse_versions(text: str | None) -> range:
    """Parse a range of versions as Kafka's message definitions write it: "3-13", "9+", "0" or
    "none". Return an empty range for "none" and for None."""
    if text is None or text == "none":
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), VERSION_MAX + 1)
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


def snake_case(name: str) -> str:
    """Return the attribute name for a field: ThrottleTimeMs -> throttle_time_ms."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


class Struct:
    """One message, or one struct inside it, holding the fields of every version.

    A field which a version lacks is left out when that version is written, and has its default
    after that version was read. Tagged fields which the schema does not know are kept as bytes.
    """

    __slots__ = ("unknown_tags",)
    _constants: tuple[tuple[str, Any], ...] = ()
    _factories: tuple[tuple[str, Callable[[], Any]], ...] = ()
    _names: tuple[str, ...] = ()
    _values: Callable[[Struct], Any] = staticmethod(lambda _: ())
    """Returns all fields as one tuple, to compare structs."""
    unknown_tags: dict[int, bytes] | None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, /, **fields: Any) -> None:
        # Each class has its own, made by `make_init`; this one is for the type checker.
        self.refuse(fields)

    def refuse(self, unknown: Iterable[str]) -> NoReturn:
        """Raise TypeError, which names a field that this struct does not have."""
        raise TypeError(
            f"{type(self).__name__} has no field {next(iter(unknown))!r};"
            f" it has {', '.join(self._names)}"
        )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) and not (
            isinstance(other, Struct)
            and type(other).__name__ == type(self).__name__
            and other._names == self._names
        ):
            return False
        return bool(
            self._values(self) == self._values(other)
            and (self.unknown_tags or None) == (other.unknown_tags or None)
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        parts = []
        for name in self._names:
            value = getattr(self, name)
            shown = bytes(value) if isinstance(value, memoryview) else value
            parts.append(f"{name}={shown!r}")
        if self.unknown_tags:
            parts.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True)
class Field:
    """One row of a field table: a field of a struct, and the versions in which it exists, may be
    null, or is tagged."""

    name: str
    type: str
    """The type of the field or, for an array, of its elements."""
    is_array: bool
    versions: range
    nullable: range
    tagged: range
    tag: int
    default: str | None
    flexible: range | None
    """The flexible versions of this field if they differ from the message's (RequestHeader's
    ClientId)."""
    struct: StructType | None

    def default_value(self) -> Any:
        """Return the value of a field that was not set, or that the version lacks."""
        if self.default == "null":
            return None
        if self.is_array:
            return []
        if self.struct is not None:
            return self.struct.cls()
        return _default_primitive(self.type, self.default)


def _default_primitive(kind: str, default: str | None) -> Any:
    if kind == "string":
        return default or ""
    if kind in ("bytes", "records"):
        return b""
    if kind == "uuid":
        return ZERO_UUID
    if kind == "bool":
        return default == "true"
    if kind == "float64":
        return float(default or 0)
    return int(default or "0", 0)


@dataclass(frozen=True)
class StructType:
    """A struct: its fields in their order on the wire, and the class that holds their values."""

    name: str
    fields: tuple[Field, ...]
    cls: type[Struct]


def struct_type(
    name: str, rows: list[Any], shared: dict[str, list[Any]], known: dict[str, StructType]
) -> StructType:
    """Build a struct from its rows, unless one with this name is in `known`, and add it there.
    `shared` are the message's common structs by name."""
    if name in known:
        return known[name]
    fields = tuple(_field(row, shared, known) for row in rows)
    constants = []
    factories: list[tuple[str, Callable[[], Any]]] = []
    for field in fields:
        value = field.default_value()
        if isinstance(value, list):
            factories.append((field.name, list))
        elif isinstance(value, Struct):
            factories.append((field.name, type(value)))
        else:
            constants.append((field.name, value))
    names = tuple(field.name for field in fields)
    namespace: dict[str, Any] = {
        "__slots__": names,
        "_names": names,
        "__init__": make_init(names, constants, factories),
        "_constants": tuple(constants),
        "_factories": tuple(factories),
    }
    if names:
        namespace["_values"] = staticmethod(attrgetter(*names))
    known[name] = StructType(name, fields, type(name, (Struct,), namespace))
    return known[name]


def _field(row: list[Any], shared: dict[str, list[Any]], known: dict[str, StructType]) -> Field:
    name, declared, versions = row[:3]
    extra: dict[str, Any] = row[3] if len(row) > 3 else {}
    kind = declared.removeprefix("[]")
    inner = extra.get("fields") or shared.get(kind)
    return Field(
        name=snake_case(name),
        type=kind,
        is_array=declared.startswith("[]"),
        versions=parse_versions(versions),
        nullable=parse_versions(extra.get("nullable")),
        tagged=parse_versions(extra.get("tagged")),
        tag=extra.get("tag", -1),
        default=extra.get("default"),
        flexible=parse_versions(extra["flexible"]) if "flexible" in extra else None,
        struct=struct_type(kind, inner, shared, known) if inner else None,
    )
