"""A transaction is committed everywhere or nowhere.

A transaction has one outcome, in every partition it wrote to, also where its client never learned
which. A record delivered here and passed over there, or a COMMIT here and an ABORT there, is a
torn one.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=0,
    meaning="only a part of a transaction was committed",
    picture="of unknown outcome",
    claims=("ORD-3",),
    arrows=True,
)
