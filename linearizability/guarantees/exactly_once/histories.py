"""Histories written by hand for `exactly_once`."""

from linearizability.hand_written.rows import (
    ABORT,
    ASKS,
    COMMIT,
    COMMITS,
    END,
    MEMBER,
    SEEK,
    TXN,
    Invalid,
    P,
    Valid,
)

TWICE = [P(1, 0, **MEMBER, **TXN), COMMIT, P(1, 0, **MEMBER, txn=2), END("commit", 2)]
"""Two committed transactions of the group consume the same record."""

VALID: Valid = {
    "twice, for an operator set the group back": [*TWICE[:2], COMMITS(0), *TWICE[2:]],
    "twice, for a member sought": [*TWICE[:2], SEEK(0), *TWICE[2:]],
    "each once": [P(1, 0, **MEMBER, **TXN), COMMIT, P(2, 1, **MEMBER, txn=2), END("commit", 2)],
    "again after an abort": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        P(1, 0, **MEMBER, txn=2),
        END("commit", 2),
    ],
    "again after an unknown end": [
        P(1, 0, **MEMBER, **TXN),
        END("commit", 1, type="info"),
        P(1, 0, **MEMBER, txn=2),
        END("commit", 2),
    ],
    "by two groups": [
        P(1, 0, **MEMBER, **TXN),
        COMMIT,
        P(1, 0, group="h", member_id="m", txn=2),
        END("commit", 2),
    ],
    "passed by nobody after the abort": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        P(2, 1, **MEMBER, txn=2),
        END("abort", 2),
        ASKS(0),
    ],
    "a transaction of unknown end may have it": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        P(1, 0, **MEMBER, txn=3),
        END("commit", 3, type="info"),
        P(2, 1, **MEMBER, txn=2),
        END("commit", 2),
    ],
    "a poll that never told may have given it": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3, txn=3),
        P(2, 1, **MEMBER, txn=2, process=3, session=1),
        END("commit", 2),
    ],
    "twice by one transaction": [P(1, 0, **MEMBER, **TXN), P(1, 0, **MEMBER, **TXN), COMMIT],
}

INVALID: Invalid = {
    "set back once, and consumed three times": (
        [*TWICE, COMMITS(0), P(1, 0, **MEMBER, txn=3), END("commit", 3)],
        [("consumed-twice", (0, 2))],
    ),
    "set back behind it": ([*TWICE[:2], SEEK(1), *TWICE[2:]], [("consumed-twice", (0, 3))]),
    "though a poll was lost before": (
        [
            P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
            P(1, 0, **MEMBER, **TXN),
            COMMIT,
            P(1, 0, **MEMBER, txn=2),
            END("commit", 2),
        ],
        [("consumed-twice", (1, 3))],
    ),
    "given to an aborted transaction, then passed": (
        [P(1, 0, **MEMBER, **TXN), ABORT, P(2, 1, **MEMBER, txn=2), END("commit", 2)],
        [("consumed-never", (0, 2))],
    ),
    "given to an aborted transaction, then passed by its position": (
        [P(1, 0, **MEMBER, **TXN), ABORT, COMMITS(1), ASKS(1)],
        [("consumed-never", (0, 3))],
    ),
    "two transactions": (TWICE, [("consumed-twice", (0, 2))]),
}
