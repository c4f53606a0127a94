"""Histories written by hand for what whole transactions are promised."""

from __future__ import annotations

from linearizability.hand_written.rows import END, RAW, WHOLE, P, Row, S
from linearizability.ingest import DECIDED_BY

TXN = {"txn": 1}
THERE = {"partition": 1}
COMMIT, ABORT, UNKNOWN = END("commit", 1), END("abort", 1), END("commit", 1, type="info")
BOTH = [S(1, 0, **TXN), S(9, 0, **THERE), S(2, 1, **TXN, **THERE), S(8, 3, **THERE)]
"""One transaction: value 1 here, value 2 between 9 and 8 in the other partition."""
SHOWN = {"type": "ok", "detail": DECIDED_BY.format(3), **TXN}
DECIDED = [S(1, None, **SHOWN), S(2, None, **SHOWN, **THERE), END("commit", 1)]
"""Two sends whose end was unknown in the file, but one of which was given to a reader."""
OVER = [P(9, 0, **THERE), P(8, 3, **THERE)]
"""A reader that is given 9 and 8."""
CIRCLE = [S(1, 0, **TXN), S(2, 0, txn=2, **THERE), S(3, 0, txn=3, partition=2)]
"""Three transactions, each of which sends one record to a partition of its own."""
RU = {"isolation": "read_uncommitted"}
TWO_READS = [
    RAW(1, 0),
    RAW(None, 1, control="commit"),
    RAW(2, 1, **THERE, op_id=1001),
    RAW(None, 2, **THERE, op_id=1001, control="abort"),
]

VALID: dict[str, dict[str, list[Row]]] = {
    "torn_transactions": {
        "committed everywhere": [*BOTH, COMMIT, P(1, 0), P(9, 0, **THERE), P(2, 1, **THERE)],
        "aborted everywhere, whatever was answered": [*BOTH, UNKNOWN, P(5, 2), *OVER],
        "committed, and given to another reader": [
            *BOTH,
            UNKNOWN,
            P(1, 0),
            P(9, 0, **THERE),
            P(2, 1, **THERE),
            P(8, 3, **THERE),
        ],
        "read_uncommitted readers prove nothing": [
            *BOTH,
            UNKNOWN,
            P(1, 0, isolation="read_uncommitted"),
            *OVER,
        ],
        "what one of its records shows was given": [
            *DECIDED,
            P(1, 0),
            P(2, 1, **THERE),
            WHOLE(None),
            WHOLE(None, **THERE),
        ],
        "it goes on in another session": [
            *BOTH,
            UNKNOWN,
            P(1, 0),
            P(9, 0, **THERE),
            P(8, 3, **THERE, session=1),
        ],
        "not acknowledged": [S(1, None, **TXN), *BOTH[1:], UNKNOWN, P(1, 0), *OVER],
        "deleted": [*BOTH, UNKNOWN, P(1, 0), *OVER, P(8, 3, **THERE, process=3, log_start=3)],
        "passed over by one reader, given to another": [
            *BOTH,
            UNKNOWN,
            P(1, 0),
            *OVER,
            P(2, 1, **THERE, process=3),
        ],
        "delivered though aborted: another checker's": [*BOTH, ABORT, P(1, 0), *OVER],
        "one marker": [*BOTH, UNKNOWN, *TWO_READS[:2], P(2, 1, **THERE)],
    },
    "write_cycles": {
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
    },
}
INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {
    "torn_transactions": {
        "of unknown outcome": (
            [*BOTH, UNKNOWN, P(1, 0), *OVER],
            [("torn-transaction", (0, 2, 5, 6, 7))],
        ),
        "nobody ended it": ([*BOTH, P(1, 0), *OVER], [("torn-transaction", (0, 2, 4, 5, 6))]),
        "committed": ([*BOTH, COMMIT, P(1, 0), *OVER], [("torn-transaction", (0, 2, 5, 6, 7))]),
        "only one of its records shows that it was committed": (
            [*DECIDED, P(1, 0), WHOLE(None), WHOLE(None, **THERE)],
            [("torn-transaction", (0, 1, 3))],
        ),
        "by its markers": (
            [*BOTH, UNKNOWN, *TWO_READS],
            [("torn-transaction", (0, 2, 1000, 1001))],
        ),
        "by a marker and a reader": (
            [*BOTH, UNKNOWN, *TWO_READS[:2], *OVER],
            [("torn-transaction", (0, 2, 7, 8, 1000))],
        ),
    },
    "write_cycles": {
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
    },
}
