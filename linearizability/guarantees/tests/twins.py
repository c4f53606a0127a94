"""Find the twin of a guarantee."""

from __future__ import annotations

from collections.abc import Callable

from linearizability.guarantees import part
from linearizability.twins.facts import Found, Row

Twin = Callable[[list[Row]], Found]
"""Rows in, (kind, operations, place) of each anomaly out, as the kernel must find them."""


def twin_of(name: str) -> Twin:
    """Return the function of a guarantee's `twin` that is named like it."""
    found: Twin = getattr(part(name, "twin"), name)
    return found
