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
    "one after the other": [S(1, 0, **TXN), COMMIT, P(1, 0, txn=2), S(2, 2, txn=2)],
    "in a line": [
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
    "read_uncommitted may": [*CIRCLE[:2], P(2, 0, **TXN, **RU, **THERE), P(1, 0, txn=2)],
    "the one polls after its commit": [
        *CIRCLE[:2],
        P(1, 0, txn=2),
        COMMIT,
        END("commit", 2),
        P(2, 0, **TXN, **THERE),
    ],
    "records between each other's": [
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
    "commits that overlap": [
        *CIRCLE[:2],
        P(2, 0, **TXN, **THERE),
        END("commit", 2, t_invoke_ns=0),
        COMMIT,
    ],
}

INVALID: Invalid = {
    "they read each other": (
        [*CIRCLE[:2], P(2, 0, **TXN, **THERE), P(1, 0, txn=2), COMMIT, END("commit", 2)],
        [("read-cycle", (0, 1, 2, 3))],
    ),
    "whatever is known of their ends": (
        [*CIRCLE[:2], P(2, 0, **TXN, **THERE, type="fail"), P(1, 0, txn=2), UNKNOWN],
        [("read-cycle", (0, 1, 2, 3))],
    ),
    "three in a circle": (
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
    "the shortest of two": (
        [
            *CIRCLE,
            P(1, 0, txn=2),
            P(2, 0, txn=3, **THERE),
            P(3, 0, **TXN, partition=2),
            P(3, 0, txn=2, partition=2),
        ],
        [("read-cycle", (1, 2, 4, 6))],
    ),
    "read before it was committed, in real time": (
        [*CIRCLE[:2], P(2, 0, **TXN, **THERE), COMMIT, END("commit", 2)],
        [("read-cycle-realtime", (1, 2, 3, 4))],
    ),
    "a way through real time and a third": (
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
