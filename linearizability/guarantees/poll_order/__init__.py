"""A consumer receives offsets in increasing order, none twice.

A consumer reads forward. Only a new position (an assignment, a seek, a reset, its own failed
operation) may move it back, and the recorder then begins a new session.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import unless_rebalanced

ABOUT = About(
    family=Family.DELIVERY,
    place=0,
    meaning="given to a consumer again, or in the wrong order",
    picture="a poll returns a lower offset than the one before",
    claims=("ORD-1",),
    jepsen=("nonmonotonic-poll, allowed where consumers subscribe", unless_rebalanced),
)
