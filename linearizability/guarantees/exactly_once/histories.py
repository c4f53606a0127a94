"""Histories written by hand for `exactly_once`."""

from linearizability.hand_written.rows import (
    ABORT,
    ASKS,
    BEGINS,
    COMMIT,
    COMMITS,
    END,
    JOINS,
    LOST,
    MEMBER,
    OWNS,
    SEEK,
    SENDS_OFFSET,
    TXN,
    UNKNOWN,
    Invalid,
    P,
    Row,
    S,
    Valid,
)

TWICE = [P(1, 0, **MEMBER, **TXN), COMMIT, P(1, 0, **MEMBER, txn=2), END("commit", 2)]
"""Two committed transactions of the group consume the same record."""

UNKNOWN_TWICE = [
    P(1, 0, **MEMBER, **TXN),
    S(5, 9, **TXN),
    UNKNOWN,
    P(1, 0, **MEMBER, txn=2),
    END("commit", 2),
]
"""A record is consumed again after a commit of unknown outcome, whose transaction sent a record."""

OTHER: Row = {"group": "g", "member_id": "n", "process": 2}
"""Another member of the group."""

VALID: Valid = {
    "another member sought back, and sent its position": [
        *TWICE[:2],
        BEGINS(0, **OTHER),
        SENDS_OFFSET(0, txn=3, process=2),
        END("commit", 3),
        *TWICE[2:],
    ],
    "a member sought over a record that only an aborted transaction had received": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        SEEK(1),
        P(2, 1, **MEMBER, txn=2),
        END("commit", 2),
    ],
    "an operator set the group ahead over a record that only an aborted transaction had received": (
        [P(1, 0, **MEMBER, **TXN), ABORT, COMMITS(1), ASKS(1)]
    ),
    "a record is consumed twice because an operator set the group back": (
        [*TWICE[:2], COMMITS(0), *TWICE[2:]]
    ),
    "a record is consumed twice because a member sought back": [*TWICE[:2], SEEK(0), *TWICE[2:]],
    "each record is consumed by one committed transaction": (
        [P(1, 0, **MEMBER, **TXN), COMMIT, P(2, 1, **MEMBER, txn=2), END("commit", 2)]
    ),
    "a record is consumed again after an abort": (
        [P(1, 0, **MEMBER, **TXN), ABORT, P(1, 0, **MEMBER, txn=2), END("commit", 2)]
    ),
    "a record is consumed again after a commit of unknown outcome": [
        P(1, 0, **MEMBER, **TXN),
        END("commit", 1, type="info"),
        P(1, 0, **MEMBER, txn=2),
        END("commit", 2),
    ],
    "a record of a commit of unknown outcome is only received under read_uncommitted": (
        [*UNKNOWN_TWICE, P(5, 9, isolation="read_uncommitted")]
    ),
    "a record of a commit of unknown outcome had been sent in another transaction, too": (
        [S(5, 8, txn=4), END("commit", 4), *UNKNOWN_TWICE, P(5, 9)]
    ),
    "a poll that failed shows a record of a commit of unknown outcome": (
        [*UNKNOWN_TWICE, P(5, 9, type="info")]
    ),
    "a commit of unknown outcome was followed by an acknowledged abort": (
        [*UNKNOWN_TWICE, ABORT, P(6, 10)]
    ),
    "a committed transaction had sent a lower offset than the record's": [
        *TWICE[:1],
        SENDS_OFFSET(0, process=1),
        *TWICE[1:],
    ],
    "a committed transaction could not send the offset": [
        *TWICE[:1],
        SENDS_OFFSET(1, process=1, type="fail"),
        *TWICE[1:],
    ],
    "a committed transaction received a later record, but sent only the offset of this one": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        P(2, 1, **MEMBER, txn=2),
        SENDS_OFFSET(0, txn=2, process=1),
        END("commit", 2),
    ],
    "two groups consume the same record": [
        P(1, 0, **MEMBER, **TXN),
        COMMIT,
        P(1, 0, group="h", member_id="m", txn=2),
        END("commit", 2),
    ],
    "after two aborts the group's offset is still before the record": (
        [P(1, 0, **MEMBER, **TXN), ABORT, P(2, 1, **MEMBER, txn=2), END("abort", 2), ASKS(0)]
    ),
    "a transaction of unknown outcome may have consumed the record": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        P(1, 0, **MEMBER, txn=3),
        END("commit", 3, type="info"),
        P(2, 1, **MEMBER, txn=2),
        END("commit", 2),
    ],
    "a poll of unknown outcome may have received the record": [
        P(1, 0, **MEMBER, **TXN),
        ABORT,
        P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3, txn=3),
        P(2, 1, **MEMBER, txn=2, process=3, session=1),
        END("commit", 2),
    ],
    "one transaction receives the record twice": (
        [P(1, 0, **MEMBER, **TXN), P(1, 0, **MEMBER, **TXN), COMMIT]
    ),
}

