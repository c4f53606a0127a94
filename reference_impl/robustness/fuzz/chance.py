"""Generate random messages: any message in any version, from a seeded random generator."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from random import Random
from typing import Any

from reference_impl.wire.codec.fields import Field, Struct, StructType
from reference_impl.wire.codec.schema import Definition

WIDTH = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


BY_CHANCE = object()
"""The result of a chooser that leaves the value of a field to chance."""
Choose = Callable[[StructType, Field], Any]
"""A function that returns the value of a field (or, in an array, of one element), or BY_CHANCE."""


def message(
    definition: Definition, version: int, random: Random, choose: Choose | None = None
) -> Struct:
    """Return a message with random fields and occasional unknown tags. choose: a function that may
    choose values itself."""
    flexible = version in definition.flexible_versions
    return _struct(definition.root, version, flexible, random, choose)


def _struct(
    struct: StructType, version: int, flexible: bool, random: Random, choose: Choose | None
) -> Struct:
    def one(field: Field) -> Any:
        chosen = choose(struct, field) if choose is not None else BY_CHANCE
        may_be_null = version in field.nullable and not field.is_array
        if chosen is not BY_CHANCE and (chosen is not None or may_be_null):
            return chosen
        if may_be_null and random.random() < 0.2:
            return None
        if field.struct is not None:
            return _struct(field.struct, version, flexible, random, choose)
        return _primitive(field, random)

    out = struct.cls()
    for field in struct.fields:
        tagged = version in field.tagged
        if (version in field.versions or tagged) and not (tagged and random.random() < 0.4):
            setattr(out, field.name, _several(field, version, random, one))
    if flexible and random.random() < 0.15:
        out.unknown_tags = {200 + random.randrange(9): random.randbytes(random.randrange(5))}
    return out


def _several(field: Field, version: int, random: Random, one: Callable[[Field], Any]) -> Any:
    if not field.is_array:
        return one(field)
    if version in field.nullable and random.random() < 0.2:
        return None
    return [one(field) for _ in range(random.choice((0, 1, 1, 2, 3)))]


def _primitive(field: Field, random: Random) -> Any:
    kind = field.type
    if kind in WIDTH:
        top = 1 << (WIDTH[kind] - 1)
        return random.choice((0, 1, -1, top - 1, -top, random.randrange(-top, top)))
    if kind == "string":
        return random.choice(("", "a", "héé", "x" * random.randrange(300)))
    if kind in ("bytes", "records"):
        return random.randbytes(random.randrange(200))
    draw: dict[str, Callable[[], Any]] = {
        "uint16": lambda: random.randrange(1 << 16),
        "uint32": lambda: random.randrange(1 << 32),
        "float64": random.random,
        "bool": lambda: random.random() < 0.5,
        "uuid": lambda: uuid.UUID(int=random.getrandbits(128)),
    }
    return draw[kind]()
