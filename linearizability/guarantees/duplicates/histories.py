"""Histories written by hand for `duplicates`."""

from linearizability.hand_written.rows import Invalid, P, S, Valid

VALID: Valid = {
    "each reader receives each record once": (
        [S(1, 0), S(2, 1), P(1, 0), P(2, 1), P(1, 0, process=2)]
    ),
    "the producer was not idempotent": [S(1, 0, idempotent=False), P(1, 0), P(1, 1)],
    "the workload sent the value twice": [S(1, 0), S(1, 1), P(1, 0), P(1, 1)],
    "one of the two sends was not idempotent": [
        S(1, 0),
        S(1, 1, idempotent=False),
        P(1, 0),
        P(1, 1),
        P(1, 2),
    ],
    "the copies are in two partitions": [S(1, 0), P(1, 0), P(1, 1, partition=1)],
    "a record acknowledged with acks=1 is read at another offset": [S(1, 0, acks=1), P(1, 1)],
}

INVALID: Invalid = {
    "a record is read at two offsets": ([S(1, 0), P(1, 0), P(1, 4)], [("duplicate", (0, 2))]),
    "a record is read at another offset than the acknowledged one": (
        [S(1, 0), P(1, 3)],
        [("duplicate", (0, 1))],
    ),
    "a record that was sent twice is read at three offsets": (
        [S(1), S(1, 2), P(1, 0), P(1, 1), P(1, 2)],
        [("duplicate", (0, 1, 2, 3))],
    ),
    "a record of unknown outcome is read at two offsets": (
        [S(1), P(1, 0), P(1, 3)],
        [("duplicate", (0, 1, 2))],
    ),
}