INVALID: Invalid = {
    "a poll of unknown outcome of one member, while another one owned the partition": (
        [
            OWNS | {"generation": 1},
            P(1, 0, **MEMBER, **TXN),
            ABORT,
            JOINS,
            LOST,
            LOST | {"type": "ok"},
            P(2, 1, **MEMBER, txn=2, session=1),
            SENDS_OFFSET(2, member_id="m", txn=2, process=1, session=1, generation=1),
            END("commit", 2),
        ],
        [("consumed-never", (1, 7))],
    ),
    "another member sought back, but sent nothing": (
        [*TWICE[:2], BEGINS(0, **OTHER), *TWICE[2:]],
        [("consumed-twice", (0, 3))],
    ),
    "another member sought back, and sent its position in an aborted transaction": (
        [
            *TWICE[:2],
            BEGINS(0, **OTHER),
            SENDS_OFFSET(0, txn=3, process=2),
            END("abort", 3),
            *TWICE[2:],
        ],
        [("consumed-twice", (0, 5))],
    ),
    "a member sought back once, but consumed the record twice after that": (
        [
            *TWICE[:2],
            SEEK(0),
            P(1, 0, **MEMBER, txn=2),
            SENDS_OFFSET(1, txn=2, process=1),
            END("commit", 2),
            P(1, 0, **MEMBER, txn=3),
            END("commit", 3),
        ],
        [("consumed-twice", (3, 6))],
    ),
    "a member sought back after an abort, but the next transaction passed the record": (
        [P(1, 0, **MEMBER, **TXN), ABORT, SEEK(0), P(2, 1, **MEMBER, txn=2), END("commit", 2)],
        [("consumed-never", (0, 3))],
    ),
    "the group was set back once, but three transactions consume the record": (
        [*TWICE, COMMITS(0), P(1, 0, **MEMBER, txn=3), END("commit", 3)],
        [("consumed-twice", (0, 2))],
    ),
    "a member sought to the next record, but this one is consumed twice": (
        [*TWICE[:2], SEEK(1), *TWICE[2:]],
        [("consumed-twice", (0, 3))],
    ),
    "two transactions consume a record, after a poll of unknown outcome": (
        [
            P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
            P(1, 0, **MEMBER, **TXN),
            COMMIT,
            P(1, 0, **MEMBER, txn=2),
            END("commit", 2),
        ],
        [("consumed-twice", (1, 3))],
    ),
    "only an aborted transaction received the record; the next commit passed it": (
        [P(1, 0, **MEMBER, **TXN), ABORT, P(2, 1, **MEMBER, txn=2), END("commit", 2)],
        [("consumed-never", (0, 2))],
    ),
    "only an aborted transaction received the record; the group's offset passed it": (
        [P(1, 0, **MEMBER, **TXN), ABORT, COMMITS(1, **MEMBER), ASKS(1)],
        [("consumed-never", (0, 3))],
    ),
    "a reader received a record of the first transaction, of which an earlier send had failed": (
        [S(5, None, **TXN, type="fail"), *UNKNOWN_TWICE, P(5, 9)],
        [("consumed-twice", (1, 4))],
    ),
    "a record is consumed again, although a reader received one that the first transaction sent": (
        [*UNKNOWN_TWICE, P(5, 9)],
        [("consumed-twice", (0, 3))],
    ),
    "two committed transactions consume the same record and send the offset after it": (
        [TWICE[0], SENDS_OFFSET(1, process=1), *TWICE[1:]],
        [("consumed-twice", (0, 3))],
    ),
    "two committed transactions consume the same record": (TWICE, [("consumed-twice", (0, 2))]),
}
