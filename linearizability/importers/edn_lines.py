"""Convert one line of EDN as Jepsen writes it to an event by way of JSON: its reader is ten times
as fast as one in Python.

Only a line that is a single map is converted, without texts, characters, comments, lists and tags.
Such EDN differs from JSON only in keywords, nil, commas and maps. Lines that the JSON reader
refuses, or that would lose a key, are left to `edn.py`, which reads token by token.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

_RECORD = "#jepsen.history.Op{"
_FOREIGN = ('"', "\\", ";", "#", "(", ")", "null")
_KEYWORD = re.compile(r":([^\s,\[\]{}]+)")
_NIL = re.compile(r"(?<![^\s,\[\]{}])nil(?![^\s,\[\]{}])")
_BETWEEN = re.compile(r"[\s,]+")
_BRACES = str.maketrans("{}", "[]")
_OTHERS = re.compile(r"[^\[\]]+")
DEPTH_MAX = 100
"""The depth to which forms may be nested. No real history comes near it, and Python's own
limit is not much higher."""
_MAP = "("
"""The first member of a list that stands for a map. No other list of a line begins in this way: see
_FOREIGN."""


def _refuse(symbol: str) -> NoReturn:
    """Raise ValueError, because NaN and Infinity are symbols in EDN and not numbers."""
    raise ValueError(symbol)


_scan = json.JSONDecoder(parse_constant=_refuse).scan_once  # type: ignore[attr-defined]


def event(line: str) -> dict[str, Any] | None:
    """Return the line's event, or None if `edn.py` must read the line token by token instead."""
    text = line.strip()
    if text.startswith(_RECORD):
        text = text[len(_RECORD) - 1 :]
    if text[:1] != "{" or text[-1:] != "}" or not text.isascii():
        return None
    for foreign in _FOREIGN:
        if foreign in text:
            return None
    if text.count("[") + text.count("{") > DEPTH_MAX and _is_too_deep(text):
        return None
    try:
        return _mapped(_json(text), text.count("{"))
    except (ValueError, StopIteration, TypeError, LookupError, RecursionError):
        return None


def _is_too_deep(text: str) -> bool:
    """Return whether forms are nested more than DEPTH_MAX deep."""
    nested = _OTHERS.sub("", text.translate(_BRACES))
    for _ in range(DEPTH_MAX):
        nested = nested.replace("[]", "")  # removes exactly the innermost level
        if not nested:
            return False
    return True


def _json(text: str) -> Any:
    """Return the value of a line of EDN, parsed as JSON; a map becomes a list that begins with
    _MAP. Raise ValueError if that is not the whole line."""
    if "nil" in text:
        text = _NIL.sub("null", text)
    text = _BETWEEN.sub(",", _KEYWORD.sub(r'"\1"', text))
    text = text.replace("{}", '["("]').replace("{", '["(",').replace("}", "]")
    found, end = _scan(text, 0)
    if end != len(text):
        raise ValueError(text)
    return found


def _mapped(found: Any, maps: int) -> dict[str, Any] | None:
    """Return the event made of these keys and values; its polls' answers become dicts. Return None
    unless that makes `maps` dicts, including the event: otherwise there are maps elsewhere in the
    line."""
    event = _map(found)
    value = event.get("value")
    made = 1
    if maps > 1 and type(value) is list:
        for micro in value:
            if type(micro) is list and len(micro) == 2 and micro[0] == "poll":
                micro[1] = _map(micro[1])
                made += 1
    return event if made == maps else None


def _map(found: list[Any]) -> dict[Any, Any]:
    """Return the map that this parsed list stands for. Raise ValueError if it does not stand for a
    map, or if it has a key twice or keys of different types, which may be equal in EDN."""
    if found[0] != _MAP or not len(found) % 2:
        raise ValueError
    made = dict(zip(found[1::2], found[2::2], strict=True))
    if 2 * len(made) != len(found) - 1 or len(set(map(type, made))) > 1:
        raise ValueError
    return made
