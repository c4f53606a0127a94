"""Histories written by hand for `producer_order`."""

from linearizability.hand_written.rows import RAW, Invalid, P, S, Valid

VALID: Valid = {
    "in order": [S(1, 0, op_id=0), S(2, 1, op_id=0, record_index=1)],
    "of unknown place between": [
        S(1, 0, op_id=0),
        S(2, op_id=0, record_index=1),
        S(3, 1, op_id=0, record_index=2),
    ],
    "no idempotence": [
        S(1, 1, op_id=0, idempotent=False),
        S(2, 0, op_id=0, record_index=1, idempotent=False),
    ],
    "sent twice": [S(1, 1, op_id=0), S(2, 0, op_id=0, record_index=1), S(2, 3)],
    "a new epoch numbers anew": [
        RAW(1, 0, sequence=5),
        RAW(2, 1, sequence=0, producer_epoch=1),
        S(1),
        S(2),
    ],
    "sequences wrap": [RAW(1, 0, sequence=2**31 - 1), RAW(2, 1, sequence=0), S(1)],
    "the first of a producer": [S(1, 1, op_id=0), S(2, 0, op_id=0, record_index=1)],
    "the first behind a failure": [
        S(9, 0),
        S(8, type="fail"),
        S(1, 3, op_id=2),
        S(2, 2, op_id=2, record_index=1),
    ],
    "the first of a producer that is replaced": [
        S(9, 0),
        S(1, 3, op_id=2, session=1),
        S(2, 2, op_id=2, session=1, record_index=1),
    ],
    "the first of a producer id, in two epochs": [
        S(9, 0),
        S(1, 3, op_id=2),
        S(2, 2, op_id=2, record_index=1),
        RAW(9, 0, producer_id=6),
        RAW(2, 2, sequence=1),
        RAW(1, 3, sequence=0, producer_epoch=1),
    ],
    "of a topic that was made anew": [
        S(9, 0, topic_id="old"),
        S(1, 1, op_id=2, topic_id="new"),
        S(2, 0, op_id=2, record_index=1, topic_id="new"),
    ],
}

INVALID: Invalid = {
    "acknowledged": (
        [S(9, 0), S(1, 2, op_id=1), S(2, 1, op_id=1, record_index=1)],
        [("sends-reordered", (1,))],
    ),
    "unknown, then read": (
        [S(9, 0), S(1, op_id=1), S(2, op_id=1, record_index=1), P(2, 1), P(1, 2)],
        [("sends-reordered", (1,))],
    ),
    "by a producer id that had written": (
        [
            S(8),
            S(1, 3, op_id=2, session=1),
            S(2, 2, op_id=2, session=1, record_index=1),
            RAW(8, 0),
            RAW(2, 2, producer_epoch=1, sequence=0),
            RAW(1, 3),
        ],
        [("sends-reordered", (2,))],
    ),
    "by one who waits for each answer": (
        [S(1, 1, op_id=0, client="jepsen"), S(2, 0, op_id=0, record_index=1, client="jepsen")],
        [("sends-reordered", (0,))],
    ),
    "by sequence": (
        [S(1), S(2), RAW(1, 0, sequence=1), RAW(2, 1, sequence=0, op_id=1001)],
        [("sequence-goes-back", (1000, 1001))],
    ),
}
