"""Mechanical mutants of answers: every field of every answer, wrong in every simple way.

A mutant is a target that answers one field of one API wrongly, always. It is killed by a case that
fails; one that no case kills is a hole in the suite.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from reference_impl.wire import Struct, response_definition
from reference_impl.wire.apis import api_key
from reference_impl.wire.codec.fields import Field, StructType

Operator = Callable[[Any], Any]
"""The wrong value in place of a right one."""
INTEGERS = ("int8", "int16", "uint16", "int32", "uint32", "int64")
ERROR, ANOTHER_ERROR = -1, 87


@dataclass(frozen=True)
class Mutant:
    """One field of one API's answer, and what is done to it in every row that has it."""

    api: str
    path: tuple[str, ...]
    operator: str

    def __str__(self) -> str:
        return f"{self.api} {'.'.join(self.path)} {self.operator}"

    def apply(self, answer: Struct, stale: Struct | None) -> bool:
        """Break an answer in place. Return False if that changes nothing.

        stale: the answer before this one, whose value `stale` repeats.
        """
        *lists, name = self.path
        rows, old = _rows(answer, lists), _rows(stale, lists) if stale is not None else []
        changed = False
        for number, row in enumerate(rows):
            value = getattr(row, name)
            if self.operator == "stale":
                wrong = getattr(old[number], name) if number < len(old) else value
            elif self.operator == "neighbour":
                wrong = getattr(rows[number - 1], name)
            else:
                wrong = OPERATORS[self.operator](value)
            if wrong != value:
                setattr(row, name, wrong)
                changed = True
        return changed


OPERATORS: dict[str, Operator] = {
    "zero": lambda value: 0,
    "minus-one": lambda value: -1,
    "off-by-one": lambda value: value + 1,
    "no-error": lambda value: 0,
    "any-error": lambda value: ERROR if value == 0 else value,
    "another-error": lambda value: ANOTHER_ERROR if value not in (0, ANOTHER_ERROR) else value,
    "flipped": lambda value: not value,
    "empty": lambda value: type(value)() if value is not None else None,
    "null": lambda value: None,
    "empty-for-null": lambda value: [] if value is None else value,
    "text-for-null": lambda value: "" if value is None else value,
    "longer": lambda value: value + "x" if value is not None else value,
    "other-id": lambda value: uuid.uuid5(value, "other"),
    "zero-id": lambda value: uuid.UUID(int=0),
    "without-last": lambda value: value[:-1] if value else value,
    "twice": lambda value: [*value, value[-1]] if value else value,
    "flipped-byte": lambda value: _flipped(value) if value else value,
    "no-bytes": lambda value: b"" if value else value,
    "half": lambda value: value / 2 if value else value,
}
"""Beside these `stale` (the value of the answer before) and `neighbour` (of the row before)."""


def _flipped(value: Any) -> bytes:
    data = bytes(value)
    return data[:-1] + bytes([data[-1] ^ 1])


def _rows(message: Struct, lists: list[str]) -> list[Struct]:
    """Return every struct at the end of these lists and single structs."""
    found = [message]
    for name in lists:
        deeper: list[Struct] = []
        for struct in found:
            value = getattr(struct, name)
            if isinstance(value, list):
                deeper += value
            elif value is not None:
                deeper.append(value)
        found = deeper
    return found


def mutants_of(api: str, version: int) -> list[Mutant]:
    """Return every mutant of an answer in one version."""
    root = response_definition(api_key(api)).root
    return [Mutant(api, *found) for found in _of_struct(root, version, ())]


def _of_struct(
    struct: StructType, version: int, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for field in struct.fields:
        if version not in field.versions:
            continue
        path = (*above, field.name)
        for operator in _operators(field, version, in_rows=bool(above)):
            yield path, operator
        if field.struct is not None:
            yield from _of_struct(field.struct, version, path)


def _operators(field: Field, version: int, *, in_rows: bool) -> list[str]:
    nullable = version in field.nullable
    if field.is_array:
        return ["empty", "without-last", "twice", *(["null", "empty-for-null"] if nullable else [])]
    if field.struct is not None:
        return ["null"] if nullable else []
    if field.name.endswith("error_code"):
        return ["no-error", "any-error", "another-error"]
    from_elsewhere = ["stale", *(["neighbour"] if in_rows else [])]
    if field.type in INTEGERS:
        return ["zero", "minus-one", "off-by-one", *from_elsewhere]
    if field.type == "string":
        of_null = ["null", "text-for-null"] if nullable else []
        return ["empty", "longer", *from_elsewhere, *of_null]
    return {
        "bool": ["flipped"],
        "uuid": ["zero-id", "other-id", *from_elsewhere],
        "bytes": ["no-bytes", "flipped-byte"],
        "records": ["no-bytes", "flipped-byte"],
        "float64": ["half", "zero"],
    }[field.type]


IRRELEVANT = {"error_message", "batch_index_error_message", "documentation", "rack"}
"""Fields of which a client must take anything."""


def judged(mutant: Mutant) -> bool:
    """Return whether the protocol determines the field's value."""
    return mutant.path[-1] not in IRRELEVANT
