"""Histories written by hand for `lost_writes`."""

from linearizability.hand_written.rows import (
    ABORT,
    COMMIT,
    END,
    LOG,
    RAW,
    RC,
    RU,
    TXN,
    WHOLE,
    Invalid,
    P,
    S,
    Valid,
)

VALID: Valid = {
    "all is read": [S(1, 0), S(2, 1), P(1, 0), P(2, 1)],
    "an unpolled tail": [S(1, 0), S(2, 1), P(1, 0)],
    "unknown, never seen": [S(1, 0), S(2), S(3, 2), P(1, 0), P(3, 2)],
    "acks 1 proves nothing": [S(1, 0, acks=1), S(2, 1), P(2, 1)],
    "acks 0 proves nothing": [S(1, None, acks=0, type="ok"), S(2, 1), P(2, 1)],
    "aborted, not given": [S(1, 0, **TXN), ABORT, S(2, 2), P(2, 2)],
    "unknown end, not given": [S(1, 0, **TXN), END("commit", 1, type="info"), S(2, 2), P(2, 2)],
    "an aborted record is no horizon": [S(1, 0), S(2, 1, **TXN), ABORT, P(2, 1, **RU)],
    "below the log start": [S(1, 0), S(2, 1), P(2, 1), WHOLE(2, log_start=1)],
    "a failed poll saw it": [S(1, 0), S(2, 1), P(1, 0, type="info"), P(2, 1)],
    "a group began behind it": [S(1, 0), S(2, 1), S(3, 2), P(2, 1, group="g")],
    "the whole read came first": [WHOLE(0), S(1, 0)],
    "read, and there to the end": [S(1, 0), S(2), P(1, 0), P(2, 1), *LOG(1, 2)],
    "read when the log had been read": [S(1, 0), *LOG(1), S(2), P(2, 1)],
    "read, then deleted": [S(1, 0), P(1, 0), *LOG(None, 2, log_start=1), S(2, 1)],
    "another record stands there": [S(1, 0), S(2), P(2, 1), *LOG(1, 3)],
    "a follower's end": [S(1, 0), S(2), P(2, 1), *LOG(1, replica=2)],
    "hidden by a hanging transaction": [
        S(1, 0, **TXN),
        S(2, 1),
        S(3, 2, txn=2),
        END("commit", 2),
        WHOLE(3, **RC),
    ],
    "topic made anew": [S(1, 0, topic_id="a"), P(2, 5, topic_id="b"), S(2, 5, topic_id="b")],
}

INVALID: Invalid = {
    "passed over": ([S(1, 0), S(2, 1), P(2, 1)], [("lost-write", (0, 2))]),
    "committed, passed over": (
        [S(1, 0, **TXN), COMMIT, S(2, 2), P(2, 2)],
        [("lost-write", (0, 3))],
    ),
    "by its marker committed": (
        [
            S(1, 0, **TXN),
            S(4, 3, **TXN, partition=1),
            S(2, 2),
            P(2, 2),
            RAW(4, 3, partition=1),
            RAW(None, 4, partition=1, control="commit"),
        ],
        [("lost-write", (0, 3))],
    ),
    "absent inside a whole read": ([S(1, 0), WHOLE(3)], [("lost-write", (0, 1))]),
    "a tail that was read once": (
        [S(1, 0), S(2), P(2, 1), *LOG(1)],
        [("vanished-record", (2, 1000))],
    ),
    "acknowledged, gone from a final read, read later": (
        [S(1, 0), S(2, 1), *LOG(1), P(2, 1, op_id=1001)],
        [("vanished-record", (1, 1000))],
    ),
    "read once, then a hole": (
        [S(1, 0), S(3, 2), S(2), P(2, 1), *LOG(1, None, 3)],
        [("vanished-record", (3, 1000))],
    ),
    "acknowledged, read once": (
        [S(1, 0), S(2, 1), P(2, 1), *LOG(1)],
        [("vanished-record", (2, 1000))],
    ),
    "absent at the end": ([S(1, 0), S(2, 1), P(1, 0), WHOLE(1)], [("lost-write", (1, 3))]),
    "a group passed it": (
        [S(1, 0), S(2, 1), S(3, 2), P(1, 0, group="g"), P(3, 2, group="g")],
        [("lost-write", (1, 4))],
    ),
    "read elsewhere only": (
        [S(1, 0), S(2, 1), P(2, 1), P(1, 0, partition=1)],
        [("lost-write", (0, 2))],
    ),
}
