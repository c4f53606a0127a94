"""Transactions that read each other can be put into one order of commits.

A transaction that read another one's record was committed after it. If such dependencies form a
cycle (by reads alone, or by reads and real time), no order of commits explains them. Interleaved
writes of two transactions break nothing, since Kafka does not isolate writes. (`touchstone check
--profile jepsen` also reports cycles of writes, as G0, which Jepsen allows.)
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.TRANSACTION,
    place=5,
    meaning="transactions that read each other in a circle",
    picture="two transactions read each other's records",
    claims=("ORD-3", "FET-2"),
    jepsen=("G1c, G1c-realtime", always),
    arrows=True,
)
