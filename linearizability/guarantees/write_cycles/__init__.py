"""Transactions that read each other can be put into one order of commits.

A transaction that read another one's record was committed after it. If such waits close to a
circle (reads alone, or reads and real time), no order of commits explains them. Writes between
each other's records break nothing: Kafka does not isolate writes. (`touchstone check --profile
jepsen` tells such circles, too, as Jepsen's allowed G0.)
"""

from linearizability.guarantees.about import About, Family
from linearizability.opinions.jepsen_rules import always

ABOUT = About(
    family=Family.TRANSACTION,
    place=5,
    meaning="transactions that read each other in a circle",
    picture="they read each other",
    claims=("ORD-3", "FET-2"),
    jepsen=("G1c, G1c-realtime", always),
    arrows=True,
)
