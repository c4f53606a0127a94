"""A consumer begins where it asked to and skips no visible record.

A reader that is assigned, seeks, or takes a partition over from its group begins at the offset
that was set, not before and not behind, if the history records it (`position` rows); a look-up by
time answers the first record that is not before it, and the earliest offset is the log start.
Going forward, a consumer passes over no record that it should have been given. Markers and aborted
records, and what lies below the log start, it may pass over; a record of unknown outcome counts
once a read has decided.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import between_polls

ABOUT = About(
    family=Family.DELIVERY,
    place=1,
    meaning="passed over by a consumer",
    picture="an acknowledged record",
    claims=("ORD-1", "FET-2"),
    kinds={
        "begins-early": (Family.DELIVERY, "given to a consumer that asked to begin behind them"),
        "begins-late": (Family.DELIVERY, "the earliest offset was said to be above the log start"),
        "wrong-look-up": (Family.DELIVERY, "a look-up by time answered a wrong offset"),
    },
    jepsen=("poll-skip, allowed where consumers subscribe", between_polls),
)
