"""Validate JSON by the schemas of docs/schemas: the part of JSON Schema (2020-12) that they use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ci import places

SCHEMAS = places.ROOT / "docs" / "schemas"
KEYWORDS = {
    *("$schema", "title", "description", "type", "required", "properties"),
    *("additionalProperties", "items", "enum", "const"),
}
TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def violations(name: str, document: Any) -> list[str]:
    """Return a sentence, with the place, for each difference between a document and its schema."""
    return list(_violations(json.loads((SCHEMAS / f"{name}.json").read_text()), document, "$"))


def _violations(schema: Any, value: Any, place: str) -> Iterator[str]:
    if schema in (True, False):
        if schema is False:
            yield f"{place} is not in the schema"
        return
    assert set(schema) <= KEYWORDS, f"teach the validator {set(schema) - KEYWORDS}"
    if "type" in schema and not _is_of(schema["type"], value):
        yield f"{place} is {value!r}, not of type {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place} is {value!r}, none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{place} is {value!r}, not {schema['const']!r}"
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{place} lacks {name}"
        known = schema.get("properties", {})
        for name, inner in value.items():
            other = schema.get("additionalProperties", True)
            yield from _violations(known.get(name, other), inner, f"{place}.{name}")
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _violations(schema.get("items", True), inner, f"{place}[{index}]")


def unknown_properties(name: str, document: Mapping[str, Any]) -> set[str]:
    """Return the properties of a document that its schema does not describe."""
    return set(document) - set(json.loads((SCHEMAS / f"{name}.json").read_text())["properties"])


def _is_of(wanted: str | list[str], value: Any) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, TYPES[name]) for name in names)
