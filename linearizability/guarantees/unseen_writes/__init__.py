"""An acknowledged record is delivered by the end of the final read.

It is not enough that a record is in the log: by the end of the final read some reader must have
received it. If only a raw read shows it, it is late. If no read shows it, it is lost, and
`lost_writes` reports it too.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.LOSS,
    place=1,
    meaning="acknowledged, but never delivered",
    picture="nobody receives the last acknowledged record",
    claims=("REP-1", "SEM-2"),
    jepsen=("unseen", always),
)
