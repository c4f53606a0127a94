"""Read golden vectors. This file needs nothing but Python: copy it, or write it in another
language (docs/vectors/README.md is the whole format)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FORMAT = "kafka-vectors 1"
FIELDS = 4


@dataclass(frozen=True)
class Vector:
    """A request and its response, without their sizes."""

    api: str
    version: int
    request: bytes
    response: bytes

    @property
    def api_key(self) -> int:
        """The key in the header of the request."""
        return int.from_bytes(self.request[:2], "big")

    @property
    def correlation_id(self) -> int:
        """The number that the request's header and the response's have in common."""
        return int.from_bytes(self.request[4:8], "big", signed=True)


def vectors(path: Path) -> Iterator[Vector]:
    """Yield the vectors of a file. Raise ValueError, which names the line, for one that is none."""
    with path.open(encoding="ascii") as lines:
        if next(lines, "").strip() != FORMAT:
            raise ValueError(f"{path}: the first line is not {FORMAT!r}")
        for number, line in enumerate(lines, start=2):
            if line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\n").split("\t")
            try:
                if len(fields) != FIELDS:
                    raise ValueError(f"{len(fields)} fields instead of {FIELDS}")
                request, response = map(bytes.fromhex, fields[2:])
                found = Vector(fields[0], int(fields[1]), request, response)
                check(found)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from None
            yield found


def check(found: Vector) -> None:
    """Raise ValueError if the fields of a vector contradict its bytes."""
    if int.from_bytes(found.request[2:4], "big") != found.version:
        raise ValueError(f"the request is not of version {found.version}")
    if int.from_bytes(found.response[:4], "big", signed=True) != found.correlation_id:
        raise ValueError("request and response differ in their correlation id")
