"""A consumer begins at the position that it requested and skips no visible record.

A reader that is assigned, seeks, or takes a partition over from its group begins at the offset that
was set, neither before nor after it, if the history records that offset (`position` rows). A
look-up by time returns the first record at or after that time, and nothing only if there is none.
The earliest offset is the log start. Reading forward, a consumer skips no record that it should
receive. It may skip markers, aborted records and offsets below the log start. A record of unknown
outcome counts once a read has shown it.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import between_polls

ABOUT = About(
    family=Family.DELIVERY,
    place=1,
    meaning="passed over by a consumer",
    picture="a poll skips an acknowledged record",
    claims=("ORD-1", "FET-2"),
    kinds={
        "begins-early": (Family.DELIVERY, "given to a consumer that asked to begin behind them"),
        "begins-late": (Family.DELIVERY, "the earliest offset was said to be above the log start"),
        "wrong-look-up": (Family.DELIVERY, "a look-up by time answered a wrong offset"),
        "missed-look-up": (Family.DELIVERY, "a look-up by time found nothing"),
    },
    jepsen=("poll-skip, allowed where consumers subscribe", between_polls),
)
