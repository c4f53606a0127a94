"""Histories written by hand for `hanging_transactions`."""

from typing import Any

from linearizability.hand_written.rows import (
    COMMIT,
    MARKER,
    RAW,
    SAYS,
    TXN,
    Invalid,
    P,
    Row,
    S,
    Valid,
)

QUARTER = 15 * 60 * 1_000_000_000


ENDED = [S(1, 0, **TXN), RAW(1, 0), RAW(None, 1, **MARKER)]
"""A transaction with one record, and its marker."""


SECOND = 1_000_000_000


INIT: Row = {"f": "init_producer", "settings": '{"transaction.timeout.ms": "2000"}'}


BEGIN: Row = {"f": "begin", "txn": 1}


def STUCK(seconds: int) -> Row:
    """Return a leader's answer in the final phase, just after this second, with the last stable
    offset 0."""
    now = seconds * SECOND + 1_000
    return SAYS(1, last_stable_offset=0, final=True, t_invoke_ns=now, t_complete_ns=now)


def AT(second: int) -> Row:
    """Return the time columns of an operation that begins and ends at this second."""
    return {"t_invoke_ns": second * 10**9, "t_complete_ns": second * 10**9}


def OPEN(second: int, **more: Any) -> Row:
    """Return a leader's answer before the final phase, at this second, with the last stable offset
    0 and the high watermark 2."""
    return SAYS(2, last_stable_offset=0, **AT(second)) | more


OPEN_BELOW = [
    S(1, 0, **TXN, **AT(1)),
    S(2, 3, txn=2, **AT(2)),
    COMMIT | AT(3) | {"txn": 2},
    OPEN(80, high_watermark=6, last_stable_offset=3, log_start=3),
]
"""The last stable offset is the log start, below which transaction 1 is open. It is also the offset
of a record of transaction 2, which has ended."""


VALID: Valid = {
    "a leader names a last stable offset above a transaction whose commit was just requested": (
        [S(1, 0, **TXN, **AT(1)), COMMIT | AT(3), SAYS(2, last_stable_offset=2, **AT(3))]
    ),
    "a commit of unknown outcome has no marker": [
        S(1, 0, **TXN, **AT(1)),
        SAYS(2, last_stable_offset=2, **AT(2)),
        COMMIT | AT(3) | {"type": "info"},
    ],
    "the value of a commit of unknown outcome was sent again and committed": [
        S(1, 0, **TXN, **AT(1)),
        SAYS(2, last_stable_offset=1, **AT(2)),
        COMMIT | AT(3) | {"type": "info"},
        S(1, 3, txn=2, **AT(4)),
        COMMIT | AT(5) | {"txn": 2},
        RAW(1, 3, **AT(6)),
        RAW(None, 4, control="commit", sequence=-1, **AT(6)),
    ],
    "everything below an open transaction is stable": [
        S(1, 1, **TXN, **AT(1)),
        SAYS(2, last_stable_offset=1, **AT(2)),
        P(5, 0, **AT(2)),
        COMMIT | AT(3),
    ],
    "a leader names a last stable offset above a transaction whose commit is refused later": [
        S(1, 0, **TXN, **AT(1)),
        SAYS(2, last_stable_offset=2, **AT(2)),
        COMMIT | AT(3) | {"type": "fail"},
    ],
    "a read_uncommitted reader receives a record above an open transaction": [
        S(1, 0, **TXN, **AT(1)),
        P(2, 1, **AT(2), isolation="read_uncommitted"),
        COMMIT | AT(3),
    ],
    "the last stable offset passed the ended transaction": [*ENDED, SAYS(2, last_stable_offset=2)],
    "the transaction is still open": [S(1, 0, **TXN), RAW(1, 0), SAYS(1, last_stable_offset=0)],
    "the leader answered before the marker was read": (
        [SAYS(2, last_stable_offset=0, t_invoke_ns=0), *ENDED]
    ),
    "the high watermark is below the marker": [*ENDED, SAYS(1, last_stable_offset=0)],
    "the producer's next transaction is open": [*ENDED, RAW(3, 2), SAYS(3, last_stable_offset=2)],
    "a transaction is open for a quarter of an hour, the longest time-out by default": [
        S(1, 0, **TXN),
        SAYS(1, last_stable_offset=0, final=True, t_invoke_ns=QUARTER, t_complete_ns=QUARTER),
    ],
    "the commit was acknowledged less than a minute ago": (
        [S(1, 0, **TXN), COMMIT, STUCK(0), STUCK(59)]
    ),
    "the commit has an unknown outcome": (
        [S(1, 0, **TXN), COMMIT | {"type": "info"}, STUCK(0), STUCK(80)]
    ),
    "the transaction is open within its time-out and Kafka's delays": (
        [INIT, BEGIN, S(1, 0, **TXN), STUCK(0), STUCK(65)]
    ),
    "another producer's transaction time-out is unknown": (
        [INIT, BEGIN, BEGIN | {"process": 5}, S(1, 0, **TXN), STUCK(0), STUCK(200)]
    ),
    "the commit arrives just within the time-out and Kafka's delays": (
        [
            INIT,
            BEGIN,
            S(1, 0, **TXN, **AT(1)),
            COMMIT | AT(18),
            SAYS(1, last_stable_offset=1, **AT(18)),
        ]
    ),
    "a commit long after the time-out is refused": [
        INIT,
        BEGIN,
        S(1, 0, **TXN, **AT(1)),
        COMMIT | AT(60) | {"type": "fail"},
        SAYS(1, last_stable_offset=1),
    ],
    "a reader of the open transaction's own record is accused of a dirty read alone": [
        S(1, 0, **TXN, **AT(1)),
        P(1, 0, **AT(2)),
        COMMIT | AT(3),
        SAYS(1, last_stable_offset=1, **AT(4)),
    ],
    "a transaction stays open for less than a minute after its commit": (
        [S(1, 0, **TXN, **AT(1)), COMMIT | AT(2), OPEN(61)]
    ),
    "the last stable offset is the log start, above which no transaction is open": OPEN_BELOW,
    "the log start is above an open transaction, which is committed later": [
        S(1, 0, **TXN, **AT(1)),
        SAYS(3, last_stable_offset=2, log_start=2, **AT(2)),
        COMMIT | AT(3),
    ],
    "the marker may be at the high watermark, which waits for followers": (
        [S(1, 0, **TXN, **AT(1)), COMMIT | AT(2), OPEN(80, high_watermark=1)]
    ),
    "a transaction's time-out is longer than any by default": [
        INIT | {"settings": '{"transaction.timeout.ms": "1800000"}'},
        BEGIN,
        S(1, 0, **TXN, **AT(1)),
        OPEN(1000, final=True),
    ],
    "a transaction is open within its time-out and Kafka's delays, before the final phase": (
        [INIT, BEGIN, S(1, 0, **TXN, **AT(1)), OPEN(70)]
    ),
}

