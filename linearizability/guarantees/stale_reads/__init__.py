"""A polling reader receives every readable record within a bounded time.

A reader that keeps polling must receive each readable record within a time limit (60 s; `touchstone
check --stale-after`). Time during faults, rebalances and changes of position does not count. A
reader that still receives older records is slow, and not stale.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.WAITING,
    place=1,
    meaning="readable, but not returned to a polling reader",
    picture="polls return nothing for an hour",
    claims=("FET-1", "REP-1"),
)
