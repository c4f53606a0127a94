"""Histories written by hand for `offset_gaps`."""

from linearizability.hand_written.rows import BEGINS, LOG, RAW, TXN, WHOLE, Invalid, P, S, Valid

OURS = {"client": "confluent"}

VALID: Valid = {
    "a marker fills the offset between two records": (
        [RAW(1, 0), RAW(None, 1, control="commit"), RAW(2, 2)]
    ),
    "a reader passes over a transaction's marker": (
        [S(1, 0, **TXN), P(1, 0, **OURS), P(2, 2, **OURS)]
    ),
    "a raw read shows a marker between the two records": (
        [P(1, 0, **OURS), P(2, 2, **OURS), RAW(1, 0), RAW(None, 1, control="commit"), RAW(2, 2)]
    ),
    "the read failed before the end": [RAW(1, 0), WHOLE(2, op_id=1000, type="info")],
    "the read did not record its rows": [S(1, 0), P(1, 0), WHOLE(2)],
    "a read_committed read passes over an aborted record": LOG(1, None, isolation="read_committed"),
    "compaction removed the last offset": [S(2, 1, key="k"), *LOG(1, None)],
    "a whole read begins at its log start": LOG(None, None, 3, log_start=2),
    "a whole read began above the log start, since it was told so": (
        [*LOG(None, 2), BEGINS(1, asked="earliest", log_start=0, op_id=1000)]
    ),
    "a follower's log may begin later": LOG(None, 2, replica=2),
    "two reads cover different parts of the log": [RAW(1, 0), RAW(2, 5, op_id=1001)],
    "the log start has passed the missing offsets": (
        [P(1, 0, **OURS), P(2, 5, **OURS), WHOLE(6, log_start=5)]
    ),
    "compaction removed the offset between": [S(1, 0, key="k"), RAW(1, 0), RAW(2, 2)],
    "an acknowledged record is at the missing offset": (
        [S(1, 0), S(2, 1), P(1, 0, **OURS), P(3, 2, **OURS)]
    ),
    "Jepsen's sends may be transactions, whose markers use offsets": (
        [P(1, 0, client="jepsen"), P(2, 2, client="jepsen")]
    ),
    "the second record was polled in another session": (
        [P(1, 0, **OURS), P(2, 2, **OURS, session=1)]
    ),
}

INVALID: Invalid = {
    "the log ends before the high watermark": (LOG(1, 2, None), [("offset-gap", (1000,))]),
    "the log begins after its log start": (LOG(None, 2, 3), [("offset-gap", (1000,))]),
    "a poll skips an offset, and the history does not name the clients": (
        [S(1, 0), P(1, 0), P(2, 2)],
        [("offset-gap", (1, 2))],
    ),
    "a follower's log ends before its high watermark": (
        [*LOG(1, 2), *LOG(1, None, replica=2)],
        [("offset-gap", (1000,))],
    ),
    "an offset is missing from a raw read": ([RAW(1, 0), RAW(2, 2)], [("offset-gap", (1000,))]),
    "an offset is missing from a raw read that shows markers": (
        [S(1, 0, **TXN), RAW(1, 0), RAW(2, 2)],
        [("offset-gap", (1000,))],
    ),
    "a poll skips an offset although nobody uses transactions": (
        [S(1, 0), P(1, 0, **OURS), P(2, 2, **OURS)],
        [("offset-gap", (1, 2))],
    ),
}
