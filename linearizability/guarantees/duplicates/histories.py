"""Histories written by hand for `duplicates`."""

from linearizability.hand_written.rows import Invalid, P, S, Valid

VALID: Valid = {
    "each once": [S(1, 0), S(2, 1), P(1, 0), P(2, 1), P(1, 0, process=2)],
    "no idempotence": [S(1, 0, idempotent=False), P(1, 0), P(1, 1)],
    "the workload sent it twice": [S(1, 0), S(1, 1), P(1, 0), P(1, 1)],
    "two partitions": [S(1, 0), P(1, 0), P(1, 1, partition=1)],
    "an unproven acknowledgement": [S(1, 0, acks=1), P(1, 1)],
}

INVALID: Invalid = {
    "read twice": ([S(1, 0), P(1, 0), P(1, 4)], [("duplicate", (0, 2))]),
    "acknowledged elsewhere": ([S(1, 0), P(1, 3)], [("duplicate", (0, 1))]),
    "of unknown outcome": ([S(1), P(1, 0), P(1, 3)], [("duplicate", (0, 1, 2))]),
}
