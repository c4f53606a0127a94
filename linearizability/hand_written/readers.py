"""Histories written by hand for what groups and readers of transactions are promised."""

from __future__ import annotations

from linearizability.hand_written.rows import (
    ASKS,
    BEGINS,
    COMMITS,
    END,
    PLACE,
    SENDS_OFFSET,
    P,
    Row,
    S,
)

RU = {"isolation": "read_uncommitted"}
TXN = {"txn": 1}
MEMBER = {"group": "g", "member_id": "m"}
MUCH_LATER = {"t_invoke_ns": 61 * 10**9, "t_complete_ns": 61 * 10**9}
UNSTABLE = ASKS(None, type="fail", error="UNSTABLE_OFFSET_COMMIT")


def OWNS_BY(protocol: str) -> Row:
    """Return the report of a member that it owns the partition, by this group protocol."""
    settings = f'{{"group.protocol": "{protocol}"}}'
    return PLACE | MEMBER | {"f": "owned", "generation": 1, "settings": settings}


COMMIT, ABORT = END("commit", 1), END("abort", 1)

GO_ON = [S(1, 0), S(2, 1), P(1, 0, **MEMBER), S(3, 2)]
"""The group is given the first of three records."""
TWICE = [P(1, 0, **MEMBER, **TXN), COMMIT, P(1, 0, **MEMBER, txn=2), END("commit", 2)]
"""Two committed transactions of the group consume one record."""


def SEEK(offset: int) -> Row:
    """Return the position row of a member that seeks there."""
    return BEGINS(offset, **MEMBER)


