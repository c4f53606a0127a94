"""A transaction ends as it was acknowledged to its producer.

An acknowledged end is final: the coordinator answers when its decision is written, before the
markers are. So every partition of a committed transaction gets a COMMIT marker, and the offsets
that it sent take effect. An aborted transaction, or one without a commit request, gets neither; and
no record may be added after the end. If the end is not known, either is right, but it must be the
same everywhere.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=1,
    meaning="transactions did not end as their producer was told",
    picture="committed, but the log has an abort marker",
    claims=("TXN-2", "ORD-3"),
)
