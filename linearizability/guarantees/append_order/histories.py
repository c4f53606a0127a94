"""Histories written by hand for `append_order`."""

from linearizability.hand_written.rows import Invalid, P, S, Valid

VALID: Valid = {
    "two sends, one after the other, at growing offsets": [S(1, 0), S(2, 1)],
    "two sends overlap in time": (
        [S(1, 1, t_invoke_ns=0, t_complete_ns=99), S(2, 0, t_invoke_ns=50)]
    ),
    "the lower offset is in another partition": [S(1, 5), S(2, 0, partition=1)],
}

INVALID: Invalid = {
    "a later send was acknowledged at a lower offset": (
        [S(1, 5), S(2, 4)],
        [("append-order", (0, 1))],
    ),
    "two sends were acknowledged at one offset": ([S(1, 5), S(2, 5)], [("same-offset", (0, 1))]),
    "a record at a higher offset was read before the send began": (
        [S(1), P(1, 5), S(2, 4)],
        [("read-before-append", (1, 2))],
    ),
}