VALID: dict[str, dict[str, list[Row]]] = {
    "dirty_reads": {
        "after the commit": [S(1, 0, **TXN), COMMIT, P(1, 0)],
        "while the commit is answered": [
            S(1, 0, **TXN),
            END("commit", 1, t_complete_ns=999),
            P(1, 0),
        ],
        "it began before the commit": [S(1, 0, **TXN), P(1, 0, t_complete_ns=99), COMMIT],
        "read_uncommitted may": [S(1, 0, **TXN), P(1, 0, **RU), COMMIT, P(1, 0)],
        "its commit was never asked for": [S(1, 0, **TXN), P(1, 0), ABORT],
        "sent by two transactions": [S(1, 0, **TXN), S(1, 1, txn=2), P(1, 0), COMMIT],
    },
    "group_delivery": {
        "a member seeks over it": [*GO_ON, SEEK(2), P(3, 2, **MEMBER, session=1)],
        "shared by two members": [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(2, 1, **MEMBER, process=2),
            P(3, 2, **MEMBER),
        ],
        "given to a failed poll": [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(2, 1, **MEMBER, type="fail"),
            P(3, 2, **MEMBER),
        ],
        "maybe given to an unknown poll": [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(None, None, **MEMBER, type="info"),
            P(3, 2, **MEMBER),
        ],
        "maybe given to a poll that never told from where": [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(None, None, **MEMBER, type="info", topic=None, partition=None),
            P(3, 2, **MEMBER),
        ],
        "maybe given to a member that went on in a session of before": [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
            P(None, None, **MEMBER, topic=None, partition=None, process=3),
            P(1, 0, **MEMBER),
            P(3, 2, **MEMBER, process=2, session=7),
        ],
        "not over when a poll began that never told from where": [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, **MEMBER),
            P(3, 2, **MEMBER, t_complete_ns=70),
            P(None, None, **MEMBER, type="info", topic=None, partition=None),
        ],
        "aborted": [S(1, 0), S(2, 1, **TXN), ABORT, S(3, 3), P(1, 0, **MEMBER), P(3, 3, **MEMBER)],
        "before the first": [S(1, 0), S(2, 1), P(2, 1, **MEMBER), P(1, 0)],
        "not by a member": [
            S(1, 0),
            S(2, 1),
            S(3, 2),
            P(1, 0, group="g"),
            P(3, 2, group="g"),
            P(3, 2, **MEMBER),
        ],
    },
    "exactly_once": {
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
    },
    "committed_offsets": {
        "deleted, and committed again": [
            COMMITS(1),
            COMMITS(None),
            ASKS(None),
            COMMITS(2),
            ASKS(2),
        ],
        "undecided at its end": [
            COMMITS(1),
            ASKS(1),
            SENDS_OFFSET(2),
            {"f": "commit", **TXN},
            UNSTABLE,
        ],
        "undecided as long as nobody knows of an end": [
            COMMITS(1),
            ASKS(1),
            SENDS_OFFSET(2),
            UNSTABLE | MUCH_LATER,
        ],
        "a deletion of unknown outcome": [COMMITS(1), COMMITS(None, type="info"), ASKS(1)],
        "the last": [ASKS(None), COMMITS(1), ASKS(1), COMMITS(2), ASKS(2)],
        "told before a transaction sends, and behind its commit": [
            COMMITS(1),
            ASKS(1),
            SENDS_OFFSET(2),
            {"f": "commit", **TXN},
            ASKS(2),
        ],
        "told while it was being decided": [
            COMMITS(1),
            SENDS_OFFSET(2),
            ASKS(1, t_complete_ns=99),
            {"f": "commit", **TXN},
        ],
        "told of a transaction that may have ended": [
            COMMITS(1),
            SENDS_OFFSET(2),
            ASKS(1),
            {"f": "commit", "type": "info", **TXN},
        ],
        "two at a time": [
            COMMITS(1, t_complete_ns=50),
            COMMITS(2),
            ASKS(1, t_invoke_ns=60, t_complete_ns=65),
        ],
        "of unknown outcome, late": [COMMITS(1, type="info"), COMMITS(2), ASKS(2), ASKS(1)],
        "while it commits": [COMMITS(1), ASKS(2, t_complete_ns=99), COMMITS(2)],
        "another group": [COMMITS(1), ASKS(None, group="h")],
        "with what was beside it": [
            COMMITS(1, detail="leader epoch 1, x"),
            ASKS(1, detail="leader epoch 1, x"),
        ],
        "what was beside it is not told": [
            COMMITS(1, type="info", detail="an error"),
            ASKS(1, detail="leader epoch 1, x"),
        ],
        "in a transaction of unknown end": [COMMITS(1), COMMITS(2, **TXN), ASKS(1), ASKS(2)],
        "behind a failed one": [COMMITS(1), COMMITS(2, type="fail"), ASKS(1)],
        "by a coordinator of the past": [COMMITS(1), COMMITS(2), ASKS(1, final=False)],
        "generations grow": [COMMITS(1, generation=1), COMMITS(2, generation=2)],
        "of two generations at a time": [
            COMMITS(2, generation=2, t_complete_ns=99),
            COMMITS(1, generation=1),
        ],
        "of an older generation, refused": [
            COMMITS(2, generation=2),
            COMMITS(1, generation=1, type="info"),
        ],
        "of an older generation, elsewhere": [
            COMMITS(2, generation=2),
            COMMITS(1, generation=1, partition=1),
        ],
        "of an older epoch of the member's own": [
            COMMITS(1, generation=1, member_id="m"),
            COMMITS(2, generation=2, member_id="m"),
            COMMITS(3, generation=1, member_id="m"),
        ],
        "of an own older epoch, by KIP-848": [
            COMMITS(2, generation=2, member_id="m"),
            COMMITS(3, generation=1, member_id="m"),
            OWNS_BY("consumer"),
        ],
        "of a member that changed its protocol": [
            COMMITS(2, generation=2, member_id="m"),
            COMMITS(3, generation=1, member_id="m"),
            OWNS_BY("classic"),
            OWNS_BY("consumer"),
        ],
        "of no generation": [COMMITS(2, generation=2), COMMITS(1), ASKS(1)],
        "of a member that was replaced": [
            COMMITS(1, generation=1, member_id="m"),
            COMMITS(2, generation=1, member_id="n"),
            COMMITS(3, generation=1, member_id="n"),
            ASKS(3),
        ],
        "of two members at a time": [
            COMMITS(1, generation=1, member_id="m"),
            COMMITS(2, generation=1, member_id="n", t_complete_ns=99),
            COMMITS(3, generation=1, member_id="m"),
        ],
        "of two members, in turn, each in its generation": [
            COMMITS(1, generation=1, member_id="m"),
            COMMITS(2, generation=2, member_id="n"),
            COMMITS(3, generation=3, member_id="m"),
        ],
    },
}

