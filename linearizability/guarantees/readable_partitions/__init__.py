"""Every partition can be read to its end after the faults are healed.

When the cluster has had time to recover and a final read has still not reached the end of a
partition, the run tries that partition again for a minute, with requests of its own (operations
try_read). It may not fail each time at the same offset while the node that leads it answers other
requests: with an error, without records though some are there, or without an answer. A partition
without a leader may not stay so while a replica that is in sync lives. An error of the storage
proves nothing, nor does a node that does not answer at all.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.WAITING,
    place=4,
    meaning="no reader can read a partition to its end, though its leader lives",
    picture="a leader refuses every fetch for a minute",
    claims=("FET-1",),
)
