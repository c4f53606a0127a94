"""Bounds that a run promises beyond correctness: limits of delays, gaps and error rates. None
stands for no promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

NANOSECONDS = 1_000_000_000
NEVER = 2**62
"""A time after every other time, or an offset above every other offset."""


@dataclass(frozen=True)
class Bounds:
    """The bounds by which a run is judged, in seconds and as shares. run.json has those of its run
    under "bounds"."""

    stale_after_s: float = 60.0
    """The seconds for which a reader may lack a record after it was known to be readable."""
    longest_gap_s: float | None = None
    """The longest time in seconds without any successful operation."""
    recovery_s: float | None = None
    """The longest time in seconds from the end of a heal to the next successful operation."""
    error_rate: float | None = None
    """The largest share of operations that may fail or have an unknown outcome."""

    @property
    def stale_after_ns(self) -> int:
        return int(self.stale_after_s * NANOSECONDS)

    @staticmethod
    def stated(stated: Mapping[str, Any], **more: float | None) -> Bounds:
        """Return the bounds that a run's facts state, overridden by those of `more` that are not
        None. Raise ValueError naming an unknown bound, or one that is not a number from 0 up."""
        given = {**stated, **{name: value for name, value in more.items() if value is not None}}
        known = {field.name for field in fields(Bounds)}
        for name, value in given.items():
            if name not in known:
                raise ValueError(
                    f"{name!r} is not a bound; the bounds are {', '.join(sorted(known))}"
                )
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"the bound {name!r} must be a number from 0 up, not {value!r}")
        return Bounds(**given)


NOTHING_STATED = Bounds()


def is_given(number: int | None) -> bool:
    """Return whether a producer id, epoch or sequence is given. Raw reads say -1 for "none", and
    other rows None; 0 is a number like any other."""
    return number is not None and number >= 0
