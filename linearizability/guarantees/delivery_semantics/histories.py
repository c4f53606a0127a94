"""Histories written by hand for `delivery_semantics`."""

from linearizability.hand_written.rows import END, SAYS, TXN, WHOLE, Invalid, P, S, Valid

READING = {"op_id": 1000, "process": 9}
"""The columns of one operation that reads the whole partition."""

VALID: Valid = {
    "exactly once: the record is delivered once": (
        [S(1, 0), P(1, 0, **READING), WHOLE(1, **READING, record_index=1)]
    ),
    "at most once: the record is lost": [S(1, None, acks=0, idempotent=False, type="ok"), WHOLE(0)],
    "at least once: the record is delivered twice": [
        S(1, 0, idempotent=False),
        P(1, 0, **READING),
        P(1, 1, **READING, record_index=1),
        WHOLE(2, **READING, record_index=2),
    ],
    "acks=1: the record is lost during the run": [S(1, 0, acks=1, idempotent=False), WHOLE(1)],
    "acks=1: the record is lost, and another leader was elected": (
        [S(1, 0, acks=1, idempotent=False), WHOLE(1, final=True, leader_epoch=1)]
    ),
    "acks=1: the record is lost, and two leaders have answered": [
        S(1, 0, acks=1, idempotent=False),
        SAYS(0, leader_epoch=1),
        WHOLE(1, final=True, leader_epoch=0),
    ],
    "a record of unknown outcome is not delivered": [S(1), WHOLE(3)],
    "an aborted record is not delivered": [S(1, 0, **TXN), END("abort", 1), WHOLE(2)],
    "the workload sent the value twice": [
        S(1, 0),
        S(1, 1),
        P(1, 0, **READING),
        P(1, 1, **READING, record_index=1),
        WHOLE(2, **READING, record_index=2),
    ],
    "the record was acknowledged after the read began": [WHOLE(1, t_complete_ns=99), S(1, 0)],
    "the log start has passed the record": [S(1, 0), WHOLE(1, log_start=1)],
    "compaction removed the older value of the key": [S(1, 0, key="k"), S(2, 1, key="k"), WHOLE(1)],
    "a follower that was read directly does not have the record": [S(1, 0), WHOLE(1, replica=2)],
    "two reads deliver the record once each": [
        S(1, 0),
        P(1, 0, **READING),
        WHOLE(1, **READING, record_index=1),
        P(1, 0, op_id=2000, process=9),
        WHOLE(1, op_id=2000, record_index=1),
    ],
}

INVALID: Invalid = {
    "exactly once: the record is lost": ([S(1, 0), WHOLE(1)], [("not-delivered", (0, 1))]),
    "at least once: the record is lost": (
        [S(1, 0, idempotent=False), WHOLE(1)],
        [("not-delivered", (0, 1))],
    ),
    "acks=1: the record is lost although the leader never changed": (
        [S(1, 0, acks=1, idempotent=False), WHOLE(1, final=True, leader_epoch=0)],
        [("not-delivered", (0, 1))],
    ),
    "one read has the record, a later one does not": (
        [S(1, 0), P(1, 0), WHOLE(1)],
        [("not-delivered", (0, 2))],
    ),
    "exactly once: the record is delivered twice": (
        [
            S(1, 0),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        [("delivered-twice", (0, 1000))],
    ),
    "at most once: the record is delivered twice": (
        [
            S(1, None, acks=0, idempotent=False, type="ok"),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        [("delivered-twice", (0, 1000))],
    ),
    "a record of unknown outcome is delivered twice": (
        [
            S(1),
            P(1, 0, **READING),
            P(1, 1, **READING, record_index=1),
            WHOLE(2, **READING, record_index=2),
        ],
        [("delivered-twice", (0, 1000))],
    ),
    "a committed record is lost": (
        [S(1, 0, **TXN), END("commit", 1), WHOLE(2)],
        [("not-delivered", (0, 2))],
    ),
}
