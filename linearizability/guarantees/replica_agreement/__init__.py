"""The replicas of a partition hold the same log.

After everything was healed the replicas hold the same records, in the same epochs, wherever all of
them must: from the highest log start to the lowest high watermark, also where separate operations
read them. Compacted logs, read by one operation, must agree on the last record of each key.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.ALTERED,
    place=3,
    meaning="replicas hold different logs",
    picture="another record",
    claims=("REP-3", "EPO-1"),
    columns=("leader_epoch",),
)
