"""Bounds that a run promised beyond correctness: how soon, how long, how often. None: nothing
stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

NANOSECONDS = 1_000_000_000
NEVER = 2**62
"""Later than any time, and behind any offset."""


@dataclass(frozen=True)
class Bounds:
    """Seconds and shares. A run states its own under "bounds" in run.json."""

    stale_after_s: float = 60.0
    """How long after a record was known to be readable a reader may still be without it."""
    longest_gap_s: float | None = None
    """At most so long without any operation that succeeded."""
    recovery_s: float | None = None
    """At most so long from the end of a heal to the next success."""
    error_rate: float | None = None
    """At most this share of operations that did not succeed."""

    @property
    def stale_after_ns(self) -> int:
        return int(self.stale_after_s * NANOSECONDS)

    @staticmethod
    def stated(stated: Mapping[str, Any], **more: float | None) -> Bounds:
        """Return the bounds that a run's facts state, overridden by those that `more` gives. Raise
        ValueError naming an unknown bound, or one that is not a number from 0 up."""
        given = {**stated, **{name: value for name, value in more.items() if value is not None}}
        known = {field.name for field in fields(Bounds)}
        for name, value in given.items():
            if name not in known:
                raise ValueError(f"{name!r} is no bound; known are {', '.join(sorted(known))}")
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"the bound {name!r} must be a number from 0 up, not {value!r}")
        return Bounds(**given)


NOTHING_STATED = Bounds()
