"""Histories written by hand for what whole transactions are promised."""

from __future__ import annotations

from linearizability.checkers.tests.rows import END, RAW, P, Row, S

TXN = {"txn": 1}
THERE = {"partition": 1}
COMMIT, ABORT, UNKNOWN = END("commit", 1), END("abort", 1), END("commit", 1, type="info")
BOTH = [S(1, 0, **TXN), S(9, 0, **THERE), S(2, 1, **TXN, **THERE), S(8, 3, **THERE)]
"""One transaction: value 1 here, value 2 between 9 and 8 in the other partition."""
OVER = [P(9, 0, **THERE), P(8, 3, **THERE)]
"""A reader that is given 9 and 8."""
TWO_READS = [
    RAW(1, 0), RAW(None, 1, control="commit"),
    RAW(2, 1, **THERE, op_id=1001), RAW(None, 2, **THERE, op_id=1001, control="abort"),
]  # fmt: skip

VALID: dict[str, dict[str, list[Row]]] = {
    "torn_transactions": {
        "committed everywhere": [*BOTH, COMMIT, P(1, 0), P(9, 0, **THERE), P(2, 1, **THERE)],
        "aborted everywhere, whatever was answered": [*BOTH, UNKNOWN, P(5, 2), *OVER],
        "committed, and given to another reader": [
            *BOTH, UNKNOWN, P(1, 0), P(9, 0, **THERE), P(2, 1, **THERE), P(8, 3, **THERE),
        ],
        "read_uncommitted readers prove nothing": [
            *BOTH, UNKNOWN, P(1, 0, isolation="read_uncommitted"), *OVER,
        ],
        "it goes on in another session": [
            *BOTH, UNKNOWN, P(1, 0), P(9, 0, **THERE), P(8, 3, **THERE, session=1),
        ],
        "not acknowledged": [S(1, None, **TXN), *BOTH[1:], UNKNOWN, P(1, 0), *OVER],
        "deleted": [*BOTH, UNKNOWN, P(1, 0), *OVER, P(8, 3, **THERE, process=3, log_start=3)],
        "delivered though aborted: another checker's": [*BOTH, ABORT, P(1, 0), *OVER],
        "one marker": [*BOTH, UNKNOWN, *TWO_READS[:2], P(2, 1, **THERE)],
    }
}  # fmt: skip
INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {
    "torn_transactions": {
        "of unknown outcome": (
            [*BOTH, UNKNOWN, P(1, 0), *OVER], [("torn-transaction", (0, 2, 5, 6, 7))],
        ),
        "nobody ended it": ([*BOTH, P(1, 0), *OVER], [("torn-transaction", (0, 2, 4, 5, 6))]),
        "committed": ([*BOTH, COMMIT, P(1, 0), *OVER], [("torn-transaction", (0, 2, 5, 6, 7))]),
        "by its markers": (
            [*BOTH, UNKNOWN, *TWO_READS], [("torn-transaction", (0, 2, 1000, 1001))],
        ),
        "by a marker and a reader": (
            [*BOTH, UNKNOWN, *TWO_READS[:2], *OVER],
            [("torn-transaction", (0, 2, 7, 8, 1000))],
        ),
    }
}  # fmt: skip
