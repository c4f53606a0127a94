"""No COMMIT or ABORT marker lies between the records of another transaction of its producer.

A marker ends the transaction for which it was written. A marker that arrives late, in the middle of
the next transaction, ends the first half of that one (KIP-890). With clients that do not use
transaction version 2, this may happen on Apache Kafka too: it is a known hazard, and a true
anomaly.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=7,
    meaning="a marker stands inside another transaction",
    picture="a marker stands between two records of its transaction",
    claims=("TXN-2",),
)
