"""A transaction ends as it was acknowledged to its producer.

An acknowledged end is final: the coordinator answers when its decision is written, before the
markers are. So every partition of a committed transaction gets a COMMIT marker and the offsets
that it sent come into force; an aborted one, or one that nobody asked to commit, leaves neither;
and no record joins it any more. Where the end is not known, either will do, but the same
everywhere.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=1,
    meaning="transactions did not end as their producer was told",
    picture="committed, but its marker aborts",
    claims=("TXN-2", "ORD-3"),
)
