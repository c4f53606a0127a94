"""Histories written by hand for `committed_offsets`."""

from linearizability.hand_written.rows import (
    ABORT,
    ASKS,
    COMMITS,
    MEMBER,
    MUCH_LATER,
    PLACE,
    SENDS_OFFSET,
    TXN,
    Invalid,
    Row,
    Valid,
)

UNSTABLE = ASKS(None, type="fail", error="UNSTABLE_OFFSET_COMMIT")


def OWNS_BY(protocol: str) -> Row:
    """Return the row in which a member reports that it owns the partition, with this group
    protocol."""
    settings = f'{{"group.protocol": "{protocol}"}}'
    return PLACE | MEMBER | {"f": "owned", "generation": 1, "settings": settings}


VALID: Valid = {
    "deleted, and committed again": [COMMITS(1), COMMITS(None), ASKS(None), COMMITS(2), ASKS(2)],
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
}

INVALID: Invalid = {
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
}
