"""Read_committed readers see no record before its transaction commits.

Read_committed readers must not receive a record while its transaction is still open: a poll that
ended before the commit was requested must not contain it, even if the commit follows.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=3,
    meaning="read under read_committed before they were committed",
    picture="a record is read before its transaction commits",
    claims=("FET-2", "TXN-5"),
    arrows=True,
)
