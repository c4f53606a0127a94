"""Histories written by hand for `unseen_writes`."""

from linearizability.hand_written.rows import (
    ABORT,
    COMMIT,
    END,
    RAW,
    TXN,
    WHOLE,
    Invalid,
    P,
    S,
    Valid,
)

VALID: Valid = {
    "every acknowledged record was delivered": [S(1, 0), S(2, 1), P(1, 0), P(2, 1), WHOLE(2)],
    "the whole read failed": [S(1, 0), S(2, 1), P(1, 0), WHOLE(None, type="info")],
    "the whole raw read returned the record": [S(1, 0), RAW(1, 0), WHOLE(1)],
    "the log start has passed the record": [S(1, 0), WHOLE(3, log_start=1)],
    "the record was acknowledged after the read began": [WHOLE(None), S(1, 0)],
    "a record outside transactions has no known offset": [S(1, None, type="ok"), WHOLE(None)],
    "the record was aborted": [S(1, 0, **TXN), ABORT, WHOLE(None)],
    "the transaction has an unknown outcome": (
        [S(1, 0, **TXN), END("commit", 1, type="info"), WHOLE(None)]
    ),
    "the record has an unknown outcome": [S(1), WHOLE(None)],
}

INVALID: Invalid = {
    "nobody receives the last acknowledged record": (
        [S(1, 0), S(2, 1), P(1, 0), WHOLE(None)],
        [("unseen-write", (1,))],
    ),
    "nobody receives a committed record whose offset is unknown": (
        [S(1, None, type="ok", **TXN), COMMIT, WHOLE(None)],
        [("unseen-write", (0,))],
    ),
    "nobody receives a record below the end of a whole read": (
        [S(1, 0), WHOLE(1)],
        [("unseen-write", (0,))],
    ),
    "only a failed poll returned the record": (
        [S(1, 0), P(1, 0, type="fail"), WHOLE(None)],
        [("unseen-write", (0,))],
    ),
    "only a raw read returned the record, and not the client's whole read": (
        [S(1, 0), RAW(1, 0), WHOLE(1, client="java")],
        [("unseen-write", (0,))],
    ),
}