INVALID: dict[str, dict[str, tuple[list[Row], list[tuple[str, tuple[int, ...]]]]]] = {
    "dirty_reads": {
        "before a commit": ([S(1, 0, **TXN), P(1, 0), COMMIT], [("dirty-read", (0, 1))]),
        "before a commit of unknown end": (
            [S(1, **TXN), P(1, 0, type="fail"), END("commit", 1, type="info")],
            [("dirty-read", (0, 1))],
        ),
    },
    "group_delivery": {
        "sought over when it had been passed over": (
            [*GO_ON, P(3, 2, **MEMBER), SEEK(4)],
            [("group-skip", (1, 2, 4))],
        ),
        "sought to": ([*GO_ON, SEEK(1), P(3, 2, **MEMBER, session=1)], [("group-skip", (1, 2, 5))]),
        "hidden by a final read": (
            [S(1, 0), S(2, 1), S(3, 2), P(1, 0, **MEMBER), P(3, 2, **MEMBER), P(2, 1)],
            [("group-skip", (1, 3, 4))],
        ),
        "two members": (
            [S(1, 0), S(2, 1), S(3, 2), P(3, 2, **MEMBER, process=2), P(1, 0, **MEMBER)],
            [("group-skip", (1, 3, 4))],
        ),
        "before an unknown poll, and before one that is the group's no more": (
            [
                S(1, 0),
                S(2, 1),
                S(3, 2),
                P(1, 0, **MEMBER),
                P(3, 2, **MEMBER),
                P(None, None, **MEMBER, type="info"),
                P(2, 1, group="g"),
            ],
            [("group-skip", (1, 3, 4))],
        ),
        "before a poll that never told from where, and in spite of another group's": (
            [
                P(None, None, group="h", member_id="m", type="info", topic=None, partition=None),
                S(1, 0),
                S(2, 1),
                S(3, 2),
                P(1, 0, **MEMBER),
                P(3, 2, **MEMBER),
                P(None, None, **MEMBER, type="info", topic=None, partition=None),
                P(2, 1),
            ],
            [("group-skip", (2, 4, 5))],
        ),
        "after a poll that never told from where, whose process was seen again": (
            [
                P(None, None, **MEMBER, type="info", topic=None, partition=None),
                S(1, 0),
                S(2, 1),
                S(3, 2),
                P(1, 0, **MEMBER),
                P(3, 2, **MEMBER, process=2),
                P(2, 1),
            ],
            [("group-skip", (2, 4, 5))],
        ),
        "long after a poll that never told from where, of a process that was never seen again": (
            [
                P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
                S(1, 0),
                S(2, 1),
                S(3, 2),
                P(1, 0, **MEMBER, **MUCH_LATER),
                P(3, 2, **MEMBER, **MUCH_LATER, process=2),
                P(2, 1),
            ],
            [("group-skip", (2, 4, 5))],
        ),
        "in one session, while the poll of another member was unknown": (
            [
                S(1, 0),
                S(2, 1),
                S(3, 2),
                P(1, 0, **MEMBER),
                P(None, None, **MEMBER, type="info", topic=None, partition=None, process=3),
                P(3, 2, **MEMBER),
                P(2, 1),
            ],
            [("group-skip", (1, 3, 5))],
        ),
    },
    "exactly_once": {
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
    },
    "committed_offsets": {
        "back after its deletion": (
            [COMMITS(1), COMMITS(None), ASKS(1)],
            [("unexplained-offset", (1, 2))],
        ),
        "gone without a deletion since": (
            [COMMITS(None), COMMITS(1), ASKS(None)],
            [("forgotten-offset", (1, 2))],
        ),
        "from nowhere": ([COMMITS(1), ASKS(7)], [("unexplained-offset", (0, 1))]),
        "of an own older generation, by the classic protocol": (
            [
                OWNS_BY("classic"),
                COMMITS(2, generation=2, member_id="m"),
                COMMITS(3, generation=1, member_id="m"),
            ],
            [("old-generation-commits", (1, 2))],
        ),
        "replaced": ([COMMITS(1), COMMITS(2), ASKS(1)], [("unexplained-offset", (1, 2))]),
        "without what was beside it": (
            [COMMITS(1, detail="leader epoch 1, x"), ASKS(1)],
            [("unexplained-offset", (0, 1))],
        ),
        "with something else beside it": (
            [COMMITS(1, detail="leader epoch 1, x"), ASKS(1, detail="leader epoch 2, x")],
            [("unexplained-offset", (0, 1))],
        ),
        "told while a transaction is open": (
            [COMMITS(1), SENDS_OFFSET(2), ASKS(1), {"f": "commit", **TXN}],
            [("told-while-undecided", (1, 2))],
        ),
        "undecided long after the end": (
            [COMMITS(1), SENDS_OFFSET(2), {"f": "commit", **TXN}, ASKS(2), UNSTABLE | MUCH_LATER],
            [("undecided-for-ever", (1, 4))],
        ),
        "replaced long ago": (
            [COMMITS(1), COMMITS(2), ASKS(1, final=False, **MUCH_LATER)],
            [("unexplained-offset", (1, 2))],
        ),
        "of an older generation": (
            [COMMITS(2, generation=2), COMMITS(1, generation=1)],
            [("old-generation-commits", (0, 1))],
        ),
        "of an older generation, which others had gone beyond": (
            [
                COMMITS(2, generation=2, member_id="n"),
                COMMITS(3, generation=3, member_id="m"),
                COMMITS(1, generation=1, member_id="m"),
            ],
            [("old-generation-commits", (0, 2))],
        ),
        "of a member after its successor": (
            [
                COMMITS(1, generation=1, member_id="m"),
                COMMITS(2, generation=1, member_id="n"),
                COMMITS(3, generation=1, member_id="m"),
            ],
            [("two-owners", (1, 2))],
        ),
        "forgotten": ([COMMITS(1), ASKS(None)], [("forgotten-offset", (0, 1))]),
        "refused": ([COMMITS(1, type="fail"), ASKS(1)], [("unexplained-offset", (1,))]),
        "aborted": ([COMMITS(1, **TXN), ABORT, ASKS(1)], [("unexplained-offset", (2,))]),
    },
}
