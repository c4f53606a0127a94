"""Histories written by hand for `own_uncommitted_reads`."""

from linearizability.hand_written.rows import ABORT, COMMIT, RU, TXN, Invalid, P, S, Valid

VALID: Valid = {
    "the record belongs to the process's previous transaction": (
        [S(1, 0, **TXN), COMMIT, S(2, 2, txn=2), P(1, 0, txn=2)]
    ),
    "the record is read after the transaction": [S(1, 0, **TXN), COMMIT, P(1, 0)],
    "a read_uncommitted poll receives the transaction's own record": (
        [S(1, 0, **TXN), P(1, 0, **TXN, **RU), P(2, 5, **TXN), S(2, 5)]
    ),
    "the record that was read is in another partition": (
        [S(1, 0, **TXN), P(1, 0, **TXN, partition=1)]
    ),
}

INVALID: Invalid = {
    "a transaction receives its own record, then commits": (
        [S(1, 0, **TXN), P(1, 0, **TXN), COMMIT],
        [("own-uncommitted-read", (0, 1))],
    ),
    "a transaction receives its own record, then aborts": (
        [S(1, **TXN), P(1, 0, **TXN, type="fail"), ABORT],
        [("own-uncommitted-read", (0, 1))],
    ),
}
