"""Leave out of a text what differs between two runs of the same case."""

from __future__ import annotations

import re

_VARIABLE = (
    (re.compile(r"[\w.-]*touchstone-[0-9a-f]+-[a-z]+-\d+"), "NAME"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"0x[0-9a-f]+|\b\d{5,}\b"), "N"),
    (re.compile(r"\bv\d+\b"), "vN"),
    (re.compile(r" of [\w.-]+ in the answer of "), " in the answer of "),
)
"""A pattern for the parts of a message that differ between two runs of the same deviation."""


def without_variables(text: str) -> str:
    """Return the text with a word in place of each name that the harness made, each UUID, number of
    five or more digits, and version."""
    for pattern, word in _VARIABLE:
        text = pattern.sub(word, text)
    return text
