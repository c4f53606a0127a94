"""An acknowledged record is delivered by the end of the final read.

Being there is not enough: by the end of the final read somebody must have been given the record.
Where a raw read shows it after all it is late; where that does not, it is lost, and `lost_writes`
says so too.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.LOSS,
    place=1,
    meaning="acknowledged, but never delivered",
    picture="the tail",
    claims=("REP-1", "SEM-2"),
    jepsen=("unseen", always),
)
