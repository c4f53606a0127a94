"""A transaction does not read its own uncommitted records.

A transaction's records are not committed before it ends, so not even the transaction itself may
receive them.
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.TRANSACTION,
    place=4,
    meaning="read by the open transaction that sent them",
    picture="a transaction receives its own record, then commits",
    claims=("FET-2",),
    jepsen=("precommitted-read", always),
    arrows=True,
)
