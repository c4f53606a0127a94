"""A transaction is committed everywhere or nowhere.

A transaction has one outcome in every partition that it wrote to, even if its client never learned
it. If one of its records was delivered and another skipped, or one partition has a COMMIT marker
and another an ABORT marker, the transaction is torn.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=0,
    meaning="only a part of a transaction was committed",
    picture="one of two records is read, and the outcome is unknown",
    claims=("ORD-3",),
    arrows=True,
)
