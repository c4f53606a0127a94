"""Histories written by hand for `delivery_semantics`."""

from linearizability.hand_written.rows import END, SAYS, TXN, WHOLE, Invalid, P, S, Valid

READING = {"op_id": 1000, "process": 9}
"""The columns of one operation that reads the whole partition."""

VALID: Valid = {
    "once": [S(1, 0), P(1, 0, **READING), WHOLE(1, **READING, record_index=1)],
    "at most once, lost": [S(1, None, acks=0, idempotent=False, type="ok"), WHOLE(0)],
    "at least once, twice": [
        S(1, 0, idempotent=False),
        P(1, 0, **READING),
        P(1, 1, **READING, record_index=1),
        WHOLE(2, **READING, record_index=2),
    ],
    "acks 1, lost": [S(1, 0, acks=1, idempotent=False), WHOLE(1)],
    "acks 1, lost with its leader": [
        S(1, 0, acks=1, idempotent=False),
        WHOLE(1, final=True, leader_epoch=1),
    ],
    "acks 1, after another leader": [
        S(1, 0, acks=1, idempotent=False),
        SAYS(0, leader_epoch=1),
        WHOLE(1, final=True, leader_epoch=0),
    ],
    "of unknown outcome": [S(1), WHOLE(3)],
    "aborted": [S(1, 0, **TXN), END("abort", 1), WHOLE(2)],
    "sent again by the workload": [
        S(1, 0),
        S(1, 1),
        P(1, 0, **READING),
        P(1, 1, **READING, record_index=1),
        WHOLE(2, **READING, record_index=2),
    ],
    "acknowledged after the reading began": [WHOLE(1, t_complete_ns=99), S(1, 0)],
    "deleted": [S(1, 0), WHOLE(1, log_start=1)],
    "compacted": [S(1, 0, key="k"), S(2, 1, key="k"), WHOLE(1)],
    "a replica's own log": [S(1, 0), WHOLE(1, replica=2)],
    "by two readings": [
        S(1, 0),
        P(1, 0, **READING),
        WHOLE(1, **READING, record_index=1),
        P(1, 0, op_id=2000, process=9),
        WHOLE(1, op_id=2000, record_index=1),
    ],
}

INVALID: Invalid = {
    "exactly once, lost": ([S(1, 0), WHOLE(1)], [("not-delivered", (0, 1))]),
    "at least once, lost": ([S(1, 0, idempotent=False), WHOLE(1)], [("not-delivered", (0, 1))]),
    "acks 1, lost by the only leader": (
        [S(1, 0, acks=1, idempotent=False), WHOLE(1, final=True, leader_epoch=0)],
        [("not-delivered", (0, 1))],
    ),
    "another reading has it": ([S(1, 0), P(1, 0), WHOLE(1)], [("not-delivered", (0, 2))]),
    "exactly once, twice": (
        [
            S(1, 0),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        [("delivered-twice", (0, 1000))],
    ),
    "at most once, twice": (
        [
            S(1, None, acks=0, idempotent=False, type="ok"),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        [("delivered-twice", (0, 1000))],
    ),
    "of unknown outcome, twice": (
        [
            S(1),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        [("delivered-twice", (0, 1000))],
    ),
    "committed, lost": ([S(1, 0, **TXN), END("commit", 1), WHOLE(2)], [("not-delivered", (0, 2))]),
}
