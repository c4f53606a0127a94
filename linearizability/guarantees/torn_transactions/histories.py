"""Histories written by hand for `torn_transactions`."""

from linearizability.hand_written.rows import (
    ABORT,
    BEGINS,
    COMMIT,
    END,
    RAW,
    THERE,
    TXN,
    UNKNOWN,
    WHOLE,
    Invalid,
    P,
    S,
    Valid,
)
from linearizability.ingest import DECIDED_BY

BOTH = [S(1, 0, **TXN), S(9, 0, **THERE), S(2, 1, **TXN, **THERE), S(8, 3, **THERE)]
"""One transaction with value 1 in one partition, and value 2 in the other, between 9 and 8."""


SHOWN = {"type": "ok", "detail": DECIDED_BY.format(3), **TXN}


DECIDED = [S(1, None, **SHOWN), S(2, None, **SHOWN, **THERE), END("commit", 1)]
"""Two sends whose transaction has an unknown end in the imported file, although one of them was
delivered to a reader."""


OVER = [P(9, 0, **THERE), P(8, 3, **THERE)]
"""A reader that receives 9 and 8."""


TWO_READS = [
    RAW(1, 0),
    RAW(None, 1, control="commit"),
    RAW(2, 1, **THERE, op_id=1001),
    RAW(None, 2, **THERE, op_id=1001, control="abort"),
]

VALID: Valid = {
    "both records of a committed transaction are read": (
        [*BOTH, COMMIT, P(1, 0), P(9, 0, **THERE), P(2, 1, **THERE)]
    ),
    "neither record is read, and the outcome is unknown": [*BOTH, UNKNOWN, P(5, 2), *OVER],
    "both records are read, and the outcome is unknown": (
        [*BOTH, UNKNOWN, P(1, 0), P(9, 0, **THERE), P(2, 1, **THERE), P(8, 3, **THERE)]
    ),
    "only a read_uncommitted reader receives a record": (
        [*BOTH, UNKNOWN, P(1, 0, isolation="read_uncommitted"), *OVER]
    ),
    "both records of an imported transaction are read": (
        [*DECIDED, P(1, 0), P(2, 1, **THERE), WHOLE(None), WHOLE(None, **THERE)]
    ),
    "the reader that might skip the record began a new session": (
        [*BOTH, UNKNOWN, P(1, 0), P(9, 0, **THERE), P(8, 3, **THERE, session=1)]
    ),
    "the record that was read has no acknowledged offset": (
        [S(1, None, **TXN), *BOTH[1:], UNKNOWN, P(1, 0), *OVER]
    ),
    "the log start has passed the missing record": (
        [*BOTH, UNKNOWN, P(1, 0), *OVER, P(8, 3, **THERE, process=3, log_start=3)]
    ),
    "one reader skips the second record, another receives it": (
        [*BOTH, UNKNOWN, P(1, 0), *OVER, P(2, 1, **THERE, process=3)]
    ),
    "the reader began behind the second record": (
        [*BOTH, UNKNOWN, P(1, 0), BEGINS(2, **THERE), P(8, 3, **THERE)]
    ),
    "an aborted record is read, which another checker reports": [*BOTH, ABORT, P(1, 0), *OVER],
    "only one partition's marker was read": [*BOTH, UNKNOWN, *TWO_READS[:2], P(2, 1, **THERE)],
}

INVALID: Invalid = {
    "one of two records is read, and the outcome is unknown": (
        [*BOTH, UNKNOWN, P(1, 0), *OVER],
        [("torn-transaction", (0, 2, 5, 6, 7))],
    ),
    "one of two records is read, and the other lies before the first that its reader received": (
        [*BOTH, UNKNOWN, P(1, 0), BEGINS(0, **THERE), P(8, 3, **THERE)],
        [("torn-transaction", (0, 2, 5, 6, 7))],
    ),
    "one of two records is read, and nobody ended the transaction": (
        [*BOTH, P(1, 0), *OVER],
        [("torn-transaction", (0, 2, 4, 5, 6))],
    ),
    "one of two records of a committed transaction is read": (
        [*BOTH, COMMIT, P(1, 0), *OVER],
        [("torn-transaction", (0, 2, 5, 6, 7))],
    ),
    "only one record of an imported transaction is read": (
        [*DECIDED, P(1, 0), WHOLE(None), WHOLE(None, **THERE)],
        [("torn-transaction", (0, 1, 3))],
    ),
    "one partition has a commit marker, the other an abort marker": (
        [*BOTH, UNKNOWN, *TWO_READS],
        [("torn-transaction", (0, 2, 1000, 1001))],
    ),
    "one partition has a commit marker, a reader skips the record in the other": (
        [*BOTH, UNKNOWN, *TWO_READS[:2], *OVER],
        [("torn-transaction", (0, 2, 7, 8, 1000))],
    ),
}
