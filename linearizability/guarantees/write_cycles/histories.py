"""Histories written by hand for `write_cycles`."""

from linearizability.hand_written.rows import (
    COMMIT,
    END,
    RU,
    THERE,
    TXN,
    UNKNOWN,
    Invalid,
    P,
    S,
    Valid,
)

CIRCLE = [S(1, 0, **TXN), S(2, 0, txn=2, **THERE), S(3, 0, txn=3, partition=2)]
"""Three transactions, each of which sends one record to a different partition."""

VALID: Valid = {
    "the second transaction began after the first committed": (
        [S(1, 0, **TXN), COMMIT, P(1, 0, txn=2), S(2, 2, txn=2)]
    ),
    "three transactions read each other's records in one direction": [
        S(1, 0, **TXN),
        COMMIT,
        P(1, 0, txn=2),
        S(2, 2, txn=2),
        END("commit", 2),
        P(1, 0, txn=3),
        P(2, 2, txn=3),
        S(3, 4, txn=3),
        END("commit", 3),
    ],
    "a read_uncommitted poll closes the cycle": (
        [*CIRCLE[:2], P(2, 0, **TXN, **RU, **THERE), P(1, 0, txn=2)]
    ),
    "one transaction polls only after the other's commit": (
        [*CIRCLE[:2], P(1, 0, txn=2), COMMIT, END("commit", 2), P(2, 0, **TXN, **THERE)]
    ),
    "the records of two transactions alternate in one partition": [
        S(1, 0, **TXN),
        S(2, 1, txn=2),
        S(3, 2, **TXN),
        S(4, 3, txn=2),
        COMMIT,
        END("commit", 2),
        P(1, 0, txn=3),
        P(2, 1, txn=3),
        S(5, 6, txn=3),
    ],
    "the commits overlap in time": (
        [*CIRCLE[:2], P(2, 0, **TXN, **THERE), END("commit", 2, t_invoke_ns=0), COMMIT]
    ),
}

INVALID: Invalid = {
    "two transactions read each other's records": (
        [*CIRCLE[:2], P(2, 0, **TXN, **THERE), P(1, 0, txn=2), COMMIT, END("commit", 2)],
        [("read-cycle", (0, 1, 2, 3))],
    ),
    "two transactions of unknown outcome read each other's records": (
        [*CIRCLE[:2], P(2, 0, **TXN, **THERE, type="fail"), P(1, 0, txn=2), UNKNOWN],
        [("read-cycle", (0, 1, 2, 3))],
    ),
    "three transactions read each other's records in a cycle": (
        [
            *CIRCLE,
            P(1, 0, txn=2),
            P(2, 0, txn=3, **THERE),
            P(3, 0, **TXN, partition=2),
            COMMIT,
            END("commit", 2),
            END("commit", 3),
        ],
        [("read-cycle", (0, 1, 2, 3, 4, 5))],
    ),
    "the shortest of two cycles is reported": (
        [
            *CIRCLE,
            P(1, 0, txn=2),
            P(2, 0, txn=3, **THERE),
            P(3, 0, **TXN, partition=2),
            P(3, 0, txn=2, partition=2),
        ],
        [("read-cycle", (1, 2, 4, 6))],
    ),
    "a transaction reads a record of one that committed only later": (
        [*CIRCLE[:2], P(2, 0, **TXN, **THERE), COMMIT, END("commit", 2)],
        [("read-cycle-realtime", (1, 2, 3, 4))],
    ),
    "a cycle through real time and a third transaction": (
        [
            *CIRCLE,
            P(2, 0, txn=3, **THERE),
            P(3, 0, **TXN, partition=2),
            END("commit", 3),
            COMMIT,
            END("commit", 2),
        ],
        [("read-cycle-realtime", (1, 3, 5, 7))],
    ),
}
