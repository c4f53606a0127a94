"""Histories written by hand for `dirty_reads`."""

from linearizability.hand_written.rows import ABORT, COMMIT, END, RU, TXN, Invalid, P, S, Valid

VALID: Valid = {
    "the record is read after the commit": [S(1, 0, **TXN), COMMIT, P(1, 0)],
    "the record is read while the commit is under way": (
        [S(1, 0, **TXN), END("commit", 1, t_complete_ns=999), P(1, 0)]
    ),
    "the poll began before the commit and ended after it": (
        [S(1, 0, **TXN), P(1, 0, t_complete_ns=99), COMMIT]
    ),
    "a read_uncommitted reader receives the record before the commit": (
        [S(1, 0, **TXN), P(1, 0, **RU), COMMIT, P(1, 0)]
    ),
    "nobody asked for a commit, so another checker judges this": [S(1, 0, **TXN), P(1, 0), ABORT],
    "two transactions sent the value, and one had committed": (
        [S(1, 0, **TXN), S(1, 1, txn=2), P(1, 0), COMMIT]
    ),
}

INVALID: Invalid = {
    "a record is read before its transaction commits": (
        [S(1, 0, **TXN), P(1, 0), COMMIT],
        [("dirty-read", (0, 1))],
    ),
    "a record is read before a commit of unknown outcome begins": (
        [S(1, **TXN), P(1, 0, type="fail"), END("commit", 1, type="info")],
        [("dirty-read", (0, 1))],
    ),
}
