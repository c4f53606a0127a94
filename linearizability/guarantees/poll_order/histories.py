"""Histories written by hand for `poll_order`."""

from linearizability.hand_written.rows import Invalid, P, Valid

VALID: Valid = {
    "offsets grow from poll to poll": [P(1, 0), P(2, 1), P(3, 5)],
    "a new session begins at a lower offset": [P(1, 4), P(1, 4, session=1), P(1, 0, session=2)],
    "another process reads a lower offset": [P(1, 4), P(1, 0, process=2)],
    "the lower offset is in another partition": [P(1, 4), P(1, 0, partition=1)],
    "a poll returns nothing": [P(1, 4), P(None, None), P(2, 5)],
}

INVALID: Invalid = {
    "a poll returns a lower offset than the one before": (
        [P(1, 4), P(2, 3)],
        [("poll-goes-back", (0, 1))],
    ),
    "a poll returns the same offset again": ([P(1, 4), P(1, 4)], [("poll-repeats", (0, 1))]),
    "one poll returns a lower offset after a higher one": (
        [P(1, 4, op_id=7), P(2, 3, op_id=7, record_index=1)],
        [("poll-goes-back", (7,))],
    ),
    "a failed poll returns a lower offset than the one before": (
        [P(1, 4), P(2, 3, type="fail")],
        [("poll-goes-back", (0, 1))],
    ),
}
