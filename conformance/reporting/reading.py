"""Read the results of an earlier examination: the file of `touchstone conform --out`."""

from __future__ import annotations

import json
import re
from typing import Any

from conformance.reporting.results import VERSION

_HEX = re.compile("(?:[0-9a-f]{2})*")
KINDS = ("passed", "failed", "unsupported")
TEXTS = frozenset({"id", "name", "nodeid", "area", "api", "priority", "requirement"})
"""The properties of a case that are texts; others may be null."""


def results_in(text: str, *needed: str) -> dict[str, Any]:
    """Return the results that this JSON holds. needed: the properties that each case must have.
    Raise ValueError, which says what is wrong, for anything else, and for another version, in which
    a property may mean something else."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not complete JSON") from error
    if not isinstance(read, dict) or not isinstance(read.get("cases"), list):
        raise ValueError("it has no cases")
    if (version := read.get("version", VERSION)) != VERSION:
        raise ValueError(
            f"it has version {version!r}, and this Touchstone reads version {VERSION}; examine the"
            " target again, or install the Touchstone that wrote it"
        )
    if not isinstance(read.get("target"), str) or not isinstance(read.get("ended", 0), str | None):
        raise ValueError("it does not say which target was examined, or how that ended")
    for number, entry in enumerate(read["cases"], 1):
        if not isinstance(entry, dict) or entry.get("result") not in KINDS:
            raise ValueError(f"case {number} has no result")
        for key in needed:
            if key not in entry or (key in TEXTS and not isinstance(entry[key], str)):
                raise ValueError(f"case {number} has no {key}")
        if not _is_exchange(entry.get("exchange", [])):
            raise ValueError(f"case {number} has an exchange that holds no messages")
    return read


def _is_exchange(messages: object) -> bool:
    """Return whether these are messages as conformance.exchanges writes them."""
    return isinstance(messages, list) and all(
        isinstance(each, dict)
        and isinstance(each.get("bytes"), int)
        and isinstance(each.get("direction"), str)
        and _HEX.fullmatch(str(each.get("hex"))) is not None
        for each in messages
    )
