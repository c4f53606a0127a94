"""A polling reader receives every readable record within a bounded time.

A reader that keeps asking is given what is there, within a bound (60 s; `touchstone check
--stale-after`). Faults, rebalances and new positions stop the clock. A slow reader who gets old
records is slow, not stale.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.WAITING,
    place=1,
    meaning="there to be read, but not given to a reader who asked",
    picture="nothing returned for an hour",
    claims=("FET-1", "REP-1"),
)
