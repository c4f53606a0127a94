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
    "all was delivered": [S(1, 0), S(2, 1), P(1, 0), P(2, 1), WHOLE(2)],
    "no complete read": [S(1, 0), S(2, 1), P(1, 0), WHOLE(None, type="info")],
    "to a raw reader, and a raw read": [S(1, 0), RAW(1, 0), WHOLE(1)],
    "below the log start": [S(1, 0), WHOLE(3, log_start=1)],
    "acknowledged after the read began": [WHOLE(None), S(1, 0)],
    "plain, of unknown place": [S(1, None, type="ok"), WHOLE(None)],
    "aborted": [S(1, 0, **TXN), ABORT, WHOLE(None)],
    "of unknown end": [S(1, 0, **TXN), END("commit", 1, type="info"), WHOLE(None)],
    "unknown": [S(1), WHOLE(None)],
}

INVALID: Invalid = {
    "the tail": ([S(1, 0), S(2, 1), P(1, 0), WHOLE(None)], [("unseen-write", (1,))]),
    "of a transaction, of unknown place": (
        [S(1, None, type="ok", **TXN), COMMIT, WHOLE(None)],
        [("unseen-write", (0,))],
    ),
    "inside what was read": ([S(1, 0), WHOLE(1)], [("unseen-write", (0,))]),
    "to a failed poll alone": (
        [S(1, 0), P(1, 0, type="fail"), WHOLE(None)],
        [("unseen-write", (0,))],
    ),
    "to a raw reader alone": (
        [S(1, 0), RAW(1, 0), WHOLE(1, client="java")],
        [("unseen-write", (0,))],
    ),
}
