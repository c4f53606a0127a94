"""An acknowledged record is in the log.

The first promise of a log: what was acknowledged under acks=all stays. It is proved to be gone
when a reader went past its offset, or read the log to its end, and was not given it. An unread
tail proves nothing, nor does anything that acks 0 or 1 acknowledged; what retention, compaction
and DeleteRecords may take is excused. In a topic with `unclean.leader.election.enable` a loss is
unknown if a fault, or a new leader epoch, came after the record; otherwise it counts.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.LOSS,
    place=0,
    meaning="acknowledged, then lost",
    picture="passed over",
    claims=("REP-4", "DUR-2"),
    kinds={"vanished-record": (Family.LOSS, "read, then gone from the log")},
    jepsen=("lost-write", always),
)
