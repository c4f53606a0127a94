"""No COMMIT or ABORT marker lies between the records of another transaction of its producer.

A marker ends the transaction it was written for. One that arrives late, in the middle of the next,
ends half of that (KIP-890). Clients without transaction version 2 may meet this on Apache Kafka
too: a known hazard, and a true anomaly.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.TRANSACTION,
    place=7,
    meaning="a marker stands inside another transaction",
    picture="in the middle",
    claims=("TXN-2",),
)
