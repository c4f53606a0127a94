"""An open transaction holds back the last stable offset, and an ended one does not.

Once a transaction has its marker, the last stable offset must advance. If it does not,
read_committed readers wait for ever. When no fault is in progress, a minute is enough for the
markers of an acknowledged end. A transaction that was never ended may last as long
as the largest `transaction.timeout.ms` of its run (15 minutes if the run names none), and until the
coordinator's next check for timed-out transactions. A commit that is requested more than five
seconds after that must be refused. A fault that kept brokers from acting excuses it, until as much
time again and a minute have passed since the heal.

While a transaction is open, nothing above its first record is stable: no leader names such a last
stable offset, and no read_committed reader receives a record from there.
"""

from linearizability.guarantees.about import About, Family

ABOUT = About(
    family=Family.WAITING,
    place=0,
    meaning="an ended transaction still holds readers up",
    picture="the last stable offset stays below a transaction whose marker is written",
    claims=("TXN-2", "TXN-5"),
    kinds={
        "open-for-too-long": (
            Family.WAITING,
            "a transaction that should have ended still holds readers up",
        ),
        "open-after-its-end": (Family.WAITING, "an ended transaction held readers up for long"),
        "open-after-its-time-out": (
            Family.WAITING,
            "a transaction that had timed out held readers up for long",
        ),
        "committed-too-late": (
            Family.TRANSACTION,
            "a transaction was committed after its time-out",
        ),
        "stable-while-open": (Family.TRANSACTION, "stable above an open transaction"),
    },
    clocks_ms={"open-for-too-long": 1, "open-after-its-time-out": 1, "committed-too-late": 1},
)
