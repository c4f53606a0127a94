"""Histories written by hand for `poll_order`."""

from linearizability.hand_written.rows import Invalid, P, Valid

VALID: Valid = {
    "forward": [P(1, 0), P(2, 1), P(3, 5)],
    "a new session": [P(1, 4), P(1, 4, session=1), P(1, 0, session=2)],
    "other processes": [P(1, 4), P(1, 0, process=2)],
    "other partitions": [P(1, 4), P(1, 0, partition=1)],
    "empty polls": [P(1, 4), P(None, None), P(2, 5)],
}

INVALID: Invalid = {
    "back": ([P(1, 4), P(2, 3)], [("poll-goes-back", (0, 1))]),
    "again": ([P(1, 4), P(1, 4)], [("poll-repeats", (0, 1))]),
    "inside one operation": (
        [P(1, 4, op_id=7), P(2, 3, op_id=7, record_index=1)],
        [("poll-goes-back", (7,))],
    ),
    "in a failed operation": ([P(1, 4), P(2, 3, type="fail")], [("poll-goes-back", (0, 1))]),
}
