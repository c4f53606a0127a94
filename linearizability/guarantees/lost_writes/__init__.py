"""An acknowledged record is in the log.

The first promise of a log: a record that was acknowledged under acks=all is kept. Its loss is
proved when a reader has read past its offset, or to the end of the log, without receiving it. A
part of the log that was not read proves nothing, and records acknowledged under acks=0 or 1 are not
judged; nor are records that retention, compaction or DeleteRecords may remove. In a topic with
`unclean.leader.election.enable` a loss is unknown if a fault, or a new leader epoch, came after the
record; otherwise it counts.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.LOSS,
    place=0,
    meaning="acknowledged, then lost",
    picture="a reader passes over an acknowledged record",
    claims=("REP-4", "DUR-2"),
    kinds={"vanished-record": (Family.LOSS, "read, then gone from the log")},
    jepsen=("lost-write", always),
)
