"""Histories written by hand for `offset_gaps`."""

from linearizability.hand_written.rows import LOG, RAW, TXN, WHOLE, Invalid, P, S, Valid

OURS = {"client": "confluent"}

VALID: Valid = {
    "whole": [RAW(1, 0), RAW(None, 1, control="commit"), RAW(2, 2)],
    "a reader goes over a marker": [S(1, 0, **TXN), P(1, 0, **OURS), P(2, 2, **OURS)],
    "read raw, there is a marker": [
        P(1, 0, **OURS),
        P(2, 2, **OURS),
        RAW(1, 0),
        RAW(None, 1, control="commit"),
        RAW(2, 2),
    ],
    "not read to the end": [RAW(1, 0), WHOLE(2, op_id=1000, type="info")],
    "nobody knows what the read showed": [S(1, 0), P(1, 0), WHOLE(2)],
    "read committed": LOG(1, None, isolation="read_committed"),
    "compacted at its end": [S(2, 1, key="k"), *LOG(1, None)],
    "two reads of two parts": [RAW(1, 0), RAW(2, 5, op_id=1001)],
    "deleted": [P(1, 0, **OURS), P(2, 5, **OURS), WHOLE(6, log_start=5)],
    "compacted": [S(1, 0, key="k"), RAW(1, 0), RAW(2, 2)],
    "a record is known to be there": [S(1, 0), S(2, 1), P(1, 0, **OURS), P(3, 2, **OURS)],
    "Jepsen's sends may be transactions": [P(1, 0, client="jepsen"), P(2, 2, client="jepsen")],
    "another session": [P(1, 0, **OURS), P(2, 2, **OURS, session=1)],
}

INVALID: Invalid = {
    "before the high watermark": (LOG(1, 2, None), [("offset-gap", (1000,))]),
    "before a follower's high watermark": (
        [*LOG(1, 2), *LOG(1, None, replica=2)],
        [("offset-gap", (1000,))],
    ),
    "in a raw read": ([RAW(1, 0), RAW(2, 2)], [("offset-gap", (1000,))]),
    "in a raw read with transactions": (
        [S(1, 0, **TXN), RAW(1, 0), RAW(2, 2)],
        [("offset-gap", (1000,))],
    ),
    "without transactions": ([S(1, 0), P(1, 0, **OURS), P(2, 2, **OURS)], [("offset-gap", (1, 2))]),
}
