"""Histories written by hand for `torn_transactions`."""

from linearizability.hand_written.rows import (
    ABORT,
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
    "committed everywhere": [*BOTH, COMMIT, P(1, 0), P(9, 0, **THERE), P(2, 1, **THERE)],
    "aborted everywhere, whatever was answered": [*BOTH, UNKNOWN, P(5, 2), *OVER],
    "committed, and given to another reader": [
        *BOTH,
        UNKNOWN,
        P(1, 0),
        P(9, 0, **THERE),
        P(2, 1, **THERE),
        P(8, 3, **THERE),
    ],
    "read_uncommitted readers prove nothing": [
        *BOTH,
        UNKNOWN,
        P(1, 0, isolation="read_uncommitted"),
        *OVER,
    ],
    "what one of its records shows was given": [
        *DECIDED,
        P(1, 0),
        P(2, 1, **THERE),
        WHOLE(None),
        WHOLE(None, **THERE),
    ],
    "it goes on in another session": [
        *BOTH,
        UNKNOWN,
        P(1, 0),
        P(9, 0, **THERE),
        P(8, 3, **THERE, session=1),
    ],
    "not acknowledged": [S(1, None, **TXN), *BOTH[1:], UNKNOWN, P(1, 0), *OVER],
    "deleted": [*BOTH, UNKNOWN, P(1, 0), *OVER, P(8, 3, **THERE, process=3, log_start=3)],
    "passed over by one reader, given to another": [
        *BOTH,
        UNKNOWN,
        P(1, 0),
        *OVER,
        P(2, 1, **THERE, process=3),
    ],
    "delivered though aborted: another checker's": [*BOTH, ABORT, P(1, 0), *OVER],
    "one marker": [*BOTH, UNKNOWN, *TWO_READS[:2], P(2, 1, **THERE)],
}

INVALID: Invalid = {
    "of unknown outcome": (
        [*BOTH, UNKNOWN, P(1, 0), *OVER],
        [("torn-transaction", (0, 2, 5, 6, 7))],
    ),
    "nobody ended it": ([*BOTH, P(1, 0), *OVER], [("torn-transaction", (0, 2, 4, 5, 6))]),
    "committed": ([*BOTH, COMMIT, P(1, 0), *OVER], [("torn-transaction", (0, 2, 5, 6, 7))]),
    "only one of its records shows that it was committed": (
        [*DECIDED, P(1, 0), WHOLE(None), WHOLE(None, **THERE)],
        [("torn-transaction", (0, 1, 3))],
    ),
    "by its markers": ([*BOTH, UNKNOWN, *TWO_READS], [("torn-transaction", (0, 2, 1000, 1001))]),
    "by a marker and a reader": (
        [*BOTH, UNKNOWN, *TWO_READS[:2], *OVER],
        [("torn-transaction", (0, 2, 7, 8, 1000))],
    ),
}
