"""The replicas of a partition have the same log.

After all faults were healed, the replicas must have the same records, in the same epochs, in the
range that all of them must have: from the highest log start to the lowest high watermark. That is
also checked if separate operations read them. Compacted logs are compared only if one operation
read them, and must agree on the last record of each key.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ALTERED,
    place=3,
    meaning="replicas hold different logs",
    picture="a follower has another record at an offset",
    claims=("REP-3", "EPO-1"),
    columns=("leader_epoch",),
)
