"""Histories written by hand for `dirty_reads`."""

from linearizability.hand_written.rows import ABORT, COMMIT, END, RU, TXN, Invalid, P, S, Valid

VALID: Valid = {
    "after the commit": [S(1, 0, **TXN), COMMIT, P(1, 0)],
    "while the commit is answered": [S(1, 0, **TXN), END("commit", 1, t_complete_ns=999), P(1, 0)],
    "it began before the commit": [S(1, 0, **TXN), P(1, 0, t_complete_ns=99), COMMIT],
    "read_uncommitted may": [S(1, 0, **TXN), P(1, 0, **RU), COMMIT, P(1, 0)],
    "its commit was never asked for": [S(1, 0, **TXN), P(1, 0), ABORT],
    "sent by two transactions": [S(1, 0, **TXN), S(1, 1, txn=2), P(1, 0), COMMIT],
}

INVALID: Invalid = {
    "before a commit": ([S(1, 0, **TXN), P(1, 0), COMMIT], [("dirty-read", (0, 1))]),
    "before a commit of unknown end": (
        [S(1, **TXN), P(1, 0, type="fail"), END("commit", 1, type="info")],
        [("dirty-read", (0, 1))],
    ),
}