INVALID: Invalid = {
    "a leader names a last stable offset above an open transaction": (
        [
            S(1, 0, **TXN, **AT(1)),
            S(2, 1, **AT(1)),
            SAYS(2, last_stable_offset=2, **AT(2)),
            COMMIT | AT(3),
        ],
        [("stable-while-open", (0, 2))],
    ),
    "a leader names a last stable offset above a transaction that a lost commit ended": (
        [
            S(1, 0, **TXN, **AT(1)),
            S(2, 1, **AT(1)),
            SAYS(2, last_stable_offset=2, **AT(2)),
            COMMIT | AT(3) | {"type": "info"},
            RAW(1, 0, **AT(4)),
            RAW(2, 1, producer_id=8, **AT(4)),
            RAW(None, 2, control="commit", sequence=-1, **AT(4)),
        ],
        [("stable-while-open", (0, 2))],
    ),
    "a read_committed reader receives a record above an open transaction": (
        [S(1, 0, **TXN, **AT(1)), S(2, 1, **AT(1)), P(2, 1, **AT(2)), COMMIT | AT(3)],
        [("stable-while-open", (0, 2))],
    ),
    "the last stable offset stays below a transaction whose marker is written": (
        [*ENDED, SAYS(2, last_stable_offset=0, op_id=1001)],
        [("ended-but-open", (1000, 1001))],
    ),
    "a transaction is open a minute after its commit was acknowledged": (
        [S(1, 0, **TXN), COMMIT, STUCK(0), STUCK(61)],
        [("open-for-too-long", (0, 3))],
    ),
    "a transaction is open long after its time-out": (
        [INIT, BEGIN, S(1, 0, **TXN), STUCK(0), STUCK(80)],
        [("open-for-too-long", (2, 4))],
    ),
    "a commit is acknowledged long after the time-out": (
        [
            INIT,
            BEGIN,
            S(1, 0, **TXN, **AT(1)),
            COMMIT | AT(60),
            SAYS(1, last_stable_offset=1, **AT(60)),
        ],
        [("committed-too-late", (2, 3))],
    ),
    "a transaction is open a minute after its commit was acknowledged, before the final phase": (
        [S(1, 0, **TXN, **AT(1)), COMMIT | AT(2), OPEN(30), OPEN(70), OPEN(80), OPEN(90)],
        [("open-after-its-end", (0, 3)), ("open-after-its-end", (0, 5))],
    ),
    "a transaction is open long after its time-out, before the final phase": (
        [INIT, BEGIN, S(1, 0, **TXN, **AT(1)), OPEN(80)],
        [("open-after-its-time-out", (2, 3))],
    ),
    "a commit of unknown outcome takes effect long after the time-out": (
        [
            INIT,
            BEGIN,
            S(1, 0, **TXN, **AT(1)),
            COMMIT | AT(60) | {"type": "info"},
            P(1, 0, **AT(61)),
        ],
        [("committed-too-late", (2, 3))],
    ),
    "a transaction is open for longer than any time-out allows, before the final phase": (
        [S(1, 0, **TXN), OPEN(30 * 60)],
        [("open-after-its-time-out", (0, 1))],
    ),
    "a transaction is open long after its commit when the final phase begins": (
        [S(1, 0, **TXN, **AT(1)), COMMIT | AT(2), OPEN(80, final=True)],
        [("open-after-its-end", (0, 2))],
    ),
    "a transaction is open for longer than any time-out allows": (
        [
            S(1, 0, **TXN),
            SAYS(
                1,
                last_stable_offset=0,
                final=True,
                t_invoke_ns=2 * QUARTER,
                t_complete_ns=2 * QUARTER,
            ),
        ],
        [("open-for-too-long", (0, 1))],
    ),
}
