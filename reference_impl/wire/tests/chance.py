"""Messages by chance: any message of any version, filled from a seeded random stream."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings

from reference_impl.wire.fields import Field, Struct, StructType
from reference_impl.wire.schema import Definition

GENEROUS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no finding."""
WIDTH = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def message(definition: Definition, version: int, random: Random) -> Struct:
    """A message whose fields are all drawn, with unknown tags here and there."""
    return _struct(definition.root, version, version in definition.flexible_versions, random)


def _struct(struct: StructType, version: int, flexible: bool, random: Random) -> Struct:
    out = struct.cls()
    for field in struct.fields:
        tagged = version in field.tagged
        if (version in field.versions or tagged) and not (tagged and random.random() < 0.4):
            setattr(out, field.name, _value(field, version, flexible, random))
    if flexible and random.random() < 0.15:
        out.unknown_tags = {200 + random.randrange(9): random.randbytes(random.randrange(5))}
    return out


def _value(field: Field, version: int, flexible: bool, random: Random) -> Any:
    if version in field.nullable and random.random() < 0.2:
        return None
    if field.is_array:
        count = random.choice((0, 1, 1, 2, 3))
        return [_one(field, version, flexible, random) for _ in range(count)]
    return _one(field, version, flexible, random)


def _one(field: Field, version: int, flexible: bool, random: Random) -> Any:
    if field.struct is not None:
        return _struct(field.struct, version, flexible, random)
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
