"""Histories written by hand for `own_uncommitted_reads`."""

from linearizability.hand_written.rows import ABORT, COMMIT, RU, TXN, Invalid, P, S, Valid

VALID: Valid = {
    "another transaction": [S(1, 0, **TXN), COMMIT, S(2, 2, txn=2), P(1, 0, txn=2)],
    "outside of it": [S(1, 0, **TXN), COMMIT, P(1, 0)],
    "read_uncommitted may": [S(1, 0, **TXN), P(1, 0, **TXN, **RU), P(2, 5, **TXN), S(2, 5)],
    "on another partition": [S(1, 0, **TXN), P(1, 0, **TXN, partition=1)],
}

INVALID: Invalid = {
    "then committed": (
        [S(1, 0, **TXN), P(1, 0, **TXN), COMMIT],
        [("own-uncommitted-read", (0, 1))],
    ),
    "then aborted": (
        [S(1, **TXN), P(1, 0, **TXN, type="fail"), ABORT],
        [("own-uncommitted-read", (0, 1))],
    ),
}
