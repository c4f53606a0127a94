"""Histories written by hand for `producer_order`."""

from linearizability.hand_written.rows import RAW, Invalid, P, S, Valid

VALID: Valid = {
    "the records of one send are in order": [S(1, 0, op_id=0), S(2, 1, op_id=0, record_index=1)],
    "the record between has no known offset": (
        [S(1, 0, op_id=0), S(2, op_id=0, record_index=1), S(3, 1, op_id=0, record_index=2)]
    ),
    "the producer was not idempotent": (
        [S(1, 1, op_id=0, idempotent=False), S(2, 0, op_id=0, record_index=1, idempotent=False)]
    ),
    "the workload sent the value twice": (
        [S(1, 1, op_id=0), S(2, 0, op_id=0, record_index=1), S(2, 3)]
    ),
    "a new epoch begins at sequence 0": (
        [RAW(1, 0, sequence=5), RAW(2, 1, sequence=0, producer_epoch=1), S(1), S(2)]
    ),
    "the epochs of a lower and a higher sequence number are unknown": [
        S(1),
        S(2),
        RAW(1, 0, sequence=5, producer_epoch=None),
        RAW(2, 1, sequence=0, producer_epoch=None),
    ],
    "the sequence number wraps from 2^31 - 1 to 0": (
        [RAW(1, 0, sequence=2**31 - 1), RAW(2, 1, sequence=0), S(1)]
    ),
    "a producer's first records may be reordered": (
        [S(1, 1, op_id=0), S(2, 0, op_id=0, record_index=1)]
    ),
    "the first records after a failed send may be reordered": (
        [S(9, 0), S(8, type="fail"), S(1, 3, op_id=2), S(2, 2, op_id=2, record_index=1)]
    ),
    "the first records of a new session may be reordered": (
        [S(9, 0), S(1, 3, op_id=2, session=1), S(2, 2, op_id=2, session=1, record_index=1)]
    ),
    "the first records of a producer id, in two epochs, may be reordered": [
        S(9, 0),
        S(1, 3, op_id=2),
        S(2, 2, op_id=2, record_index=1),
        RAW(9, 0, producer_id=6),
        RAW(2, 2, sequence=1),
        RAW(1, 3, sequence=0, producer_epoch=1),
    ],
    "the first records of a recreated topic may be reordered": [
        S(9, 0, topic_id="old"),
        S(1, 1, op_id=2, topic_id="new"),
        S(2, 0, op_id=2, record_index=1, topic_id="new"),
    ],
}

INVALID: Invalid = {
    "two records of one send were acknowledged in the wrong order": (
        [S(9, 0), S(1, 2, op_id=1), S(2, 1, op_id=1, record_index=1)],
        [("sends-reordered", (1,))],
    ),
    "two records of unknown outcome are read in the wrong order": (
        [S(9, 0), S(1, op_id=1), S(2, op_id=1, record_index=1), P(2, 1), P(1, 2)],
        [("sends-reordered", (1,))],
    ),
    "a producer id that had written before reorders two records": (
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
    "a client that waits for each answer reorders two records": (
        [S(1, 1, op_id=0, client="jepsen"), S(2, 0, op_id=0, record_index=1, client="jepsen")],
        [("sends-reordered", (0,))],
    ),
    "a lower sequence number follows a higher one in the log": (
        [S(1), S(2), RAW(1, 0, sequence=1), RAW(2, 1, sequence=0, op_id=1001)],
        [("sequence-goes-back", (1000, 1001))],
    ),
    "a lower sequence number of producer 0 follows a higher one in the log": (
        [
            S(1),
            S(2),
            RAW(1, 0, sequence=1, producer_id=0),
            RAW(2, 1, sequence=0, producer_id=0, op_id=1001),
        ],
        [("sequence-goes-back", (1000, 1001))],
    ),
}
