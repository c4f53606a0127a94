"""A transaction that has ended does not hold back the last stable offset.

Once a transaction has its marker, the last stable offset moves on. If it stays, everyone who reads
committed records waits for ever. In the final phase, when every fault is healed, a minute is
enough for the markers of an end that was acknowledged; a transaction that nobody ended may last as
long as the largest `transaction.timeout.ms` that its run names (15 minutes where it names none),
then until the coordinator looks for it. A commit that is asked for later than that, and five
seconds more, must be refused, unless a fault kept brokers from acting: that excuses it until its
heal, the same time again and a minute.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.WAITING,
    place=0,
    meaning="an ended transaction still holds readers up",
    picture="ended",
    claims=("TXN-2", "TXN-5"),
    kinds={
        "committed-too-late": (Family.TRANSACTION, "a transaction was committed after its time-out")
    },
    clocks_ms={"open-for-too-long": 1},
)
