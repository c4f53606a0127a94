"""Histories written by hand for `append_order`."""

from linearizability.hand_written.rows import Invalid, P, S, Valid

VALID: Valid = {
    "in order": [S(1, 0), S(2, 1)],
    "overlapping": [S(1, 1, t_invoke_ns=0, t_complete_ns=99), S(2, 0, t_invoke_ns=50)],
    "other partitions": [S(1, 5), S(2, 0, partition=1)],
}

INVALID: Invalid = {
    "later stands lower": ([S(1, 5), S(2, 4)], [("append-order", (0, 1))]),
    "one offset twice": ([S(1, 5), S(2, 5)], [("same-offset", (0, 1))]),
    "what stands behind it had been read": (
        [S(1), P(1, 5), S(2, 4)],
        [("read-before-append", (1, 2))],
    ),
}
